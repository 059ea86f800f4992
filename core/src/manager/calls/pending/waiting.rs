//! Owns how a pending call waits for a session while the server starts or restarts, within the restart wait.

use std::sync::Arc;
use std::time::Duration;

use super::super::lookup::{because, find_tool, unavailable};
use super::{LostSession, PendingCall};
use crate::connection::{Connection, Published};
use crate::error::{Error, ErrorKind, Executed, Restart, Result};
use crate::session::Session;
use crate::status::State;
use crate::tool::ServerTool;

impl PendingCall {
    /// Resolves with a session that takes the call, or with the reason why none will be up in time.
    pub(super) async fn find_session(
        &self,
        lost_session: Option<&LostSession>,
        restarting_until: &mut Option<Duration>,
    ) -> Result<(Arc<Session>, Arc<ServerTool>)> {
        let connection = &*self.connection;
        let mut changes = connection.changes();
        let mut waited = false;
        loop {
            changes.mark_unchanged();
            {
                let published = connection.published();
                if let Some(found) = self.published_session(&published, lost_session, waited)? {
                    return Ok(found);
                }
                if self.is_restarting(&published) {
                    self.check_restart(&published, lost_session, restarting_until)?;
                }
            }
            waited = true;
            let until = *restarting_until;
            tokio::select! {
                biased;
                changed = changes.changed() => if changed.is_err() {
                    return Err(Error::closed());
                },
                () = sleep_until(connection, until) => {}
            }
        }
    }

    /// The session that is up, unless it is the lost one; `None` while one may still come up.
    fn published_session(
        &self,
        published: &Published,
        lost_session: Option<&LostSession>,
        waited: bool,
    ) -> Result<Option<(Arc<Session>, Arc<ServerTool>)>> {
        let server = self.server();
        if let Some(live) = &published.live {
            if lost_session
                .is_some_and(|(lost_session, _)| Arc::ptr_eq(lost_session, &live.session))
            {
                return Ok(None);
            }
            let tool = find_tool(published, &self.spec.offer, self.spec.wanted.raw_name())?;
            self.spec.offer.check_drift(tool, &published.tools, || published.mask())?;
            return Ok(Some((live.session.clone(), tool.clone())));
        }
        match published.state {
            State::Connecting | State::Reconnecting => Ok(None),
            State::Idle => {
                self.connection.wake();
                Ok(None)
            }
            // A call that waited for an attempt gets that attempt's error.
            _ => match &published.error {
                Some(error) if waited => Err(error.clone()),
                error => Err(unavailable(&server, error.as_ref())),
            },
        }
    }

    /// Whether the server was up and is not any more, even if the loss was not noticed yet.
    fn is_restarting(&self, published: &Published) -> bool {
        published.state == State::Reconnecting || published.live.is_some()
    }

    /// Gives up when the next attempt is too far away or the wait has expired.
    fn check_restart(
        &self,
        published: &Published,
        lost_session: Option<&LostSession>,
        restarting_until: &mut Option<Duration>,
    ) -> Result<()> {
        let now = self.connection.clock().now();
        let until = *restarting_until.get_or_insert(now.saturating_add(self.spec.restart_wait));
        let restart = Restart {
            attempt: published.attempt,
            next_retry_ms: published.next_retry_ms(self.connection.clock()),
            last_error: published.error.clone(),
        };
        let cause = published.error.as_ref();
        let server = self.server();
        let is_over = now >= until;
        let error = match (published.retry_at, published.live.is_some()) {
            (Some(due), _) if due > until || is_over => {
                let next = restart.next_retry_ms.unwrap_or(0);
                let text = because(format!("Server \"{server}\" is down"), cause)
                    .text(&format!("; the next attempt is due in {next} ms"));
                Error::new(ErrorKind::RestartFailed, text)
                    .with_hint("try again later, or connect it with connect()")
            }
            (None, false) if is_over => {
                let text = because(format!("Server \"{server}\" is being restarted"), cause);
                Error::new(ErrorKind::RestartInProgress, text).with_hint("try again later")
            }
            (None, true) if is_over => match lost_session {
                Some((_, error)) => return Err(error.clone()),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let error = error.naming_server(&server).with_executed(Executed::No);
        Err(caused_by(error, cause).with_restart(restart))
    }

    /// Why a call that ran out of time was not sent.
    pub(super) fn timed_out(&self) -> Error {
        let (server, published) = (self.server(), self.connection.published());
        let cause = published.error.as_ref();
        let text = format!("Server \"{server}\" was not connected in time for the call");
        let error = Error::new(ErrorKind::ToolTimeout, because(text, cause));
        caused_by(error.naming_server(&server), cause)
    }

    /// Why a call whose turn did not come was not sent.
    pub(super) fn no_turn_in_time(&self) -> Error {
        let (server, others) = (self.server(), self.connection.call_queue().len());
        let text = format!(
            "The call's turn at server \"{server}\" did not come in time: {others} other calls wait there"
        );
        Error::new(ErrorKind::ToolTimeout, text)
            .naming_server(&server)
            .with_hint("raise the server's \"maxConcurrency\" or the call's timeout")
    }

    fn server(&self) -> Arc<str> {
        self.connection.server().clone()
    }
}

fn caused_by(error: Error, cause: Option<&Error>) -> Error {
    match cause {
        Some(cause) => error.caused_by(cause.clone()),
        None => error,
    }
}

async fn sleep_until(connection: &Connection, at: Option<Duration>) {
    match at {
        Some(at) if at > connection.clock().now() => connection.clock().sleep_until(at).await,
        _ => std::future::pending().await,
    }
}
