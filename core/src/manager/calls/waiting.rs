//! Owns calls that cannot simply be sent: the server is not up yet, is being restarted, or was lost before the call
//! left. Each waits as long as it is worth it, goes out once, and is sent again only where no tool can run twice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{CallHandle, Progressed, find_tool, unavailable};
use crate::call::{Arguments, OnProgress, Resend, Retry, Waiter};
use crate::catalog::ServerTool;
use crate::connection::{Connection, Published};
use crate::error::{Error, ErrorKind, Executed, Restart, Result};
use crate::result::ToolResult;
use crate::runtime;
use crate::session::{CallLimits, Order, Session, Unsent};
use crate::status::State;
use crate::sync::lock;

/// A call with everything that is needed to send it, and to send it again.
pub(super) struct Errand {
    pub(super) connection: Arc<Connection>,
    pub(super) raw_name: String,
    pub(super) arguments: Arc<Arguments>,
    pub(super) meta: Option<Arc<Arguments>>,
    pub(super) on_progress: Option<OnProgress>,
    pub(super) limits: CallLimits,
    pub(super) retry: Retry,
    pub(super) restart_wait: Duration,
    /// It was lost once already.
    pub(super) resent: bool,
}

/// A call that could not be sent.
struct Returned {
    errand: Errand,
    waiter: Waiter,
    error: Error,
}

/// A session that did not take the call, and how it said so.
type Dead = (Arc<Session>, Error);

impl Errand {
    /// Waits for a session and sends the call there.
    pub(super) fn begin(self, waiter: Waiter, dead: Option<Dead>) -> CallHandle {
        let handle = CallHandle::new(Progressed::Waiting(None));
        self.carry_on(waiter, handle.clone(), dead);
        handle
    }

    fn carry_on(self, waiter: Waiter, handle: CallHandle, dead: Option<Dead>) {
        let mine = handle.clone();
        // Held until the task is noted: whoever gives up finds it.
        let mut progressed = lock(&handle.0);
        if let Progressed::GivenUp = *progressed {
            return;
        }
        let task = runtime::spawn(async move { self.run(waiter, mine, dead).await });
        *progressed = Progressed::Waiting(Some(task.abort_handle()));
    }

