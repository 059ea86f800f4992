//! Owns the process's one tokio runtime: one worker, started on first use, never by loading the library. Calls over
//! pipes do not pass through it; for HTTP a second worker only added wake-ups (a fifth of a call's CPU). The first user
//! starts it and gets an error if the system refuses; later users find it running. Futures that mcpool returns only
//! wait on channels, so any executor may poll them.

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{AbortHandle, JoinHandle};

use crate::descriptors::{check_room_for, refused};
use crate::error::{Error, ErrorKind, Result};
use crate::fork::Startable;

#[cfg(test)]
pub(crate) mod simulated;

thread_local! {
    static OWN_THREAD: Cell<bool> = const { Cell::new(false) };
}

static RUNTIME: Startable<Runtime> = Startable::new(|| {
    const WHAT: &str = "mcpool's own work";
    // If another crate enables tokio's signals, tokio panics without a free descriptor.
    check_room_for(WHAT)?;
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("mcpool")
        .on_thread_start(|| OWN_THREAD.set(true))
        // For DNS lookups and the cache; neither is urgent.
        .max_blocking_threads(8)
        .enable_all()
        .build()
        .map_err(|error| refused(WHAT, &error))
});

/// Starts the runtime if it is not running. Every entry point of the core calls this first.
pub fn start() -> Result<()> {
    RUNTIME.get().map(drop)
}

/// The runtime's handle.
pub(crate) fn handle() -> &'static Handle {
    #[cfg(test)]
    if let Some(handle) = simulated::handle() {
        return handle;
    }
    match RUNTIME.get() {
        Ok(runtime) => runtime.handle(),
        Err(error) => panic!("{error}"),
    }
}

/// Whether this is a thread of the runtime, which must not block.
pub(crate) fn is_own_thread() -> bool {
    OWN_THREAD.get()
}

/// Spawns `future` on mcpool's runtime. Panics if that cannot start; [`start`] returns the error instead.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    handle().spawn(future)
}

/// Runs short blocking work (the cache, pins, much text) on one of the runtime's few blocking threads.
pub(crate) fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    #[cfg(test)]
    if simulated::handle().is_some() {
        return spawn(async { work() });
    }
    handle().spawn_blocking(work)
}

/// Runs blocking work (disk, file locks) on its own thread: the runtime's few blocking threads are for DNS lookups and
/// caches.
pub async fn unblock<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    // Checked first: the caller needs the runtime, and must not get an error after the work was done.
    start()?;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("mcpool-disk".to_owned());
    let ended = match thread.spawn(move || drop(sender.send(work()))) {
        Ok(_) => receiver.await.ok(),
        Err(_) => None,
    };
    ended.unwrap_or_else(|| Err(Error::new(ErrorKind::Closed, "The work could not be done")))
}

/// From this size on, parsing a server's message is moved off the worker that serves all connections.
const LONG_MESSAGE: usize = 64 << 10;

/// Parses a server's message of `bytes` bytes: here, or on a blocking thread if they are many.
pub(crate) async fn read_off_worker<T: Send + 'static>(
    bytes: usize,
    read: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes < LONG_MESSAGE {
        return read();
    }
    match spawn_blocking(read).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Waits for `future`, at most this long.
pub(crate) async fn at_most<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    #[cfg(not(test))]
    return tokio::time::timeout(limit, future).await.ok();
    #[cfg(test)]
    tokio::select! {
        biased;
        done = future => Some(done),
        () = simulated::sleep(limit) => None,
    }
}

/// Waits until this moment; in a simulation it has come.
pub(crate) async fn sleep_until(at: tokio::time::Instant) {
    #[cfg(test)]
    if simulated::handle().is_some() {
        return;
    }
    tokio::time::sleep_until(at).await;
}

/// Lets the tasks that are ready run, `turns` times. A task that yields runs again after the runtime has polled for
/// readable descriptors, so data that has arrived is read in these turns.
pub(crate) async fn yield_turns(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

/// Runs `work` in its own task, so that a panic ends only that; `None` if it panicked. Dropping the future ends the task.
pub(crate) async fn in_own_task<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    struct AbortOnDrop<T>(JoinHandle<T>);
    impl<T> Drop for AbortOnDrop<T> {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let mut task = AbortOnDrop(spawn(work));
    (&mut task.0).await.ok()
}

/// Spawns a verb whose result goes to `on_result`. If the runtime cannot start, `on_result` gets the result without it,
/// or the error.
pub(crate) fn spawn_verb<T: Send + 'static>(
    verb: impl Future<Output = Result<T>> + Send + 'static,
    on_result: impl FnOnce(Result<T>) + Send + 'static,
) -> Option<AbortHandle> {
    match start() {
        Ok(()) => Some(spawn(async move { on_result(verb.await) }).abort_handle()),
        Err(error) => {
            on_result(verb.now_or_never().unwrap_or(Err(error)));
            None
        }
    }
}

/// Blocks this thread until `future` is done; for the command line and other plain threads. Panics like [`spawn`].
pub fn block_on<F: Future>(future: F) -> F::Output {
    handle().block_on(future)
}

/// Runs `work` with this runtime as the current one, so that it may poll futures that mcpool did not spawn. Panics like
/// [`spawn`].
pub fn enter<T>(work: impl FnOnce() -> T) -> T {
    let _entered = handle().enter();
    work()
}

/// The number of unfinished tasks, for tests that look for leaks.
#[doc(hidden)]
pub fn alive_tasks() -> usize {
    handle().metrics().num_alive_tasks()
}
