//! Owns calls that the server provably never read: each is returned to its sender, which sends it again. The call's id
//! in this session still cancels it.
//! Invariant: a call can be cancelled at any time between its old and its new session, and then gets no outcome.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::Session;
use super::table::PendingRequest;
use crate::call::{Arguments, CallOptions};
use crate::error::{Error, Executed};
use crate::mailbox::Waiter;
use crate::sync::lock;

/// A call as its caller made it, kept until it is answered.
pub(crate) struct CallRequest {
    pub(crate) arguments: Arguments,
    pub(crate) options: CallOptions,
    pub(crate) sender: Weak<dyn CallSender>,
}

/// The sender of a call, which resends it if it was never read.
pub(crate) trait CallSender: Send + Sync {
    fn resend(self: Arc<Self>, call: UnreadCall);
}

/// A call that was never read.
pub(crate) struct UnreadCall {
    /// The session that did not deliver it, and its error.
    pub(crate) session: Arc<Session>,
    pub(crate) error: Error,
    pub(crate) server: Arc<str>,
    /// The raw tool name.
    pub(crate) tool: Arc<str>,
    pub(crate) arguments: Arguments,
    pub(crate) options: CallOptions,
    pub(crate) began: Instant,
    pub(crate) waiter: Waiter,
    pub(crate) handle: Arc<ResendHandle>,
}

impl Session {
    /// Returns a call that was never read to its sender.
    pub(super) fn return_unread(
        &self,
        pending: PendingRequest,
        error: &Error,
        handle: Arc<ResendHandle>,
    ) {
        let error = error.clone().with_executed(Executed::No);
        let began = self.started + Duration::from_micros(pending.started_us());
        let Some((waiter, origin, Some(request))) = pending.into_call() else { return };
        let CallRequest { arguments, options, sender } = *request;
        let (Some(session), Some(sender)) = (self.me.upgrade(), sender.upgrade()) else {
            return waiter.finish(Err(error));
        };
        let (server, tool) = (self.server.clone(), origin.tool);
        tracing::debug!(server = &*server, tool = &*tool, "a call that was not read is sent again");
        sender.resend(UnreadCall {
            session,
            error,
            server,
            tool,
            arguments,
            options,
            began,
            waiter,
            handle,
        });
    }
}

/// Cancels a call that is sent again.
#[derive(Default)]
pub(crate) struct ResendHandle(Mutex<ResendState>);

type Cancel = Box<dyn FnOnce() + Send>;

#[derive(Default)]
enum ResendState {
    #[default]
    Unsent,
    Sent(Cancel),
    Cancelled,
}

impl ResendHandle {
    /// The call was sent again; `cancel` cancels it, at once if a cancellation came in between.
    pub(crate) fn set_sent(&self, cancel: impl FnOnce() + Send + 'static) {
        let mut state = lock(&self.0);
        match &*state {
            ResendState::Cancelled => {
                drop(state);
                cancel();
            }
            _ => *state = ResendState::Sent(Box::new(cancel)),
        }
    }

    pub(crate) fn cancel(&self) {
        let state = std::mem::replace(&mut *lock(&self.0), ResendState::Cancelled);
        if let ResendState::Sent(cancel) = state {
            cancel();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(*lock(&self.0), ResendState::Cancelled)
    }
}
