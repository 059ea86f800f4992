//! Owns interruption by Ctrl-C, Ctrl-Break and the closing of the console.
//! Invariant: the first event ends the command in order, the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;

/// The number of the signal that Ctrl-C is elsewhere.
const INTERRUPT: i32 = 2;

static WAS_INTERRUPTED: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: Notify = Notify::const_new();

/// Runs on a thread of the system's. Returns whether the event was handled; otherwise the process ends.
unsafe extern "system" fn on_event(_event: u32) -> i32 {
    if WAS_INTERRUPTED.swap(true, Ordering::Relaxed) {
        return 0;
    }
    INTERRUPTED.notify_one();
    1
}

/// Handles events while it is held.
pub(super) struct Interrupt;

impl Interrupt {
    pub(super) fn listen() -> Self {
        WAS_INTERRUPTED.store(false, Ordering::Relaxed);
        // SAFETY: the function stays loaded as long as the process, and only touches statics.
        unsafe { SetConsoleCtrlHandler(Some(on_event), 1) };
        Interrupt
    }

    /// Resolves to the number of the signal that stands for it.
    pub(super) async fn received(&self) -> i32 {
        INTERRUPTED.notified().await;
        INTERRUPT
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // SAFETY: it is the function that was added.
        unsafe { SetConsoleCtrlHandler(Some(on_event), 0) };
    }
}
