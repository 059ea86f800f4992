//! Owns request timeouts: arrived data is read first, then the server is notified and the waiter gets the error.

use std::sync::Weak;
use std::time::Duration;

use super::{Session, SessionEvent};
use crate::error::{Error, ErrorKind, Executed};
use crate::runtime;
use crate::sync::lock;

/// One task per session wakes for the earliest deadline; calls that finish in time never touch a timer.
pub(super) async fn watch(session: Weak<Session>) {
    loop {
        let Some(strong) = session.upgrade() else { return };
        let now_us = strong.now_us();
        let due_us = lock(&strong.table).first_due(now_us);
        if let Some(due_us) = due_us {
            strong.read_arrived(Duration::from_micros(now_us - due_us)).await;
        }
        let expired = strong.change_table(|table| {
            let is_over = table.closed().is_some() && table.is_empty();
            (!is_over).then(|| table.expire(now_us))
        });
        let Some((expired, next)) = expired else { return };
        let expired: Vec<_> = expired
            .into_iter()
            .map(|(id, pending)| (strong.send_cancelled(id, "timed out"), pending))
            .collect();
        if expired.iter().any(|(left, pending)| *left && pending.is_call()) {
            strong.emit(SessionEvent::Silent);
        }
        for (left, pending) in expired {
            let error = strong.timed_out(pending.is_call(), left);
            pending.finish(Err(error));
        }
        let moved = strong.deadline_moved.notified();
        match next {
            Some(at) => {
                let wait =
                    Duration::from_micros(at.saturating_sub(now_us)) + Duration::from_millis(1);
                let _ = runtime::at_most(wait, moved).await;
            }
            None => moved.await,
        }
    }
}

impl Session {
    /// The error of a request that timed out; `left` is whether it was sent.
    fn timed_out(&self, is_call: bool, left: bool) -> Error {
        let (what, executed) = match (is_call, left) {
            (true, true) => ("The tool did not answer in time", Some(Executed::Unknown)),
            (true, false) => ("The call could not be sent in time", Some(Executed::No)),
            (false, _) => ("A request was not answered in time", None),
        };
        let hint = match is_call {
            true => "raise the call's timeout or the server's \"toolTimeout\"",
            false => "raise the server's \"requestTimeout\"",
        };
        let error = Error::new(ErrorKind::ToolTimeout, what).with_server(&self.server);
        let error = error.with_hint(hint);
        executed.into_iter().fold(error, Error::with_executed)
    }
}
