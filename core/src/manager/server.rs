//! Owns a manager's state of one server: its definition, and the hold on its connection while there is one.

use std::sync::{Arc, Mutex, Weak};

use arc_swap::{ArcSwapOption, Guard};
use tokio::sync::watch;

use super::identities::{Held, Identities};
use super::telemetry::KnownPrompts;
use crate::approval::{ApprovalPolicy, Rule};
use crate::caller::Identity;
use crate::catalog::{Offer, Slice, ToolState, provider_of};
use crate::completion::Completion;
use crate::config::{Declared, MAX_RESULT_CHARS, ScopeTrust, ServerConfig};
use crate::connection::{Connection, Live};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::EventLog;
use crate::pool::{Lease, Release};
use crate::redact::Mask;
use crate::result::{Presenter, SpillDir};
use crate::shell;
use crate::status::{Calls, ServerStatus, State};
use crate::sync::lock;

pub(super) struct Server {
    pub(super) name: String,
    pub(super) declared: Declared,
    /// How its results are presented to a model.
    presenter: Arc<Presenter>,
    pub(super) offer: Arc<Offer>,
    lease: ArcSwapOption<Lease>,
    not_held: Mutex<NotHeld>,
    /// The end of the connection that was released last; every release waits for the same one.
    ending: Mutex<Completion>,
    /// Changed when the manager releases the connection, and how it did. Its address tells the managers of a server
    /// apart.
    left: Arc<watch::Sender<Option<Release>>>,
    /// Connections for other identities than the manager's.
    identities: Arc<Identities>,
    pub(super) known_prompts: Arc<KnownPrompts>,
}

/// Tells that a manager has released a connection.
#[derive(Clone)]
pub(super) struct Left {
    released: watch::Receiver<Option<Release>>,
    /// It had been released before this was made.
    before: bool,
}

impl Left {
    /// Resolves when the connection has been released since this was made.
    pub(super) async fn wait(&self) {
        if !self.before {
            // The sender is gone with its manager.
            let _ = self.released.clone().changed().await;
        }
    }

    /// Whether that has happened.
    pub(super) fn is_over(&self) -> bool {
        self.before || self.released.has_changed().unwrap_or(true)
    }

    /// The same for a connection that was released before this was made.
    pub(super) fn or_before(self, before: bool) -> Self {
        Left { before, ..self }
    }

    fn is_closed(&self) -> bool {
        match *self.released.borrow() {
            Some(how) => how == Release::Close,
            // The sender is gone with its manager.
            None => self.released.has_changed().is_err(),
        }
    }

    /// Why a call that waited until the release is not sent.
    pub(super) fn error(&self, server: &str) -> Error {
        self.closed_or(server, Error::disconnected(server).with_executed(Executed::No))
    }

    /// The error of a proxied call: the own close of its manager is `CLOSED`, not a loss. The session decides this for
    /// direct calls.
    pub(super) fn closed_or(&self, server: &str, error: Error) -> Error {
        let by_release =
            matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::ToolUnavailable);
        if by_release && self.is_closed() {
            return Error::closed_during_call(server, &error);
        }
        error
    }
}

/// How a manager presents the results of all its servers to a model.
#[derive(Clone)]
pub(super) struct PresenterSettings {
    pub(super) wrap: bool,
    pub(super) spill_dir: Option<Arc<SpillDir>>,
    pub(super) events: Weak<EventLog>,
}

impl PresenterSettings {
    pub(super) fn presenter(&self, name: &str, declared: &Declared) -> Arc<Presenter> {
        let limit = declared.config.as_ref().map(|config| config.max_result_chars);
        self.with_limit(name, limit.unwrap_or(MAX_RESULT_CHARS))
    }

    pub(super) fn with_limit(&self, name: &str, max_chars: usize) -> Arc<Presenter> {
        let PresenterSettings { wrap, spill_dir, events } = self.clone();
        Arc::new(Presenter { server: name.into(), max_chars, wrap, spill_dir, events })
    }
}

/// Why there is no hold on a connection.
#[derive(Clone, Default)]
enum NotHeld {
    #[default]
    NeverAsked,
    Refused(Error),
    Left,
    /// The manager has released it.
    Closed,
}

impl Server {
    pub(super) fn new(
        name: &str,
        declared: Declared,
        offer: Arc<Offer>,
        presenter_settings: &PresenterSettings,
    ) -> Arc<Server> {
        Arc::new(Server {
            name: name.to_owned(),
            presenter: presenter_settings.presenter(name, &declared),
            declared,
            offer,
            lease: ArcSwapOption::empty(),
            not_held: Mutex::default(),
            ending: Mutex::new(Completion::done()),
            left: Arc::new(watch::Sender::new(None)),
            identities: Arc::default(),
            known_prompts: Arc::default(),
        })
    }

