//! Owns the waiter of a call: a Rust future, a host loop, or a proxy of one of them.
//! Invariant: a waiter gets the outcome once; delivering it consumes the waiter.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Letter, Mailbox};
use crate::error::Result;
use crate::question::Question;
use crate::result::ToolResult;

/// A host loop that waits for a call: its mailbox and its key.
#[derive(Clone)]
pub struct Address {
    /// The loop's mailbox.
    pub mailbox: Arc<Mailbox>,
    /// The loop's own key of this call.
    pub key: u64,
}

/// The waiter of a call.
pub(crate) enum Waiter {
    Future(oneshot::Sender<Result<ToolResult>>),
    Loop(Address),
    /// A proxy that handles the end of the call before the actual waiter does.
    Proxy(Arc<dyn WaiterProxy>),
}

/// Stands between a call and its waiter.
pub(crate) trait WaiterProxy: Send + Sync {
    /// The call has ended with this outcome.
    fn finish(self: Arc<Self>, outcome: Result<ToolResult>);
    /// Passes a question to the waiter; see [`Waiter::ask`].
    fn ask(&self, question: Question);
    /// The server has reported progress.
    fn note_progress(&self) {}
}

impl Waiter {
    /// Passes a question to the waiter. A Rust future cannot answer: the question is dropped, which ends it.
    pub(crate) fn ask(&self, question: Question) {
        match self {
            Waiter::Future(_) => {}
            Waiter::Loop(Address { mailbox, key }) => {
                mailbox.post(*key, Letter::Question(question));
            }
            Waiter::Proxy(proxy) => proxy.ask(question),
        }
    }

    /// Notifies a proxy, which may track the time of the call, of progress.
    pub(crate) fn note_progress(&self) {
        if let Waiter::Proxy(proxy) = self {
            proxy.note_progress();
        }
    }

    pub(crate) fn finish(self, outcome: Result<ToolResult>) {
        match self {
            // A dropped receiver has cancelled.
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
