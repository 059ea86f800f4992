//! Owns waking the JavaScript thread for letters: libuv watches the mailbox's descriptor on that thread or, in a
//! runtime without libuv, a small thread of ours watches it and calls.

use std::rc::Rc;
use std::sync::Arc;

use mcpool::Manager;
use napi::{Result, sys};

use crate::post::Post;

mod managers;
#[cfg_attr(windows, path = "wake/no_poll.rs")]
mod poll;
mod thread;
#[cfg(unix)]
mod uv;

pub(crate) enum Wake {
    Poll(poll::Poll),
    Thread(thread::Thread),
}

impl Wake {
    pub(crate) fn start(env: sys::napi_env, post: &Rc<Post>, watch: bool) -> Result<Wake> {
        let watched = if watch { poll::Poll::start(env, post)? } else { None };
        match watched {
            Some(poll) => Ok(Wake::Poll(poll)),
            None => thread::Thread::start(env, post).map(Wake::Thread),
        }
    }

    /// Closes this manager when the JavaScript thread ends, unless finalizers do that: Node runs them.
    pub(crate) fn adopt(&self, manager: &Arc<Manager>) {
        match self {
            Wake::Poll(_) => {}
            Wake::Thread(thread) => thread.adopt(manager),
        }
    }

    /// Whether the process must stay alive.
    pub(crate) fn hold(&self, hold: bool) {
        match self {
            Wake::Poll(poll) => poll.hold(hold),
            Wake::Thread(thread) => thread.hold(hold),
        }
    }
}

/// Makes an error that `deliver` threw an uncaught exception, as in any other callback. Returns whether there was none.
fn report(env: sys::napi_env, status: sys::napi_status) -> bool {
    if status != sys::Status::napi_pending_exception {
        return status == sys::Status::napi_ok;
    }
    let mut exception = std::ptr::null_mut();
    // SAFETY: `env` is the environment of this thread, with an exception pending.
    unsafe {
        if sys::napi_get_and_clear_last_exception(env, &mut exception) == sys::Status::napi_ok {
            sys::napi_fatal_exception(env, exception);
        }
    }
    false
}
