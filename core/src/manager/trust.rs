//! Owns whether a manager starts what a project declares: by its policy, by what the user has stored, by asking.
//! Invariant: one question per definition, whoever connects; an open question holds up nobody but its own server.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::server::Server;
use super::{Inner, closed};
use crate::config::{Declared, Level, ServerConfig, Transport};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::event::EventKind;
use crate::redact;
use crate::runtime;
use crate::status::State;
use crate::surroundings::Surroundings;
use crate::sync::lock;
use crate::trust::{Store, Trust, TrustCallback, TrustQuestion, place_of};

/// A definition that asks for trust.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Case {
    path: String,
    project: PathBuf,
    server: String,
    fingerprint: String,
}

/// Decides for a manager and its children.
pub(super) struct Judge {
    policy: Trust,
    surroundings: Surroundings,
    known: Mutex<HashMap<Case, Known>>,
}

/// What is known of a case.
#[derive(Default)]
struct Known {
    /// Whether the user has stored trust in it, when that was last looked up.
    stored: Option<bool>,
    question: Option<Question>,
}

/// A question that was put; whoever puts it again gets the same answer. It ends with the manager.
struct Question {
    answer: Answer,
    asking: AbortHandle,
}

impl Drop for Question {
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

    /// Resolves with the answer; nobody left to give one is a no.
    async fn wait(mut self) -> bool {
        let given = self.0.wait_for(Option::is_some).await;
        given.is_ok_and(|answer| *answer == Some(true))
    }
}

/// Where the way to a server begins.
pub(super) enum Reached {
    Held(Arc<Connection>),
    Asked(Pin<Box<dyn Future<Output = Result<Arc<Connection>>> + Send>>),
    Refused(Error),
}

enum Ruling {
    Trusted,
    Untrusted,
    Open(Answer),
}

impl Judge {
    pub(super) fn new(policy: Trust, surroundings: Surroundings) -> Arc<Judge> {
        Arc::new(Judge { policy, surroundings, known: Mutex::default() })
    }

    /// Looks up again what is stored about these; tells what is wrong with the store.
    async fn consult(&self, cases: Vec<Case>) -> Option<Error> {
        if cases.is_empty() || matches!(self.policy, Trust::All | Trust::None) {
            return None;
        }
        let surroundings = self.surroundings.clone();
        let look = move || {
            let stored = stored(&surroundings, &cases);
            (cases, stored)
        };
        let (cases, stored) = runtime::handle().spawn_blocking(look).await.ok()?;
        let (stored, problem) = match stored {
            Ok(stored) => (stored, None),
            Err(error) => (vec![false; cases.len()], Some(error)),
        };
        let mut known = lock(&self.known);
        for (case, stored) in cases.into_iter().zip(stored) {
            known.entry(case).or_default().stored = Some(stored);
        }
        problem
    }

    fn rule(&self, case: &Case, config: &ServerConfig) -> Ruling {
        match self.policy {
            Trust::All => return Ruling::Trusted,
            Trust::None => return Ruling::Untrusted,
            Trust::Stored | Trust::Ask(_) => {}
        }
        let mut known = lock(&self.known);
        let known = known.entry(case.clone()).or_default();
        let stored = *known.stored.get_or_insert_with(|| {
            // Only a call to a server that nobody has connected comes here first; the file is small.
            stored(&self.surroundings, std::slice::from_ref(case)).is_ok_and(|stored| stored[0])
        });
        let callback = match &self.policy {
            _ if stored => return Ruling::Trusted,
            Trust::Ask(callback) => callback,
            _ => return Ruling::Untrusted,
        };
        let question = known.question.get_or_insert_with(|| ask(callback, case, config));
        match question.answer.given() {
            Some(true) => Ruling::Trusted,
            Some(false) => Ruling::Untrusted,
            None => Ruling::Open(question.answer.clone()),
        }
    }
}

fn stored(surroundings: &Surroundings, cases: &[Case]) -> Result<Vec<bool>> {
    let store = Store::load(surroundings)?;
    let trusts = |case: &Case| {
        let place = place_of(Path::new(&case.path), &case.project);
        store.trusts(&place, &case.server, &case.fingerprint)
    };
    Ok(cases.iter().map(trusts).collect())
}

fn ask(callback: &TrustCallback, case: &Case, config: &ServerConfig) -> Question {
    let question = TrustQuestion {
        server: case.server.clone(),
        path: case.path.clone(),
        fingerprint: case.fingerprint.clone(),
        definition: redact::definition(config.to_value()),
    };
    let callback = callback.clone();
    // A task of its own: whoever panics in it has said no.
    let asking = runtime::spawn(async move { callback(question).await });
    let (tell, answer) = watch::channel(None);
    let abort = asking.abort_handle();
    runtime::spawn(async move {
        let yes = asking.await.unwrap_or(false);
        let _ = tell.send(Some(yes));
    });
    Question { answer: Answer(answer), asking: abort }
}

impl Case {
    /// What is to be decided before the server may be used, where anything is.
    pub(super) fn of(server: &str, declared: &Declared) -> Option<Case> {
        let config = declared.config.as_ref().ok()?;
        let source = &declared.source;
        let is_projects = config.scope.level == Level::Project || source.level == Level::Project;
        let starts_programs = matches!(config.transport, Transport::Stdio { .. });
        if !is_projects || !(starts_programs || config.has_commands()) {
            return None;
        }
        Some(Case {
            path: source.path.clone().unwrap_or_default(),
            project: config.scope.directory.clone().unwrap_or_default(),
            server: server.to_owned(),
            fingerprint: config.fingerprint(),
        })
    }
}