    /// The same hold with a new definition of the same server.
    pub(super) fn redefined(
        &self,
        declared: Declared,
        offer: Arc<Offer>,
        presenter_settings: &PresenterSettings,
    ) -> Arc<Server> {
        let not_held = lock(&self.not_held);
        let lease = self.lease.load_full();
        if let (Some(lease), Ok(config)) = (&lease, &declared.config) {
            lease.set(config);
        }
        if let Ok(config) = &declared.config {
            self.identities.set(config);
        }
        Arc::new(Server {
            name: self.name.clone(),
            presenter: presenter_settings.presenter(&self.name, &declared),
            declared,
            offer,
            lease: ArcSwapOption::new(lease),
            not_held: Mutex::new(not_held.clone()),
            ending: Mutex::new(lock(&self.ending).clone()),
            left: self.left.clone(),
            identities: self.identities.clone(),
            known_prompts: self.known_prompts.clone(),
        })
    }

    pub(super) fn presenter(&self) -> &Arc<Presenter> {
        &self.presenter
    }

    /// The mask for the values that the server was given, if it was started.
    pub(super) fn mask(&self) -> Mask {
        let lease = self.lease();
        let published = lease.as_ref().map(|lease| lease.connection().published());
        let live = published.as_ref().and_then(|published| published.live.as_ref());
        live.map(|live| live.session.mask()).unwrap_or_default()
    }

    /// The definition, if the server may be used.
    pub(super) fn usable(&self) -> Result<&ServerConfig> {
        match &self.declared.config {
            Err(error) => Err(error.clone()),
            Ok(config) if config.enabled => Ok(config),
            Ok(_) => Err(Error::new(
                ErrorKind::ServerDisabled,
                format!(
                    "Server \"{}\" is disabled. Run \"{}\" first.",
                    self.name,
                    shell::mcpool("enable", &self.name, &self.declared.source.command_option())
                ),
            )
            .naming_server(&self.name)),
        }
    }

    /// The hold, while there is one.
    pub(super) fn lease(&self) -> Guard<Option<Arc<Lease>>> {
        self.lease.load()
    }

