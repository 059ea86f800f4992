//! Owns calls to a server about which somebody is being asked first: each waits for the answer, then goes on its way.

use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::pending::PendingCall;
use super::{CallHandle, Handle};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::Waiter;
use crate::runtime;
use crate::sync::lock;

/// A call and how far it has come.
pub(super) struct AwaitingTrust(Mutex<Progressed>);

enum Progressed {
    Waiting(Option<AbortHandle>),
    Begun(CallHandle),
    GivenUp,
}

/// Begins the errand on the connection, once that is held; within the call's own time.
pub(super) fn start(
    server: &str,
    held: impl Future<Output = Result<Arc<Connection>>> + Send + 'static,
    deadline: Instant,
    waiter: Waiter,
    pending: impl FnOnce(Arc<Connection>) -> PendingCall + Send + 'static,
) -> CallHandle {
    let awaiting_trust = Arc::new(AwaitingTrust(Mutex::new(Progressed::Waiting(None))));
    let (mine, server) = (awaiting_trust.clone(), server.to_owned());
    // Held until the task is noted: whoever gives up finds it.
    let mut progressed = lock(&awaiting_trust.0);
    let task = runtime::spawn(async move {
        let held = timeout_at(deadline, held).await.unwrap_or_else(|_| Err(late(&server)));
        let mut progressed = lock(&mine.0);
        if let Progressed::GivenUp = *progressed {
            return;
        }
        match held {
            Ok(connection) => {
                connection.wake();
                *progressed = Progressed::Begun(pending(connection).start(waiter));
            }
            Err(error) => waiter.finish(Err(error.with_executed(Executed::No))),
        }
    });
    *progressed = Progressed::Waiting(Some(task.abort_handle()));
    drop(progressed);
    CallHandle(ProcessLocal::new(Handle::AwaitingTrust(awaiting_trust)))
}

impl AwaitingTrust {
    pub(super) fn cancel(&self) {
        let progressed = std::mem::replace(&mut *lock(&self.0), Progressed::GivenUp);
        match progressed {
            Progressed::Waiting(Some(task)) => task.abort(),
            Progressed::Begun(call) => call.cancel(),
            Progressed::Waiting(None) | Progressed::GivenUp => {}
        }
    }
}

fn late(server: &str) -> Error {
    let text =
        format!("Nobody has said in time for the call whether server \"{server}\" is trusted");
    Error::new(ErrorKind::ToolTimeout, text).with_server(server)
}
