//! Owns calls that come back: those whose session has proved that they were never read. They go to whoever sent them,
//! who sends them again; who gives one up by its old id finds it there.
//! Invariant: between its old session and its new one a call can be given up at any time, and then nobody hears of it.

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use super::Session;
use crate::call::{Arguments, CallOptions, Waiter};
use crate::error::Error;
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
