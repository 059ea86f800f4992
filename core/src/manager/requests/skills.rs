//! Owns asking for the skills of a server. What an entry and a file must be is in `skill`.
//! Invariant: listing reads no file; a file is returned only after it was checked against the entry of the latest list
//! of its connection.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;

use super::super::Manager;
use super::{ReadRequest, while_awaited};
use crate::connection::ListedSkills;
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Mask;
use crate::resource::ResourceContent;
use crate::runtime;
use crate::scan::{scan, summary};
use crate::session::Listed;
use crate::skill::{Skill, SkillContent};
use crate::subscribers::{Subscriber, Suspicion, TextOrigin};
use crate::tool::Tools;

/// How many are reported, so that one server cannot flood the log.
const MOST_SUSPICIONS: usize = 32;

impl Manager {
    /// The skills of a server, all pages of them. Empty if it has none. Reads no file of them.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// for skill in manager.list_skills("docs").await? {
    ///     println!("{}: {}", skill.name, skill.description);
    /// }
    /// println!("{}", manager.read_skill("docs", "pdf-processing").await?.body);
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_skills(
        &self,
        server: &str,
    ) -> impl Future<Output = Result<Vec<Skill>>> + Send + use<> {
        let (manager, server) = (self.clone(), server.to_owned());
        while_awaited(async move {
            let listed = manager.fetch_skills(&server).await?;
            let offer = manager.find(&server)?.offer.clone();
            let offered = listed.skills.iter().filter(|skill| !offer.hides_skill(&skill.uri));
            Ok(offered.cloned().collect())
        })
    }

    /// Reads the `SKILL.md` of a skill, by the skill's name or address. Refused if the file is not what the entry in the
    /// latest list says: digest, size and frontmatter.
    pub fn read_skill(
        &self,
        server: &str,
        skill: &str,
    ) -> impl Future<Output = Result<SkillContent>> + Send + use<> {
        let (manager, server, skill) = (self.clone(), server.to_owned(), skill.to_owned());
        while_awaited(async move {
            let skill = manager.find_skill(&server, &skill).await?;
            let contents = manager.read_resource(&server, &skill.uri).await?;
            let checked = runtime::read_off_worker(size(&contents), || skill.check_main(contents));
            checked.await.map_err(|error| error.with_server(&server))
        })
    }

    /// Reads another file of a skill, by its address or its path beside `SKILL.md`. Refused if the skill has no such
    /// file, or if the file is not what the entry says.
    pub fn read_skill_file(
        &self,
        server: &str,
        skill: &str,
        uri: &str,
    ) -> impl Future<Output = Result<ResourceContent>> + Send + use<> {
        let (manager, server) = (self.clone(), server.to_owned());
        let (skill, uri) = (skill.to_owned(), uri.to_owned());
        while_awaited(async move {
            let skill = manager.find_skill(&server, &skill).await?;
            let uri = skill.file_uri(&uri).map_err(|error| error.with_server(&server))?;
            let contents = manager.read_resource(&server, &uri).await?;
            let (bytes, check) = (size(&contents), move || skill.check_file(&uri, contents));
            let checked = runtime::read_off_worker(bytes, check).await;
            checked.map_err(|error| error.with_server(&server))
        })
    }

    async fn fetch_skills(&self, server: &str) -> Result<Arc<ListedSkills>> {
        let (live, entries) =
            self.ask_again_once(server, &ReadRequest::List(Listed::Skills, None)).await?;
        let (name, bytes) = (server.to_owned(), entries.iter().map(Bytes::len).sum());
        let mask = live.session.mask();
        let read = move || {
            let skills = entries.iter().filter_map(|entry| read_entry(&name, entry));
            let skills: Vec<Skill> = skills.collect();
            let suspicions = skills.iter().filter_map(|skill| suspicion(skill, &mask));
            let suspicions = suspicions.take(MOST_SUSPICIONS).collect();
            let pinned = skills.iter().map(Skill::pinned_form).collect();
            let (pinned_form, _) = Tools::read(&name.into(), pinned, &Mask::default());
            ListedSkills { suspicions, pinned_form, skills }
        };
        let listed = Arc::new(runtime::read_off_worker(bytes, read).await);
        live.skills.store(Some(listed.clone()));
        self.review_skills(server, &listed, live.session.mask()).await?;
        Ok(listed)
    }

    /// Reports what is suspicious in a list, and what differs from the pins.
    async fn review_skills(
        &self,
        server: &str,
        listed: &Arc<ListedSkills>,
        mask: Mask,
    ) -> Result<()> {
        self.report_suspicions(server, listed);
        let offer = self.find(server)?.offer.clone();
        if offer.has_seen_skills(&listed.pinned_form) {
            return Ok(());
        }
        let (events, listed) = (self.0.sink.events.clone(), listed.clone());
        let review = move || offer.review_skills(&listed.pinned_form, &mask, &events);
        if let Ok(Some(line)) = runtime::spawn_blocking(review).await {
            tracing::warn!(server, "{line}");
        }
        Ok(())
    }

    /// Emits what looks like instructions to a model, once for each manager.
    fn report_suspicions(&self, server: &str, listed: &ListedSkills) {
        for suspicion in &listed.suspicions {
            if self.0.sink.report_suspicion(server, suspicion) {
                let found = summary(&suspicion.signals);
                tracing::warn!(server, "the entry of a skill tries to give orders: {found}");
            }
        }
    }

    /// A skill of the latest list, by its name or address.
    async fn find_skill(&self, server: &str, wanted: &str) -> Result<Skill> {
        let live = self.live(server).await?;
        let listed = match live.skills.load_full() {
            // Another manager may have listed them.
            Some(listed) => {
                self.review_skills(server, &listed, live.session.mask()).await?;
                listed
            }
            None => self.fetch_skills(server).await?,
        };
        let skills = &listed.skills;
        let by_uri = skills.iter().find(|skill| skill.uri == wanted);
        let named: Vec<&Skill> = match by_uri {
            Some(skill) => vec![skill],
            None => skills.iter().filter(|skill| skill.name == wanted).collect(),
        };
        match named[..] {
            [skill] => {
                self.find(server)?.offer.check_skill(&skill.uri)?;
                Ok(skill.clone())
            }
            [] => Err(refused(server, format!("There is no skill \"{wanted}\""))
                .with_hint("list_skills asks the server for its skills again")),
            _ => {
                let uris: Vec<&str> = named.iter().map(|skill| &*skill.uri).collect();
                let uris = uris.join(", ");
                let text = format!("Several skills have the name \"{wanted}\": {uris}");
                Err(refused(server, text).quoting(&uris).with_hint("give the uri of one of them"))
            }
        }
    }
}

fn refused(server: &str, text: String) -> Error {
    Error::new(ErrorKind::InvalidArguments, text).with_server(server)
}

fn size(contents: &[ResourceContent]) -> usize {
    let parts = contents.iter().flat_map(|part| [&part.text, &part.blob]);
    parts.flatten().map(String::len).sum()
}

fn suspicion(skill: &Skill, mask: &Mask) -> Option<Suspicion> {
    let found = scan(&skill.words());
    let signals: Vec<_> = found.iter().map(|signal| signal.masked(mask)).collect();
    let origin = TextOrigin::Skill(mask.text(&skill.uri).into_owned());
    (!signals.is_empty()).then_some(Suspicion { origin, signals })
}

fn read_entry(server: &str, entry: &Bytes) -> Option<Skill> {
    let read = Skill::read(entry);
    if let Err(why) = &read {
        tracing::warn!(server, "a skill is left out: {why}");
    }
    read.ok()
}
