//! Owns the thread that watches the mailbox for runtimes without libuv, and the function through which it calls.
//! Invariant: the function is not touched after its environment has gone. Deno tells that only to a cleanup hook: it runs
//! no finalizers in a worker that is terminated.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::rc::{Rc, Weak};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpool::Manager;
use mcpool::host::{Letter, Mailbox};
use napi::{Result, check_status, sys};

use super::managers::Managers;
use super::report;
use crate::post::Post;

/// A key that nobody waits under.
const NOBODY: u64 = 0;

/// The function; `None` when its environment has gone.
struct Caller(Mutex<Option<sys::napi_threadsafe_function>>);

// SAFETY: this pointer is what Node-API gives out for use by other threads.
unsafe impl Send for Caller {}
// SAFETY: as above.
unsafe impl Sync for Caller {}

/// The watch on a mailbox.
pub(crate) struct Thread {
    env: sys::napi_env,
    caller: Arc<Caller>,
    managers: Arc<Managers>,
}

/// What ends with the environment.
struct Ending {
    mailbox: Arc<Mailbox>,
    caller: Arc<Caller>,
    drained: SyncSender<()>,
    managers: Arc<Managers>,
}

/// What the function brings along.
struct Context {
    post: Weak<Post>,
    mailbox: Arc<Mailbox>,
    caller: Arc<Caller>,
    drained: SyncSender<()>,
}

impl Thread {
    pub(crate) fn start(env: sys::napi_env, post: &Rc<Post>) -> Result<Thread> {
        let caller = Arc::new(Caller(Mutex::new(None)));
        let (drained, drain) = sync_channel(1);
        let drained_at_end = drained.clone();
        let mailbox = post.mailbox.clone();
        let context = Context {
            post: Rc::downgrade(post),
            mailbox: mailbox.clone(),
            caller: caller.clone(),
            drained,
        };
        let data: *mut c_void = Box::into_raw(Box::new(context)).cast();
        let (mut function, name) = (null_mut(), crate::text::to_js(env, "mcpool"));
        let (end, call) = (Some(on_end as _), Some(on_call as _));
        // SAFETY: the context goes with the function, in `on_end`.
        unsafe {
            check_status!(sys::napi_create_threadsafe_function(
                env,
                null_mut(),
                null_mut(),
                name,
                0,
                1,
                data,
                end,
                data,
                call,
                &mut function
            ))?;
            sys::napi_unref_threadsafe_function(env, function);
        }
        *caller.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(function);
        let managers = Arc::<Managers>::default();
        let ending = Ending {
            mailbox: mailbox.clone(),
            caller: caller.clone(),
            drained: drained_at_end,
            managers: managers.clone(),
        };
        let ending: *mut c_void = Box::into_raw(Box::new(ending)).cast();
        // SAFETY: the hook runs once, when the environment goes, and frees its data.
        check_status!(unsafe { sys::napi_add_env_cleanup_hook(env, Some(on_cleanup), ending) })?;
        let theirs = caller.clone();
        let watching = move || watch(&mailbox, &theirs, &drain);
        std::thread::Builder::new()
            .name("mcpool-wake".into())
            .spawn(watching)
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(Thread { env, caller, managers })
    }

    pub(crate) fn adopt(&self, manager: &Arc<Manager>) {
        self.managers.add(manager);
    }

    pub(crate) fn hold(&self, hold: bool) {
        let function = self.caller.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = *function {
            // SAFETY: the environment has not gone, and this is its thread.
            unsafe {
                if hold {
                    sys::napi_ref_threadsafe_function(self.env, function);
                } else {
                    sys::napi_unref_threadsafe_function(self.env, function);
                }
            }
        }
    }
}

fn watch(mailbox: &Mailbox, caller: &Caller, drained: &Receiver<()>) {
    loop {
        mailbox.wait(Duration::MAX);
        {
            let function = caller.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(function) = *function else { return };
            let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
            // SAFETY: it is there while the lock shows it.
            unsafe { sys::napi_call_threadsafe_function(function, null_mut(), mode) };
        }
        // The descriptor stays readable until the drain, so without this wait the loop would spin.
        if drained.recv().is_err() {
            return;
        }
    }
}

unsafe extern "C" fn on_call(
    env: sys::napi_env,
    _function: sys::napi_value,
    context: *mut c_void,
    _data: *mut c_void,
) {
    // SAFETY: the context lives until `on_end`.
    let context = unsafe { &*context.cast::<Context>() };
    if let (Some(post), false) = (context.post.upgrade(), env.is_null()) {
        post.hand_over(|deliver, arguments| {
            let (mut global, mut answer) = (null_mut(), null_mut());
            // SAFETY: a handle scope is open; the caller's callback scope runs the microtasks.
            let status = unsafe {
                sys::napi_get_global(env, &mut global);
                let (count, first) = (arguments.len(), arguments.as_ptr());
                sys::napi_call_function(env, global, deliver, count, first, &mut answer)
            };
            report(env, status)
        });
    }
    let _ = context.drained.try_send(());
}

unsafe extern "C" fn on_end(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: gives back what `start` made.
    let context = unsafe { Box::from_raw(data.cast::<Context>()) };
    context.caller.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(post) = context.post.upgrade() {
        post.end();
    }
    // Wakes the thread so that it ends.
    context.mailbox.post(NOBODY, Letter::Json(String::new()));
}

/// Calls nothing of Node-API: in Deno, the environment has gone already.
unsafe extern "C" fn on_cleanup(data: *mut c_void) {
    // SAFETY: gives back what `start` made.
    let ending = unsafe { Box::from_raw(data.cast::<Ending>()) };
    ending.caller.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    ending.managers.close();
    // Wakes the thread so that it ends, whichever of the two it waits for.
    ending.mailbox.post(NOBODY, Letter::Json(String::new()));
    let _ = ending.drained.try_send(());
}
