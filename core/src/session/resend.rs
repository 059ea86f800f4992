//! Owns calls that come back: those whose session has proved that they were never read. They go to whoever sent them,
//! who sends them again; who gives one up by its old id finds it there.
//! Invariant: between its old session and its new one a call can be given up at any time, and then nobody hears of it.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::Session;
use super::table::Pending;
use crate::call::{Arguments, CallOptions};
use crate::error::{Error, Executed};
use crate::mailbox::Waiter;
use crate::sync::lock;

/// A call as its caller made it, kept until it is answered.
pub(crate) struct CallRequest {
    pub(crate) arguments: Arguments,
    pub(crate) options: CallOptions,
    pub(crate) sender: Weak<dyn Resubmit>,
}

/// Who sends a call again that was never read.
pub(crate) trait Resubmit: Send + Sync {
    fn resubmit(self: Arc<Self>, call: UnreadCall);
}

pub(crate) struct UnreadCall {
    /// The session that did not deliver it, and how it ended.
    pub(crate) session: Arc<Session>,
    pub(crate) error: Error,
    pub(crate) server: Arc<str>,
    /// The server's own name of the tool.
    pub(crate) tool: Arc<str>,
    pub(crate) arguments: Arguments,
    pub(crate) options: CallOptions,
    pub(crate) began: Instant,
    pub(crate) waiter: Waiter,
    pub(crate) forwarded: Arc<Forwarded>,
}

impl Session {
    /// Gives a call that was never read back to whoever sent it.
    pub(super) fn give_back(&self, pending: Pending, error: &Error, forwarded: Arc<Forwarded>) {
        let error = error.clone().with_executed(Executed::No);
        let began = self.started + Duration::from_micros(pending.started_us());
        let Some((waiter, origin, Some(request))) = pending.into_call() else { return };
        let CallRequest { arguments, options, sender } = *request;
        let (Some(session), Some(sender)) = (self.me.upgrade(), sender.upgrade()) else {
            return waiter.finish(Err(error));
        };
        let (server, tool) = (self.server.clone(), origin.tool);
        tracing::debug!(server = &*server, tool = &*tool, "a call that was not read is sent again");
        sender.resubmit(UnreadCall {
            session,
            error,
            server,
            tool,
            arguments,
            options,
            began,
            waiter,
            forwarded,
        });
    }
}

/// Where a call went on.
#[derive(Default)]
pub(crate) struct Forwarded(Mutex<Place>);

type Cancel = Box<dyn FnOnce() + Send>;

#[derive(Default)]
enum Place {
    #[default]
    Nowhere,
    /// It is under way again; this gives it up.
    UnderWay(Cancel),
    GivenUp,
}

impl Forwarded {
    /// The call goes on; `cancel` gives it up, now if that was asked for meanwhile.
    pub(crate) fn set(&self, cancel: impl FnOnce() + Send + 'static) {
        let mut place = lock(&self.0);
        match &*place {
            Place::GivenUp => {
                drop(place);
                cancel();
            }
            _ => *place = Place::UnderWay(Box::new(cancel)),
        }
    }

    pub(crate) fn cancel(&self) {
        let place = std::mem::replace(&mut *lock(&self.0), Place::GivenUp);
        if let Place::UnderWay(cancel) = place {
            cancel();
        }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        matches!(*lock(&self.0), Place::GivenUp)
    }
}