impl Server {
    fn case(&self) -> Option<Case> {
        Case::of(&self.name, &self.declared)
    }
}

impl Inner {
    /// Looks up again what is stored about these servers.
    pub(super) async fn consult_store<'a>(&self, servers: impl Iterator<Item = &'a Arc<Server>>) {
        self.consult_store_about(servers.filter_map(|server| server.case()).collect()).await;
    }

    pub(super) async fn consult_store_about(&self, cases: Vec<Case>) {
        if let Some(error) = self.judge.consult(cases).await
            && self.view.warn_once("", error.message())
        {
            tracing::warn!("{error}");
        }
    }

    /// The definition as this manager may use it.
    pub(super) fn admit<'a>(
        &self,
        server: &Server,
        config: &'a ServerConfig,
    ) -> Result<Cow<'a, ServerConfig>> {
        let Some(case) = server.case() else { return Ok(Cow::Borrowed(config)) };
        let ruling = self.judge.rule(&case, config);
        if let Ruling::Open(answer) = &ruling {
            self.connect_after_yes(&case, answer.clone());
        }
        match (ruling, &config.transport) {
            (Ruling::Trusted, _) => {
                let mut config = config.clone();
                config.scope.trusted = true;
                Ok(Cow::Owned(config))
            }
            (Ruling::Untrusted | Ruling::Open(_), Transport::Stdio { .. }) => Err(untrusted(&case)),
            // A remote server is reached anyway; only its commands are not run.
            (Ruling::Untrusted | Ruling::Open(_), _) => Ok(Cow::Borrowed(config)),
        }
    }

    /// Whether this manager holds a connection that it would not, or not so, reach by the server's new declaration.
    pub(super) fn is_judged_anew(&self, server: &Server, declared: &Declared) -> bool {
        let (lease, case) = (server.lease(), Case::of(&server.name, declared));
        let (Some(lease), Some(case), Ok(config)) = (lease.as_ref(), case, &declared.config) else {
            return false;
        };
        let trusted = matches!(self.judge.rule(&case, config), Ruling::Trusted);
        server.case().is_none() || lease.is_trusted() != trusted
    }

    /// The server's connection; where somebody has to be asked first, the wait for it.
    pub(super) fn reach(&self, server: &Server) -> Reached {
        let Some((answer, config)) = self.open_question(server) else {
            return self.hold(server).map_or_else(Reached::Refused, Reached::Held);
        };
        if let Transport::Stdio { .. } = config.transport {
            // Blocked until then; and a yes may come after everybody has stopped waiting for it.
            let _ = self.hold(server);
        }
        Reached::Asked(Box::pin(self.hold_once_answered(server, answer, config.timeout)))
    }

    fn open_question<'a>(&self, server: &'a Server) -> Option<(Answer, &'a ServerConfig)> {
        if server.lease().is_some() {
            return None;
        }
        let (config, case) = (server.usable().ok()?, server.case()?);
        match self.judge.rule(&case, config) {
            Ruling::Open(answer) => Some((answer, config)),
            Ruling::Trusted | Ruling::Untrusted => None,
        }
    }

    /// Waits for the answer about a server, within a limit and until it is let go of; then holds its connection.
    fn hold_once_answered(
        &self,
        server: &Server,
        answer: Answer,
        limit: Duration,
    ) -> impl Future<Output = Result<Arc<Connection>>> + Send + use<> {
        let (me, name, left) = (self.me.clone(), server.name.clone(), server.left());
        let find = move || {
            let manager = me.upgrade().ok_or_else(closed)?;
            let server = manager.servers.load().get(&name).cloned();
            match server.filter(|server| !server.was_left()) {
                Some(server) => Ok((manager, server)),
                None => {
                    let text = format!("Server \"{name}\" is disconnected");
                    Err(Error::new(ErrorKind::ToolUnavailable, text).with_server(&name))
                }
            }
        };
        async move {
            let left = left.notified();
            tokio::pin!(left);
            // From here on nobody lets go of it unheard.
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

    /// A yes that comes late connects the server all the same, if it is still wanted then.
    fn connect_after_yes(&self, case: &Case, answer: Answer) {
        if !lock(&self.questions).insert(case.clone()) {
            return;
        }
        let (me, case) = (self.me.clone(), case.clone());
        runtime::spawn(async move {
            let yes = answer.wait().await;
            let Some(manager) = me.upgrade() else { return };
            lock(&manager.questions).remove(&case);
            let server = manager.servers.load().get(&case.server).cloned();
            let Some(server) = server.filter(|server| yes && server.is_blocked()) else { return };
            if server.case().is_some_and(|current| current == case)
                && let Ok(connection) = manager.hold(&server)
            {
                let slots = manager.connect_slots.clone();
                drop((server, manager));
                let _ = super::connect::connect_in_turn(connection, slots).await;
            }
        });
    }

    /// Tells that a server is blocked.
    pub(super) fn tell_blocked(&self, server: &str, error: &Error) {
        tracing::warn!(server, "{error}");
        self.view.events.emit(
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

fn untrusted(case: &Case) -> Error {
    let Case { path, server, .. } = case;
    let text = format!("Refused to start stdio server \"{server}\" because {path} is not trusted");
    Error::new(ErrorKind::Untrusted, text)
        .with_server(server)
        .with_hint(format!("mcpool trust {path}"))
}
