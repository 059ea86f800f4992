//! Owns the one tokio runtime of the process: one worker, started on first use, never by loading the library.
//! Calls over pipes do not pass through it; for HTTP a second worker only cost wake-ups (a fifth of a call's CPU).
//! Whoever may be the first to need it starts it, and fails where the system has nothing to start it with; what comes after
//! finds it running. Futures that mcpool returns only wait on channels, so callers may poll them from any executor.

use std::cell::Cell;
use std::future::Future;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{AbortHandle, JoinHandle};

use crate::descriptors::{check_room_for, refused};
use crate::error::{Error, ErrorKind, Result};
use crate::fork::Startable;

thread_local! {
    static OWN_THREAD: Cell<bool> = const { Cell::new(false) };
}

static RUNTIME: Startable<Runtime> = Startable::new(|| {
    const WHAT: &str = "mcpool's own work";
    // Where another crate has switched tokio's signals on, tokio panics for want of a descriptor.
    check_room_for(WHAT)?;
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("mcpool")
        .on_thread_start(|| OWN_THREAD.set(true))
        // For names of hosts and for the cache; neither is urgent.
        .max_blocking_threads(8)
        .enable_all()
        .build()
        .map_err(|error| refused(WHAT, &error))
});

/// Starts the runtime, unless it runs already. Every way into the core does so before it needs one.
pub fn start() -> Result<()> {
    RUNTIME.get().map(drop)
}

/// The runtime's handle.
pub(crate) fn handle() -> &'static Handle {
    match RUNTIME.get() {
        Ok(runtime) => runtime.handle(),
        Err(error) => panic!("{error}"),
    }
}

/// Whether the runtime's work waits while this thread does.
pub(crate) fn is_own_thread() -> bool {
    OWN_THREAD.get()
}

/// Runs `future` on the pool's own runtime. Panics where that cannot start, which [`start`] tells.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    handle().spawn(future)
}

/// Runs work that waits for the disk, or for another process's lock on it, on a thread of its own: the runtime's few
/// blocking threads are what connections find their hosts and their caches on.
pub async fn unblock<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    // Whoever waits for the work needs it, and should not hear of a failure when the work was done.
    start()?;
    let (tell, told) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("mcpool-disk".to_owned());
    let ended = match thread.spawn(move || drop(tell.send(work()))) {
        Ok(_) => told.await.ok(),
        Err(_) => None,
    };
    ended.unwrap_or_else(|| Err(Error::new(ErrorKind::Closed, "The work could not be done")))
}

/// From so many bytes on, reading what a server sent is no work for the worker that serves all connections.
const LONG: usize = 64 << 10;

/// Reads so many bytes that a server sent: here, or on a thread of its own where they are many.
pub(crate) async fn read_off_worker<T: Send + 'static>(
    bytes: usize,
    read: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes < LONG {
        return read();
    }
    match handle().spawn_blocking(read).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Runs a verb that is told to `tell`. Where the runtime cannot start, that is what the verb says without it, or why not.
pub(crate) fn spawn_verb<T: Send + 'static>(
    verb: impl Future<Output = Result<T>> + Send + 'static,
    tell: impl FnOnce(Result<T>) + Send + 'static,
) -> Option<AbortHandle> {
    match start() {
        Ok(()) => Some(spawn(async move { tell(verb.await) }).abort_handle()),
        Err(error) => {
            tell(verb.now_or_never().unwrap_or(Err(error)));
            None
        }
    }
}

/// Blocks this thread until `future` is done; for the command line and other plain threads. Panics as [`spawn`] does.
pub fn block_on<F: Future>(future: F) -> F::Output {
    handle().block_on(future)
}

/// How many tasks have not ended; for tests that look for what was left behind.
#[doc(hidden)]
pub fn alive_tasks() -> usize {
    handle().metrics().num_alive_tasks()
}
