//! Owns whether a manager starts or dials what a project declares: by policy, by the trust that the user has stored, or
//! by asking.
//! Invariant: one question per definition, however many callers connect; an open question delays only its own server.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use url::Url;

use super::server::Server;
use super::sources::ConfigOrigin;
use super::{Inner, Manager};
use crate::config::{Declared, ProjectEntry, ScopeTrust, ServerConfig, Subject};
use crate::connection::Connection;
use crate::discover::TrustView;
use crate::error::{Error, Result};
use crate::event::EventKind;
use crate::host_env::HostEnv;
use crate::pool::Release;
use crate::resolve::Addresses;
use crate::runtime;
use crate::status::State;
use crate::subscribers::{Subscriber, log_event};
use crate::sync::lock;
use crate::trust::{Permit, StoredTrust, Trust, TrustCallback, TrustQuestion, permit, untrusted};

/// An untrusted server delays a start for at most this time, whatever its definition says.
const LONGEST_UNTRUSTED: Duration = Duration::from_secs(30);

/// Decides for a manager and its children.
pub(super) struct TrustPolicy {
    policy: Trust,
    host_env: HostEnv,
    known: Mutex<HashMap<Arc<Subject>, Known>>,
}

/// What is known of a subject.
#[derive(Default)]
struct Known {
    /// Whether the user has stored trust in it, as of the last lookup.
    stored: Option<bool>,
    question: Option<OpenQuestion>,
}

impl Known {
    fn is_trusted(&self) -> bool {
        let answer = self.question.as_ref().and_then(|question| question.answer.given());
        self.stored == Some(true) || answer == Some(true)
    }
}

/// An open question; asking it again gives the same answer. It ends with the manager.
struct OpenQuestion {
    answer: Answer,
    asking: AbortHandle,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

#[derive(Clone)]
pub(super) struct Answer(watch::Receiver<Option<bool>>);

impl Answer {
    fn given(&self) -> Option<bool> {
        *self.0.borrow()
    }

    /// Resolves with the answer; if there is nobody to answer, that is a no.
    async fn wait(mut self) -> bool {
        let given = self.0.wait_for(Option::is_some).await;
        given.is_ok_and(|answer| *answer == Some(true))
    }
}

/// How access to a server starts.
pub(super) enum Access {
    Granted(Arc<Connection>),
    Pending(Pin<Box<dyn Future<Output = Result<Arc<Connection>>> + Send>>),
    Refused(Error),
}

enum Decision {
    Trusted,
    Untrusted,
    Open(Answer),
}

/// Makes the question about a subject. Reads files, so it must not run on a runtime worker. If the subject has changed
/// since it was found, there is no question: a yes would apply to something else.
type MakeQuestion = Box<dyn FnOnce() -> TrustQuestion + Send>;

impl TrustPolicy {
    pub(super) fn new(policy: Trust, host_env: HostEnv) -> Arc<TrustPolicy> {
        Arc::new(TrustPolicy { policy, host_env, known: Mutex::default() })
    }

    /// The current trust, for discovery. Reads the store, and returns a problem with it.
    pub(super) fn view(&self) -> (impl TrustView + '_, Option<Error>) {
        let (stored, problem) = StoredTrust::load(&self.host_env);
        (PolicyView { policy: self, stored }, problem)
    }

    /// Reads the stored trust of these subjects again; returns a problem with the store.
    async fn refresh_stored(&self, subjects: Vec<Arc<Subject>>) -> Option<Error> {
        if subjects.is_empty() || matches!(self.policy, Trust::All | Trust::None) {
            return None;
        }
        let host_env = self.host_env.clone();
        let look_up = move || {
            let (store, problem) = StoredTrust::load(&host_env);
            let stored = subjects.into_iter().map(|subject| {
                let trusted = store.trusts(&subject);
                (subject, trusted)
            });
            (stored.collect::<Vec<_>>(), problem)
        };
        let (stored, problem) = runtime::handle().spawn_blocking(look_up).await.ok()?;
        let mut known = lock(&self.known);
        for (subject, stored) in stored {
            known.entry(subject).or_default().stored = Some(stored);
        }
        problem
    }