    /// The link, while it is up.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        self.lease().as_ref()?.connection().published().live.clone()
    }

    /// Whether an announcement of new tools from before its last answer may still be unread, or its tools are fetched
    /// again because the time of the list is over.
    pub(super) fn may_announce_tools(&self) -> bool {
        let lease = self.lease();
        let published = lease.as_ref().map(|lease| lease.connection().published());
        let live = published.as_ref().and_then(|published| published.live.as_ref());
        live.is_some_and(|live| {
            live.session.refresh_stale_tools()
                || live.greeting.announces_tools && live.session.may_have_unread_messages()
        })
    }

    /// Acquires the connection and holds it.
    pub(super) fn hold(
        &self,
        acquire: impl FnOnce(&ServerConfig) -> Result<Lease>,
    ) -> Result<Arc<Connection>> {
        let config = self.usable()?;
        let mut not_held = lock(&self.not_held);
        if let Some(lease) = &*self.lease.load() {
            return Ok(lease.connection().clone());
        }
        if let NotHeld::Closed = *not_held {
            return Err(Error::closed());
        }
        match acquire(config) {
            Ok(lease) => {
                let connection = lease.connection().clone();
                self.lease.store(Some(Arc::new(lease)));
                // No change: whoever waited for the release was told.
                self.left.send_if_modified(|how| {
                    *how = None;
                    false
                });
                Ok(connection)
            }
            Err(error) => {
                *not_held = NotHeld::Refused(error.clone());
                Err(error)
            }
        }
    }

    /// Acquires the connection of another identity than the manager's.
    pub(super) fn hold_for(
        &self,
        identity: &Identity,
        acquire: impl FnOnce(&ServerConfig) -> Result<Lease>,
    ) -> Result<Held> {
        let config = self.usable()?;
        // Locked, so that a release finds the hold.
        let not_held = lock(&self.not_held);
        match *not_held {
            NotHeld::Closed => Err(Error::closed()),
            NotHeld::Left if self.lease.load().is_none() => Err(Error::disconnected(&self.name)),
            _ => self.identities.get(identity, config, acquire),
        }
    }

    pub(super) fn identities(&self) -> &Arc<Identities> {
        &self.identities
    }

    /// Whether the manager released the connection on purpose.
    pub(super) fn was_left(&self) -> bool {
        // Locked first: a release in progress counts.
        let not_held = lock(&self.not_held);
        self.lease().is_none() && matches!(*not_held, NotHeld::Left | NotHeld::Closed)
    }

    /// Whether the last attempt to acquire the connection failed.
    pub(super) fn was_refused(&self) -> bool {
        matches!(*lock(&self.not_held), NotHeld::Refused(_))
    }

    /// Whether it is not started or dialled because its source is not trusted.
    pub(super) fn is_blocked(&self) -> bool {
        let not_held = lock(&self.not_held);
        match &*self.lease() {
            Some(lease) => lease.connection().published().state == State::Blocked,
            None => matches!(&*not_held, NotHeld::Refused(error) if is_untrusted(error)),
        }
    }

    /// Changed when the manager releases the connection from now on.
    pub(super) fn left(&self) -> Left {
        Left { released: self.left.subscribe(), before: false }
    }

    /// Tells the managers of a server apart.
    pub(super) fn manager_id(&self) -> usize {
        Arc::as_ptr(&self.left) as usize
    }

    /// Releases the connection; resolves when the connection has ended, if it has to end.
    pub(super) fn leave(&self, how: Release) -> Completion {
        let mut not_held = lock(&self.not_held);
        *not_held = match how {
            Release::Disconnect => NotHeld::Left,
            Release::Close => NotHeld::Closed,
        };
        self.left.send_replace(Some(how));
        let mut ending = lock(&self.ending);
        if let Some(lease) = self.lease.swap(None) {
            *ending = lease.release(how);
        }
        if let Some(others) = self.identities.release(how) {
            let own = ending.clone();
            *ending = Completion::new(async move {
                own.await;
                others.await;
            });
        }
        ending.clone()
    }

    /// Its part of the catalog.
    pub(super) fn slice(&self, policy: ApprovalPolicy) -> Option<Slice> {
        let lease = self.lease();
        let lease = lease.as_ref()?;
        let published = lease.connection().published();
        let live = published.live.is_some();
        self.offer.prepare(&published.tools, || published.mask());
        Some(Slice {
            tools: published.tools.clone(),
            offer: self.offer.clone(),
            state: if live { ToolState::Live } else { ToolState::Deferred },
            approval: Rule {
                policy,
                wanted: self.declared.config.as_ref().is_ok_and(|config| config.requires_approval),
            },
            provider: provider_of(&self.name, &self.declared.source.provider).into(),
            untrusted: self.declared.subject.is_some() && *lease.trusted() == ScopeTrust::No,
        })
    }

    pub(super) fn status(&self) -> ServerStatus {
        let lease = self.lease();
        let connection = lease.as_ref().map(|lease| lease.connection());
        let published = connection.map(|connection| connection.published());
        let live = published.as_ref().and_then(|published| published.live.as_deref());
        let greeting = live.map(|live| live.greeting.clone());
        let (state, error) = match (&published, &self.declared.config) {
            (Some(published), _) => (published.state, published.error.clone()),
            (None, Err(error)) => (State::Failed, Some(error.clone())),
            (None, Ok(config)) if !config.enabled => (State::Disabled, None),
            (None, Ok(_)) => match &*lock(&self.not_held) {
                NotHeld::NeverAsked => (State::Idle, None),
                NotHeld::Refused(error) if is_untrusted(error) => {
                    (State::Blocked, Some(error.clone()))
                }
                NotHeld::Refused(error) => (State::Failed, Some(error.clone())),
                NotHeld::Left | NotHeld::Closed => (State::Disconnected, None),
            },
        };
        let published = published.as_ref();
        let clock = connection.map(|connection| connection.clock());
        ServerStatus {
            name: self.name.clone(),
            state,
            transport: self.declared.config.as_ref().ok().map(|config| config.transport.name()),
            tool_count: published
                .map_or(0, |published| self.offer.count(&published.tools, || published.mask())),
            error,
            connected_since: live.map(|live| live.connected_since),
            uptime_ms: live
                .zip(clock)
                .map(|(live, clock)| clock.now().saturating_sub(live.up_at).as_millis() as u64),
            attempt: published.map_or(0, |published| published.attempt),
            reason: published.and_then(|published| published.reason),
            next_retry_ms: published
                .zip(clock)
                .and_then(|(published, clock)| published.next_retry_ms(clock)),
            restarts: published.map_or(0, |published| published.restarts),
            refs: connection.map_or(0, |connection| connection.subscribers().len()),
            pid: live.and_then(|live| live.session.wire()?.pid()),
            protocol_version: greeting.as_ref().map(|greeting| greeting.protocol_version.clone()),
            server_name: greeting.as_ref().and_then(|greeting| greeting.server_name.clone()),
            server_version: greeting.as_ref().and_then(|greeting| greeting.server_version.clone()),
            instructions: greeting.and_then(|greeting| greeting.instructions),
            source: self.declared.source.clone(),
            identities: self.identities.states(),
            calls: connection.map_or_else(Calls::default, |connection| Calls {
                queued: connection.call_queue().len() as u64,
                ..connection.call_counters().calls()
            }),
        }
    }
}

fn is_untrusted(error: &Error) -> bool {
    error.kind() == ErrorKind::Untrusted
}