    async fn run(self, waiter: Waiter, handle: CallHandle, mut dead: Option<Dead>) {
        let mut errand = self;
        let mut waiter = waiter;
        let patience = errand.limits.total.unwrap_or(Duration::MAX).min(errand.limits.idle);
        let deadline = Instant::now().checked_add(patience);
        let deadline =
            deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400 * 365));
        let mut restarting_until = None;
        loop {
            let found = errand.session(dead.as_ref(), &mut restarting_until);
            let found = timeout_at(deadline, found).await.unwrap_or_else(|_| Err(errand.late()));
            let (session, tool) = match found {
                Ok(found) => found,
                Err(error) => return waiter.finish(Err(without_a_session(error, dead))),
            };
            match errand.send(&session, &tool, waiter, handle.clone()) {
                Ok(()) => return,
                Err(returned) => {
                    let error;
                    Returned { errand, waiter, error } = *returned;
                    if error.kind() != ErrorKind::ConnectionLost {
                        return waiter.finish(Err(error));
                    }
                    dead = Some((session, error));
                }
            }
        }
    }

    /// Sends on a session that is up; should that fail, the call waits for another one.
    pub(super) fn send_at_once(
        self,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> CallHandle {
        let handle = CallHandle::new(Progressed::Waiting(None));
        if let Err(returned) = self.send(session, tool, waiter, handle.clone()) {
            let Returned { errand, waiter, error } = *returned;
            if error.kind() == ErrorKind::ConnectionLost {
                errand.carry_on(waiter, handle.clone(), Some((session.clone(), error)));
            } else {
                waiter.finish(Err(error));
            }
        }
        handle
    }

    fn send(
        self,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
        handle: CallHandle,
    ) -> Result<(), Box<Returned>> {
        let errand = self;
        let repeatable = errand.retry == Retry::Safe && tool.is_repeatable();
        let (arguments, meta) = (errand.arguments.clone(), errand.meta.clone());
        let (limits, on_progress) = (errand.limits, errand.on_progress.clone());
        let shared = handle.clone();
        // Under the lock: whoever gives up, or is lost at once, sees the sent call.
        let mut progressed = lock(&shared.0);
        if let Progressed::GivenUp = *progressed {
            return Ok(());
        }
        let again = Arc::new(Again {
            call: Mutex::new(Some((errand, waiter))),
            handle,
            session: session.clone(),
            repeatable,
        });
        let order = Order {
            tool: tool.name_json(),
            arguments: &arguments,
            meta: meta.as_deref(),
            on_progress,
        };
        match session.call(order, limits, Waiter::Again(again.clone())) {
            Ok(id) => {
                *progressed = Progressed::Sent(session.clone(), id);
                Ok(())
            }
            Err(Unsent { error, .. }) => match again.take() {
                Some((errand, waiter)) => Err(Box::new(Returned { errand, waiter, error })),
                None => Ok(()),
            },
        }
    }

    /// A session that takes the call, or why there will be none in time.
    async fn session(
        &self,
        dead: Option<&Dead>,
        restarting_until: &mut Option<Duration>,
    ) -> Result<(Arc<Session>, Arc<ServerTool>)> {
        let connection = &*self.connection;
        let mut changes = connection.changes();
        let mut waited = false;
        loop {
            changes.mark_unchanged();
            {
                let published = connection.published();
                if let Some(found) = self.look(&published, dead, waited)? {
                    return Ok(found);
                }
                if self.is_restarting(&published) {
                    self.check_restart(&published, dead, restarting_until)?;
                }
            }
            waited = true;
            let until = *restarting_until;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return Err(Error::new(ErrorKind::Closed, "The manager is closed"));
                },
                () = sleep_until(connection, until) => {}
            }
        }
    }

    fn look(
        &self,
        published: &Published,
        dead: Option<&Dead>,
        waited: bool,
    ) -> Result<Option<(Arc<Session>, Arc<ServerTool>)>> {
        let server = self.server();
        if let Some(live) = &published.live {
            if dead.is_some_and(|(dead, _)| Arc::ptr_eq(dead, &live.session)) {
                return Ok(None);
            }
            let tool = find_tool(&published.tools, &server, &self.raw_name)?;
            return Ok(Some((live.session.clone(), tool.clone())));
        }
        match published.state {
            State::Connecting | State::Reconnecting => Ok(None),
            State::Idle => {
                self.connection.wake();
                Ok(None)
            }
            // Who waited for an attempt gets its error.
            _ => match &published.error {
                Some(error) if waited => Err(error.clone()),
                error => Err(unavailable(&server, error.as_ref())),
            },
        }
    }

    /// Whether the server was up and is not any more, noticed or not.
    fn is_restarting(&self, published: &Published) -> bool {
        published.state == State::Reconnecting || published.live.is_some()
    }

    /// Gives up when the next attempt is too far away, or the wait was long enough.
    fn check_restart(
        &self,
        published: &Published,
        dead: Option<&Dead>,
        restarting_until: &mut Option<Duration>,
    ) -> Result<()> {
        let now = self.connection.clock().now();
        let until = *restarting_until.get_or_insert(now.saturating_add(self.restart_wait));
        let restart = Restart {
            attempt: published.attempt,
            next_retry_ms: published.next_retry_ms(self.connection.clock()),
            last_error: published.error.clone(),
        };
        let server = self.server();
        let is_over = now >= until;
        let error = match (published.retry_at, published.live.is_some()) {
            (Some(due), _) if due > until || is_over => {
                let next = restart.next_retry_ms.unwrap_or(0);
                let text =
                    format!("Server \"{server}\" is down; the next attempt is due in {next} ms");
                Error::new(ErrorKind::RestartFailed, text)
                    .with_hint("try again later, or connect it with connect()")
            }
            (None, false) if is_over => {
                let text = format!("Server \"{server}\" is being restarted");
                Error::new(ErrorKind::RestartInProgress, text).with_hint("try again later")
            }
            (None, true) if is_over => match dead {
                Some((_, error)) => return Err(error.clone()),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        Err(error.with_server(&server).with_executed(Executed::No).with_restart(restart))
    }

    fn late(&self) -> Error {
        let text = format!("Server \"{}\" was not connected in time for the call", self.server());
        Error::new(ErrorKind::ToolTimeout, text).with_server(&self.server())
    }

    fn server(&self) -> Arc<str> {
        self.connection.server().clone()
    }
}

/// What a caller hears whose call found no session to go to.
fn without_a_session(error: Error, dead: Option<Dead>) -> Error {
    match dead {
        // It may have run: that outweighs why it could not be sent again.
        Some((_, lost)) if lost.executed() == Some(Executed::Unknown) => lost,
        _ => error.with_executed(Executed::No),
    }
}

async fn sleep_until(connection: &Connection, at: Option<Duration>) {
    match at {
        Some(at) if at > connection.clock().now() => connection.clock().sleep_until(at).await,
        _ => std::future::pending().await,
    }
}

/// Waits in the caller's place, so that a lost call can be sent again before the caller hears of it.
struct Again {
    call: Mutex<Option<(Errand, Waiter)>>,
    handle: CallHandle,
    session: Arc<Session>,
    repeatable: bool,
}

impl Again {
    fn take(&self) -> Option<(Errand, Waiter)> {
        lock(&self.call).take()
    }

    /// Whether no tool can run twice by it.
    fn is_harmless(&self, error: &Error) -> bool {
        let unharmed = match error.executed() {
            Some(Executed::No) => true,
            Some(Executed::Unknown) => self.repeatable,
            _ => false,
        };
        unharmed && error.kind() == ErrorKind::ConnectionLost
    }
}

impl Resend for Again {
    fn finish(&self, outcome: Result<ToolResult>) {
        let Some((mut errand, waiter)) = self.take() else { return };
        match outcome {
            Err(error) if self.is_harmless(&error) && !errand.resent => {
                errand.resent = true;
                let dead = Some((self.session.clone(), error));
                errand.carry_on(waiter, self.handle.clone(), dead);
            }
            outcome => waiter.finish(outcome),
        }
    }
}
