//! Owns signals to and in single processes; those to groups are in `group`.

use std::time::Duration;

#[cfg(feature = "cli")]
use rustix::process::{Pid, Signal};

/// Makes this process ignore the signals that end it, and ends it after `limit`.
pub(crate) fn ignore_signals(limit: Duration) {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: the signal ends this process.
    unsafe { libc::alarm(limit.as_secs() as u32) };
}

/// Kills one process, not its group.
#[cfg(feature = "cli")]
pub(crate) fn kill_process(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}
