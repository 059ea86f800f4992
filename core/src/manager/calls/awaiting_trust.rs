//! Owns calls whose server waits for a trust decision. Each waits within its own time limit, then becomes a pending
//! call.

use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;
use tokio::time::timeout_at;

use super::handle::{CallHandle, Handle};
use super::pending::{CallSpec, PendingCall};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::mailbox::Waiter;
use crate::runtime;
use crate::sync::lock;

/// A call that waits for the decision, or was started after it.
pub(super) struct AwaitingTrust(Mutex<AwaitingState>);

enum AwaitingState {
    Waiting(Option<AbortHandle>),
    Started(CallHandle),
    Cancelled,
}

/// Starts the call on the connection that `held` resolves to.
pub(super) fn start(
    server: &str,
    held: impl Future<Output = Result<Arc<Connection>>> + Send + 'static,
    call: CallSpec,
    waiter: Waiter,
) -> CallHandle {
    let awaiting_trust = Arc::new(AwaitingTrust(Mutex::new(AwaitingState::Waiting(None))));
    let (shared, server) = (awaiting_trust.clone(), server.to_owned());
    // Locked until the task is stored, so that a cancellation finds it.
    let mut state = lock(&awaiting_trust.0);
    let task = runtime::spawn(async move {
        let held = timeout_at(call.time_budget.deadline(), held).await;
        let held = held.unwrap_or_else(|_| Err(timed_out(&server)));
        let mut state = lock(&shared.0);
        if let AwaitingState::Cancelled = *state {
            return;
        }
        match held {
            Ok(connection) => {
                connection.wake();
                *state = AwaitingState::Started(PendingCall::new(connection, call).start(waiter));
            }
            Err(error) => waiter.finish(Err(error.with_executed(Executed::No))),
        }
    });
    *state = AwaitingState::Waiting(Some(task.abort_handle()));
    drop(state);
    CallHandle::new(Handle::AwaitingTrust(awaiting_trust))
}

impl AwaitingTrust {
    pub(super) fn cancel(&self) {
        let state = std::mem::replace(&mut *lock(&self.0), AwaitingState::Cancelled);
        match state {
            AwaitingState::Waiting(Some(task)) => task.abort(),
            AwaitingState::Started(call) => call.cancel(),
            AwaitingState::Waiting(None) | AwaitingState::Cancelled => {}
        }
    }
}

fn timed_out(server: &str) -> Error {
    let text =
        format!("Nobody has said in time for the call whether server \"{server}\" is trusted");
    Error::new(ErrorKind::ToolTimeout, text).with_server(server)
}
