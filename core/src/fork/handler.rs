//! Owns counting forks.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{GENERATION, descriptors};

/// Counts forks from now on.
pub(super) fn watch_forks() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        // Not a `Once`: a forked child could wait forever for the thread inside it. Two threads may both register the
        // handler; then a fork counts twice, which is harmless.
        // SAFETY: the function is `extern "C"`, stays loaded, and is async-signal-safe.
        unsafe { libc::pthread_atfork(None, None, Some(on_fork)) };
        WATCHED.store(true, Ordering::Release);
    }
}

extern "C" fn on_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    descriptors::close_inherited();
}
