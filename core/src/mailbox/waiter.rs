//! Owns who waits for the end of a call: a Rust future, a host loop, or a proxy of one of them.
//! Invariant: a waiter is told the end once; telling it takes it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Letter, Mailbox};
use crate::error::Result;
use crate::question::Question;
use crate::result::ToolResult;

/// A host loop that waits for a call: where the letters go, and under which key.
#[derive(Clone)]
pub struct Address {
    /// The loop's mailbox.
    pub mailbox: Arc<Mailbox>,
    /// The loop's own name for this call.
    pub key: u64,
}

/// Who waits for the end of a call.
pub(crate) enum Waiter {
    Future(oneshot::Sender<Result<ToolResult>>),
    Loop(Address),
    /// Somebody who acts on the end of the call before the one who waits hears of it.
    Proxy(Arc<dyn WaiterProxy>),
}

/// Stands between a call and the one who waits for it.
pub(crate) trait WaiterProxy: Send + Sync {
    /// The call has ended, as far as it went.
    fn finish(self: Arc<Self>, outcome: Result<ToolResult>);
    /// Puts a question to the one who waits; see [`Waiter::ask`].
    fn ask(&self, question: Question);
    /// The server has told of progress.
    fn note_progress(&self) {}
}

impl Waiter {
    /// Puts a question to the one who waits. A Rust future answers none: the question is dropped, which ends it.
    pub(crate) fn ask(&self, question: Question) {
        match self {
            Waiter::Future(_) => {}
            Waiter::Loop(Address { mailbox, key }) => {
                mailbox.post(*key, Letter::Question(question));
            }
            Waiter::Proxy(proxy) => proxy.ask(question),
        }
    }

    /// Tells a proxy, which may keep the time of the call, that there is progress.
    pub(crate) fn note_progress(&self) {
        if let Waiter::Proxy(proxy) = self {
            proxy.note_progress();
        }
    }

    pub(crate) fn finish(self, outcome: Result<ToolResult>) {
        match self {
            // A receiver that is gone has cancelled.
            Waiter::Future(sender) => drop(sender.send(outcome)),
            Waiter::Proxy(proxy) => proxy.finish(outcome),
            Waiter::Loop(Address { mailbox, key }) => mailbox.post(
                key,
                match outcome {
                    Ok(result) => Letter::Result(result),
                    Err(error) => Letter::Failed(error),
                },
            ),
        }
    }
}
