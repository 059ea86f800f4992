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
    /// Sends it again; if that is not possible, returns why.
    fn resend(self: Arc<Self>, call: UnreadCall) -> Result<(), (Waiter, Error)>;
    /// Whether it was closed, so that the end of its calls is no loss.
    fn is_closed(&self) -> bool;
}

/// The error of a call that ends with its session: the end of its own manager is `CLOSED`, not a loss.
pub(super) fn end_error(sender: &Weak<dyn CallSender>, server: &str, error: Error) -> Error {
    if !sender.upgrade().is_none_or(|sender| sender.is_closed()) {
        return error;
    }
    Error::closed_during_call(server, &error)
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
        let (server, tool) = (self.server.clone(), origin.tool);
        let (Some(session), Some(open_sender)) = (self.me.upgrade(), sender.upgrade()) else {
            return waiter.finish(Err(end_error(&sender, &server, error)));
        };
        tracing::debug!(server = &*server, tool = &*tool, "a call that was not read is sent again");
        let call =
            UnreadCall { session, error, server, tool, arguments, options, began, waiter, handle };
        if let Err((waiter, error)) = open_sender.resend(call) {
            let error = error.with_executed(Executed::No);
            waiter.finish(Err(end_error(&sender, &self.server, error)));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    struct Sender {
        is_closed: bool,
    }

    impl CallSender for Sender {
        fn resend(self: Arc<Self>, call: UnreadCall) -> Result<(), (Waiter, Error)> {
            Err((call.waiter, call.error))
        }

        fn is_closed(&self) -> bool {
            self.is_closed
        }
    }

    #[test]
    fn the_end_of_the_own_manager_is_closed_and_no_loss() {
        let lost = || Error::new(ErrorKind::ConnectionLost, "lost").with_executed(Executed::No);
        let end_of = |sender: &Arc<dyn CallSender>| end_error(&Arc::downgrade(sender), "s", lost());
        let open: Arc<dyn CallSender> = Arc::new(Sender { is_closed: false });
        assert_eq!(end_of(&open), lost());
        let closed: Arc<dyn CallSender> = Arc::new(Sender { is_closed: true });
        let gone = Arc::downgrade(&open);
        drop(open);
        for error in [end_of(&closed), end_error(&gone, "s", lost())] {
            assert_eq!((error.kind(), error.executed()), (ErrorKind::Closed, Some(Executed::No)));
        }
    }
}
