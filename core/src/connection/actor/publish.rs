//! Owns publishing: outcomes to the askers, the state to all readers, events and log lines to the managers.

use std::sync::Arc;

use super::super::{ConnectionShared, Published};
use super::{Actor, Phase};
use crate::error::{Error, ErrorKind};
use crate::subscribers::Severity;

/// The change that is emitted as an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EmittedChange {
    Status,
    Tools,
}

impl Actor {
    /// Answers the askers whose outcome is decided.
    pub(super) fn answer_waiters(&mut self) {
        let outcome = match (self.phase, &self.error) {
            (Phase::Dialing { .. }, _) => return,
            (Phase::Ready { .. }, _) => Ok(()),
            (Phase::Closed, _) => Err(Error::closed()),
            (_, Some(error)) => Err(error.clone()),
            (_, None) => Err(Error::disconnected(&self.shared.server)),
        };
        let still_hoping = matches!(self.phase, Phase::Waiting { .. } | Phase::Idle);
        let awaiting =
            self.awaiting.drain(if still_hoping { 0..0 } else { 0..self.awaiting.len() });
        for asker in self.connecting.drain(..).chain(awaiting) {
            let _ = asker.send(outcome.clone());
        }
    }

    /// Publishes the state of the current phase; emits what changed.
    pub(super) fn publish(&mut self, change: EmittedChange) {
        let before = self.shared.published.load_full();
        let retry_at = match (self.phase, &self.timer) {
            (Phase::Waiting { .. }, Some(timer)) => Some(timer.due),
            _ => None,
        };
        let published = Arc::new(Published {
            state: self.phase.state(),
            attempt: self.phase.attempts(),
            reason: self.phase.reason(),
            retry_at,
            restarts: self.ups.saturating_sub(1),
            error: self.error.clone(),
            tools: self.tools.clone(),
            live: self.link.as_ref().map(|link| link.live.clone()),
        });
        let ConnectionShared { subscribers, server, clock, changed, .. } = &*self.shared;
        let status = (change == EmittedChange::Status).then(|| published.status_event(clock));
        let other_tools = !before.tools.is_same(&published.tools)
            || (before.live.is_some() != published.live.is_some()
                && !published.tools.list.is_empty());
        let mask = published.mask();
        // Done before the tools are visible, because some may have to be withheld.
        subscribers.review_tools(server, &self.tools, &mask);
        self.shared.published.store(published);
        subscribers.invalidate_catalogs();
        changed.send_replace(());
        if let Some(status) = status {
            subscribers.emit(server, status);
        }
        if other_tools {
            subscribers.report_tools(server, &self.tools, &mask);
        }
    }

    /// Logs every restart decision and failed attempt as an error, and a recovery too.
    pub(super) fn log_change(&self, before: Phase) {
        let ConnectionShared { subscribers, server, .. } = &*self.shared;
        let words = self.error.as_ref().map_or(String::new(), Error::message_with_output);
        let what = match before {
            Phase::Dialing { .. } => format!("attempt {} failed", before.attempts()),
            _ => "connection lost".to_owned(),
        };
        // The code that a call gets now: after a loss an attempt follows, after a failed attempt a wait or nothing.
        let code = match (before, self.phase) {
            (Phase::Ready { .. }, Phase::Waiting { .. }) => ErrorKind::RestartInProgress.code(),
            _ => ErrorKind::RestartFailed.code(),
        };
        match self.phase {
            Phase::Waiting { reason, delay, .. } => {
                let (reason, delay) = (reason.name(), delay.as_millis());
                let line =
                    format!("{what} ({reason}): {words}; next attempt in {delay} ms [{code}]");
                subscribers.log(Severity::Error, server, &line);
            }
            Phase::Down { reason, .. } => {
                let reason = reason.name();
                let line = format!("{what} ({reason}): {words}; no further attempt [{code}]");
                subscribers.log(Severity::Error, server, &line);
            }
            Phase::Ready { .. } if matches!(before, Phase::Dialing { .. }) && self.ups > 1 => {
                subscribers.log(Severity::Info, server, "connected again");
            }
            _ => {}
        }
    }
}
