//! Owns what stands in for signals to and in single processes.

use std::time::Duration;

#[cfg(feature = "cli")]
use std::os::windows::io::{FromRawHandle, OwnedHandle};

#[cfg(feature = "cli")]
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_TERMINATE, TerminateProcess};

/// Ends this process after `limit`. It has no console of its own, so no signal reaches it.
pub(crate) fn ignore_signals(limit: Duration) {
    let end = move || {
        std::thread::sleep(limit);
        std::process::exit(1);
    };
    // Without a thread it ends by the limits of its requests.
    let _ = std::thread::Builder::new().name("mcpool-limit".to_owned()).spawn(end);
}

/// Kills one process, not its job.
#[cfg(feature = "cli")]
pub(crate) fn kill_process(pid: u32) {
    // SAFETY: no pointer is passed.
    let process = unsafe { OpenProcess(PROCESS_TERMINATE, 0, pid) };
    if !process.is_null() {
        // SAFETY: the handle is valid, and nobody else owns it.
        let _owned = unsafe { OwnedHandle::from_raw_handle(process) };
        // SAFETY: the handle is open.
        unsafe { TerminateProcess(process, 1) };
    }
}