    /// Decides about a subject. `question` makes the question, if something is withheld and the policy is to ask.
    fn decide(&self, subject: &Arc<Subject>, question: Option<MakeQuestion>) -> Decision {
        match self.policy {
            Trust::All => return Decision::Trusted,
            Trust::None => return Decision::Untrusted,
            Trust::Stored | Trust::Strict | Trust::Ask(_) => {}
        }
        let mut known = lock(&self.known);
        let known = known.entry(subject.clone()).or_default();
        // Only a call to a server that was never connected gets here first; the file is small.
        known.stored.get_or_insert_with(|| StoredTrust::load(&self.host_env).0.trusts(subject));
        if known.is_trusted() {
            return Decision::Trusted;
        }
        if let (Trust::Ask(callback), None, Some(question)) =
            (&self.policy, &known.question, question)
        {
            known.question = Some(ask(callback, subject, question));
        }
        match &known.question {
            Some(question) if question.answer.given().is_none() => {
                Decision::Open(question.answer.clone())
            }
            _ => Decision::Untrusted,
        }
    }

    fn permit(&self, declared: &Declared, decision: &Decision) -> Permit {
        permit(&self.policy, matches!(decision, Decision::Trusted), declared)
    }

    /// The trust level of a definition that may do everything.
    fn scope_trust(&self, subject: &Subject) -> ScopeTrust {
        match self.policy {
            Trust::All => ScopeTrust::Always,
            _ => ScopeTrust::As(subject.fingerprint.clone()),
        }
    }
}

struct PolicyView<'a> {
    policy: &'a TrustPolicy,
    stored: StoredTrust,
}

impl TrustView for PolicyView<'_> {
    fn fingerprint(&self, config: &ServerConfig) -> String {
        match self.policy.policy {
            // Everything in it is trusted.
            Trust::All => config.fingerprint(),
            _ => self.stored.fingerprint(config),
        }
    }

    fn trusts(&self, subject: &Subject) -> bool {
        let answered = || lock(&self.policy.known).get(subject).is_some_and(Known::is_trusted);
        match self.policy.policy {
            Trust::All => true,
            Trust::None => false,
            Trust::Stored | Trust::Strict => self.stored.trusts(subject),
            Trust::Ask(_) => self.stored.trusts(subject) || answered(),
        }
    }
}

fn ask(callback: &TrustCallback, subject: &Arc<Subject>, question: MakeQuestion) -> OpenQuestion {
    let (callback, subject) = (callback.clone(), subject.clone());
    // A task of its own, so that a panic counts as a no.
    let asking = runtime::spawn(async move {
        match runtime::handle().spawn_blocking(question).await {
            Ok(question) if question.fingerprint == subject.fingerprint => callback(question).await,
            Ok(_) | Err(_) => false,
        }
    });
    let (tell, answer) = watch::channel(None);
    let abort = asking.abort_handle();
    runtime::spawn(async move {
        let yes = asking.await.unwrap_or(false);
        let _ = tell.send(Some(yes));
    });
    OpenQuestion { answer: Answer(answer), asking: abort }
}

impl Server {
    fn subject(&self) -> Option<&Arc<Subject>> {
        self.declared.subject.as_ref()
    }
}

/// The question about a definition, if something in it needs trust.
fn question_about(declared: &Declared) -> Option<MakeQuestion> {
    let (subject, config) = (declared.subject.clone()?, declared.config.clone().ok()?);
    let is_held_back = config
        .transport
        .remote()
        .is_none_or(|remote| config.has_commands() || !shows_public_address(&remote.url));
    is_held_back.then(|| -> MakeQuestion {
        Box::new(move || TrustQuestion::about(&subject, &config.to_value(), Some(&config)))
    })
}

/// Whether an address, as far as it is visible, may be dialled without trust.
fn shows_public_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| Addresses::PublicOnly.check(&url).is_ok())
}

