//! Owns interruption by Ctrl-C, SIGTERM and SIGHUP.
//! Invariant: the first signal ends the command in order, the second one ends the process. A signal that was ignored
//! stays ignored.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::net::unix::pipe::{self, Receiver};

use crate::runtime;

const HANDLED: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The write end of the pipe that the signal handler uses. Never closed: a handler may be about to write.
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(signal: libc::c_int) {
    let pipe_end = SIGNAL_PIPE.load(Ordering::Relaxed);
    if pipe_end >= 0 {
        // SAFETY: the descriptor is never closed.
        let pipe_end = unsafe { BorrowedFd::borrow_raw(pipe_end) };
        let _ = rustix::io::write(pipe_end, &[signal as u8]);
    }
}

/// Handles signals while it is held; dropping it restores the previous handlers.
pub(super) struct Interrupt {
    signals: Option<Receiver>,
    previous: Vec<(libc::c_int, libc::sigaction)>,
}

impl Interrupt {
    pub(super) fn listen() -> Self {
        let _inside = runtime::handle().enter();
        let pipe = pipe::pipe()
            .and_then(|(pipe_end, signals)| Ok((pipe_end.into_blocking_fd()?, signals)));
        let Ok((pipe_end, signals)) = pipe else {
            return Interrupt { signals: None, previous: Vec::new() };
        };
        SIGNAL_PIPE.store(pipe_end.into_raw_fd(), Ordering::Relaxed);
        Interrupt {
            signals: Some(signals),
            previous: HANDLED.into_iter().filter_map(install_handler).collect(),
        }
    }

    /// Resolves to the signal's number.
    pub(super) async fn received(&self) -> i32 {
        let mut signal = [0];
        if let Some(signals) = &self.signals {
            while signals.readable().await.is_ok() {
                if let Ok(1) = signals.try_read(&mut signal) {
                    return i32::from(signal[0]);
                }
            }
        }
        std::future::pending().await
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for (signal, previous) in &self.previous {
            // SAFETY: the kernel returned this action when ours was installed.
            unsafe { libc::sigaction(*signal, previous, std::ptr::null_mut()) };
        }
    }
}

/// Installs our handler; returns the previous action.
fn install_handler(signal: libc::c_int) -> Option<(libc::c_int, libc::sigaction)> {
    // SAFETY: the structs are plain data that the kernel fills or reads; the handler only loads an atomic and writes.
    unsafe {
        let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(signal, std::ptr::null(), previous.as_mut_ptr()) != 0 {
            return None;
        }
        let previous = previous.assume_init();
        if previous.sa_sigaction == libc::SIG_IGN {
            return None;
        }
        let mut ours = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        ours.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        ours.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        libc::sigemptyset(&mut ours.sa_mask);
        (libc::sigaction(signal, &ours, std::ptr::null_mut()) == 0).then_some((signal, previous))
    }
}
