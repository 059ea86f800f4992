//! Owns the caller's side of a call in progress: the handle that cancels it, and the future of its result.
//! Invariant: dropping the future before its result cancels the call; in a forked child nothing is cancelled.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::call_events::CallEvents;
use super::deferred::DeferredCall;
use super::pending::CallTask;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::ProcessLocal;
use crate::result::ToolResult;
use crate::session::Session;

/// A call in progress, which can be cancelled.
#[derive(Clone)]
pub struct CallHandle(ProcessLocal<Handle>);

#[derive(Clone)]
pub(super) enum Handle {
    /// Sent; the manager does not keep it.
    Sent(Arc<Session>, u64),
    /// Not sent yet, or kept to be sent again.
    CallTask(Arc<CallTask>),
    /// Waits for its connection.
    Deferred(Arc<DeferredCall>),
    /// One of the others, with events.
    CallEvents(Arc<CallEvents>, Box<CallHandle>),
}

impl CallHandle {
    pub(super) fn new(handle: Handle) -> Self {
        CallHandle(ProcessLocal::new(handle))
    }

    /// Ends a call that was sent and not kept, because its manager has released the connection. Others notice it by
    /// themselves.
    pub(super) fn end_if_sent(&self) {
        if let Handle::Sent(session, id) = &*self.0 {
            session.end_call(*id);
        }
    }

    /// Cancels the call: the server is notified, and no letter follows.
    pub fn cancel(&self) {
        if self.0.is_inherited() {
            return;
        }
        match &*self.0 {
            Handle::Sent(session, id) => session.cancel(*id),
            Handle::CallTask(task) => task.cancel(),
            Handle::Deferred(call) => call.cancel(),
            Handle::CallEvents(call_events, call) => {
                call_events.emit_cancelled();
                call.cancel();
            }
        }
    }
}

/// Waits for a call's result; dropping it earlier cancels the call.
pub(super) struct CallFuture {
    handle: Option<CallHandle>,
    answer: oneshot::Receiver<Result<ToolResult>>,
    failed: Option<Error>,
}

impl CallFuture {
    pub(super) fn new(
        sent: Result<CallHandle>,
        answer: oneshot::Receiver<Result<ToolResult>>,
    ) -> Self {
        match sent {
            Ok(handle) => CallFuture { handle: Some(handle), answer, failed: None },
            Err(error) => CallFuture { handle: None, answer, failed: Some(error) },
        }
    }
}

impl Future for CallFuture {
    type Output = Result<ToolResult>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let outcome = std::task::ready!(Pin::new(&mut self.answer).poll(context));
        self.handle = None;
        Poll::Ready(outcome.unwrap_or_else(|_| {
            let gone = Error::new(ErrorKind::Closed, "The manager is gone");
            Err(gone.with_executed(Executed::Unknown))
        }))
    }
}

impl Drop for CallFuture {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.cancel();
        }
    }
}
