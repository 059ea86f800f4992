//! Owns the libuv handle that watches the mailbox.
//! Invariant: the handle is closed before its environment goes, and freed in its close callback, as libuv demands.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};

use napi::{Result, check_status, sys};

use super::report;
use super::uv::{Handle, UV_POLL, UV_READABLE, Uv};
use crate::post::Post;

/// The watch on a mailbox.
pub(crate) struct Poll(Rc<Watch>);

struct Watch {
    uv: Uv,
    env: sys::napi_env,
    /// Null once closing.
    handle: Cell<Handle>,
    _memory: Box<[u128]>,
    held: Cell<bool>,
    post: Weak<Post>,
    hook: Cell<sys::napi_async_cleanup_hook_handle>,
}

impl Poll {
    /// Watches, if this runtime has libuv.
    pub(crate) fn start(env: sys::napi_env, post: &Rc<Post>) -> Result<Option<Poll>> {
        let Some(uv) = Uv::find() else { return Ok(None) };
        let mut event_loop = null_mut();
        // SAFETY: called on the environment's thread, as all of this.
        if unsafe { sys::napi_get_uv_event_loop(env, &mut event_loop) } != sys::Status::napi_ok {
            return Ok(None);
        }
        // SAFETY: the handle's memory is as large as libuv wants it and lives until its close callback.
        unsafe {
            let mut memory = vec![0u128; (uv.handle_size)(UV_POLL).div_ceil(16)].into_boxed_slice();
            let handle: Handle = memory.as_mut_ptr().cast();
            let descriptor = post.mailbox.descriptor();
            if (uv.poll_init)(event_loop.cast(), handle, descriptor) != 0 {
                return Ok(None);
            }
            let watch = Rc::new(Watch {
                uv,
                env,
                handle: Cell::new(handle),
                _memory: memory,
                held: Cell::new(false),
                post: Rc::downgrade(post),
                hook: Cell::new(null_mut()),
            });
            // The first member of every libuv handle belongs to its user.
            *handle.cast::<*const Watch>() = Rc::into_raw(watch.clone());
            (uv.let_go)(handle);
            (uv.poll_start)(handle, UV_READABLE, on_readable);
            let mut hook = null_mut();
            let added = sys::napi_add_async_cleanup_hook(env, Some(on_end), handle, &mut hook);
            let poll = Poll(watch);
            check_status!(added)?;
            poll.0.hook.set(hook);
            Ok(Some(poll))
        }
    }

    pub(crate) fn hold(&self, hold: bool) {
        let Watch { uv, handle, held, .. } = &*self.0;
        if held.replace(hold) != hold && !handle.get().is_null() {
            // SAFETY: the handle is not closing yet.
            unsafe { if hold { (uv.hold)(handle.get()) } else { (uv.let_go)(handle.get()) } }
        }
    }
}

impl Watch {
    fn close(&self) {
        let handle = self.handle.replace(null_mut());
        if !handle.is_null() {
            // SAFETY: it is closed once, on its own thread.
            unsafe { (self.uv.close)(handle, on_closed) };
        }
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// # Safety
/// `handle` is one that [`Poll::start`] made and whose close callback has not run.
unsafe fn watch_of(handle: Handle) -> *const Watch {
    // SAFETY: the caller's promise.
    unsafe { *handle.cast::<*const Watch>() }
}

unsafe extern "C" fn on_readable(handle: Handle, _status: c_int, _events: c_int) {
    // SAFETY: libuv calls this only for a handle that is open.
    let watch = unsafe { &*watch_of(handle) };
    let Some(post) = watch.post.upgrade() else { return };
    let env = watch.env;
    post.with_delivery(|| {
        post.hand_over(|deliver, arguments| {
            let (mut global, mut answer) = (null_mut(), null_mut());
            // SAFETY: a handle scope is open; the callback scope runs the microtasks before it returns.
            let status = unsafe {
                sys::napi_get_global(env, &mut global);
                let (count, first) = (arguments.len(), arguments.as_ptr());
                sys::napi_make_callback(env, null_mut(), global, deliver, count, first, &mut answer)
            };
            report(env, status)
        });
    });
}

/// The environment goes, and waits until the hook is removed.
unsafe extern "C" fn on_end(_hook: sys::napi_async_cleanup_hook_handle, data: *mut c_void) {
    // SAFETY: the hook is removed when the handle's close callback runs.
    let watch = unsafe { &*watch_of(data) };
    if let Some(post) = watch.post.upgrade() {
        post.end();
    }
    watch.close();
}

unsafe extern "C" fn on_closed(handle: Handle) {
    // SAFETY: gives back what `start` put there; libuv is done with the handle.
    unsafe {
        let watch = Rc::from_raw(watch_of(handle));
        if !watch.hook.get().is_null() {
            sys::napi_remove_async_cleanup_hook(watch.hook.get());
        }
    }
}
