//! Owns whether a manager starts or dials what a project declares: by policy, by the trust that the user has stored, or
//! by asking (`policy`).
//! Invariant: an open question delays only its own server.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use super::server::Server;
use super::sources::ConfigOrigin;
use super::{Inner, Manager};
use crate::config::{Declared, ProjectEntry, ScopeTrust, ServerConfig, Subject};
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::event::EventKind;
use crate::pool::Release;
use crate::resolve::AllowedAddresses;
use crate::runtime;
use crate::status::State;
use crate::subscribers::{Subscriber, log_event};
use crate::sync::lock;
use crate::trust::{Permit, TrustQuestion, untrusted};

mod policy;

pub(super) use policy::TrustPolicy;
use policy::{MakeQuestion, TrustAnswer, TrustDecision};

/// An untrusted server delays a start for at most this time, whatever its definition says.
const LONGEST_UNTRUSTED: Duration = Duration::from_secs(30);

/// How access to a server starts.
pub(super) enum Access {
    Granted(Arc<Connection>),
    Pending(Pin<Box<dyn Future<Output = Result<Arc<Connection>>> + Send>>),
    Refused(Error),
}

impl Server {
    fn subject(&self) -> Option<&Arc<Subject>> {
        self.declared.subject.as_ref()
    }
}

/// The question about a definition, if something in it needs trust.
fn question_about(declared: &Declared) -> Option<MakeQuestion> {
    let (subject, config) = (declared.subject.clone()?, declared.config.clone().ok()?);
    let is_held_back = config.transport.remote().is_none_or(|remote| {
        config.has_commands() || config.tls.is_some() || !shows_public_address(&remote.url)
    });
    is_held_back.then(|| -> MakeQuestion {
        Box::new(move || TrustQuestion::about(&subject, &config.to_value(), Some(&config)))
    })
}

/// Whether an address, as far as it is visible, may be dialled without trust.
fn shows_public_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| AllowedAddresses::PublicOnly.check(&url).is_ok())
}

impl Manager {
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
        if let TrustDecision::Open(answer) = &decision {
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
        matches!(decision, Some(TrustDecision::Untrusted | TrustDecision::Open(_)))
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
            let question: MakeQuestion = Box::new(move || TrustQuestion::from_entry(&about));
            let TrustDecision::Open(answer) = self.trust.decide(&entry.subject, Some(question))
            else {
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
        if config.transport.starts_program() {
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

    fn open_question<'a>(&self, server: &'a Server) -> Option<(TrustAnswer, &'a ServerConfig)> {
        if server.lease().is_some() {
            return None;
        }
        let (config, subject) = (server.usable().ok()?, server.subject()?);
        match self.trust.decide(subject, question_about(&server.declared)) {
            TrustDecision::Open(answer) => Some((answer, config)),
            TrustDecision::Trusted | TrustDecision::Untrusted => None,
        }
    }

    /// Waits for the answer about a server, within a limit and until the server is released; then holds its connection.
    fn hold_once_answered(
        &self,
        server: &Server,
        answer: TrustAnswer,
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
            drop(find()?);
            tokio::select! {
                _ = timeout(limit, answer.wait()) => {}
                () = left.wait() => {}
            }
            let (manager, server) = find()?;
            manager.hold(&server)
        }
    }

    /// A late yes still connects the server, if it is still wanted.
    fn connect_after_yes(&self, subject: &Arc<Subject>, answer: TrustAnswer) {
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