impl Manager {
    #[cfg(feature = "cli")]
    /// The definition as this manager may use it, for inspection without connecting.
    pub(crate) fn admitted(&self, server: &str) -> Result<ServerConfig> {
        let server = self.find(server)?;
        let config = server.usable()?;
        Ok(self.0.admit(&server, config)?.into_owned())
    }
}

impl Inner {
    /// Reads the stored trust of these servers again.
    pub(super) async fn refresh_trust<'a>(&self, all: impl Iterator<Item = &'a Declared>) {
        let subjects = all.filter_map(|declared| declared.subject.clone()).collect();
        if let Some(error) = self.trust.refresh_stored(subjects).await {
            self.warn_of_store(&error);
        }
    }

    pub(super) fn warn_of_store(&self, error: &Error) {
        if self.sink.warn_once("", error.message()) {
            tracing::warn!("{error}");
        }
    }

    /// The definition as this manager may use it.
    pub(super) fn admit<'a>(
        &self,
        server: &Server,
        config: &'a ServerConfig,
    ) -> Result<Cow<'a, ServerConfig>> {
        let Some(subject) = server.subject() else { return Ok(Cow::Borrowed(config)) };
        let decision = self.trust.decide(subject, question_about(&server.declared));
        if let Decision::Open(answer) = &decision {
            self.connect_after_yes(subject, answer.clone());
        }
        let mut config = config.clone();
        match self.trust.permit(&server.declared, &decision) {
            Permit::Full => config.scope.trusted = self.trust.scope_trust(subject),
            Permit::Restricted => config.timeout = config.timeout.min(LONGEST_UNTRUSTED),
            Permit::Refused => return Err(untrusted(subject, Some(&config))),
        }
        Ok(Cow::Owned(config))
    }

    /// Whether it comes from a project and is not trusted.
    pub(super) fn is_untrusted(&self, server: &Server) -> bool {
        let decision = server.subject().map(|subject| self.trust.decide(subject, None));
        matches!(decision, Some(Decision::Untrusted | Decision::Open(_)))
    }

    /// Whether this manager holds a connection that the server's new declaration would not allow in this form.
    pub(super) fn is_trusted_otherwise(&self, server: &Server, declared: &Declared) -> bool {
        let (lease, subject) = (server.lease(), declared.subject.as_ref());
        let (Some(lease), Some(subject)) = (lease.as_ref(), subject) else { return false };
        let decision = self.trust.decide(subject, question_about(declared));
        let wanted = match self.trust.permit(declared, &decision) {
            Permit::Full => self.trust.scope_trust(subject),
            Permit::Restricted => ScopeTrust::No,
            Permit::Refused => return true,
        };
        server.subject().is_none() || *lease.trusted() != wanted
    }

    /// Asks about what a project's files say of the user's servers; after a yes the files are read again.
    pub(super) fn ask_about_held_back(&self) {
        let ConfigOrigin::Discovered(_) = self.origin else { return };
        for entry in self.held_back().iter() {
            let about = entry.clone();
            let question: MakeQuestion = Box::new(move || TrustQuestion::of(&about));
            let Decision::Open(answer) = self.trust.decide(&entry.subject, Some(question)) else {
                continue;
            };
            if !lock(&self.questions).insert(entry.subject.clone()) {
                continue;
            }
            let (me, subject) = (self.me.clone(), entry.subject.clone());
            runtime::spawn(async move {
                let yes = answer.wait().await;
                let Some(manager) = me.upgrade() else { return };
                lock(&manager.questions).remove(&subject);
                if yes && let Err(error) = manager.read_again().await {
                    tracing::warn!("{error}");
                }
            });
        }
    }

    /// The project's entries about the user's servers that are not applied for lack of trust.
    pub(super) fn held_back(&self) -> Vec<ProjectEntry> {
        let project = self.project.load();
        project.iter().filter(|entry| entry.held_back.is_some()).cloned().collect()
    }

    /// Warns that a trusted project's server replaces the user's.
    pub(super) fn warn_replaced(&self, server: &Server) {
        let Some(users) = server.declared.replaced() else { return };
        let (name, source) = (&server.name, &server.declared.source);
        let path = |source: &'_ crate::config::Source| {
            source.path.clone().unwrap_or_else(|| source.provider.clone())
        };
        let text = format!(
            "Server \"{name}\" of {} is used in the place of the one of {}",
            path(source),
            path(users)
        );
        tracing::warn!(server = name, "{text}");
        self.sink.emit(name, log_event("warning", &text));
    }

    /// The server's connection, or the wait for it if a question comes first.
    pub(super) fn reach(&self, server: &Server) -> Access {
        self.leave_if_trusted_since(server);
        let Some((answer, config)) = self.open_question(server) else {
            return self.hold(server).map_or_else(Access::Refused, Access::Granted);
        };
        if config.transport.is_stdio() {
            // The server is blocked until then; a yes may also come after every waiter has given up.
            let _ = self.hold(server);
        }
        Access::Pending(Box::pin(self.hold_once_answered(server, answer, config.timeout)))
    }

    /// Releases a connection that was refused for lack of trust, once it is trusted: the next one is made with trust.
    fn leave_if_trusted_since(&self, server: &Server) {
        if server.is_blocked() && self.is_trusted_otherwise(server, &server.declared) {
            drop(server.leave(Release::Disconnect));
        }
    }

    fn open_question<'a>(&self, server: &'a Server) -> Option<(Answer, &'a ServerConfig)> {
        if server.lease().is_some() {
            return None;
        }
        let (config, subject) = (server.usable().ok()?, server.subject()?);
        match self.trust.decide(subject, question_about(&server.declared)) {
            Decision::Open(answer) => Some((answer, config)),
            Decision::Trusted | Decision::Untrusted => None,
        }
    }

    /// Waits for the answer about a server, within a limit and until the server is released; then holds its connection.
    fn hold_once_answered(
        &self,
        server: &Server,
        answer: Answer,
        limit: Duration,
    ) -> impl Future<Output = Result<Arc<Connection>>> + Send + use<> {
        let (me, name, left) = (self.me.clone(), server.name.clone(), server.left());
        let find = move || {
            let manager = me.upgrade().ok_or_else(Error::closed)?;
            let server = manager.servers.load().get(&name).cloned();
            match server.filter(|server| !server.was_left()) {
                Some(server) => Ok((manager, server)),
                None => Err(Error::disconnected(&name)),
            }
        };
        async move {
            let left = left.notified();
            tokio::pin!(left);
            // From here on a release is noticed.
            left.as_mut().enable();
            drop(find()?);
            tokio::select! {
                _ = timeout(limit, answer.wait()) => {}
                () = left => {}
            }
            let (manager, server) = find()?;
            manager.hold(&server)
        }
    }

    /// A late yes still connects the server, if it is still wanted.
    fn connect_after_yes(&self, subject: &Arc<Subject>, answer: Answer) {
        if !lock(&self.questions).insert(subject.clone()) {
            return;
        }
        let (me, subject) = (self.me.clone(), subject.clone());
        runtime::spawn(async move {
            let yes = answer.wait().await;
            let Some(manager) = me.upgrade() else { return };
            lock(&manager.questions).remove(&subject);
            let server = manager.servers.load().get(&subject.server).cloned();
            let Some(server) = server.filter(|server| yes && server.is_blocked()) else { return };
            if server.subject().is_none_or(|current| *current != subject) {
                return;
            }
            manager.leave_if_trusted_since(&server);
            if let Ok(connection) = manager.hold(&server) {
                let slots = manager.slots_for(&server);
                drop((server, manager));
                let _ = super::connect::connect_in_turn(connection, slots).await;
            }
        });
    }

    /// Emits that a server is blocked.
    pub(super) fn emit_blocked(&self, server: &str, error: &Error) {
        tracing::warn!(server, "{error}");
        self.sink.emit(
            server,
            EventKind::Status {
                state: State::Blocked,
                error: Some(error.clone()),
                reason: None,
                attempt: 0,
                next_retry_ms: None,
            },
        );
    }
}
