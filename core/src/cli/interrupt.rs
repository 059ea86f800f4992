//! Owns the user's wish to end at once: Ctrl-C, and the signals that terminals and supervisors send.
//! Invariant: the first signal ends the command in order, the second one ends the process; what was ignored before
//! stays ignored.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::net::unix::pipe::{self, Receiver};

use crate::runtime;

const HEARD: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Our end of the pipe that the handler writes into; never closed, for a handler may be about to write.
static BELL: AtomicI32 = AtomicI32::new(-1);

extern "C" fn ring(signal: libc::c_int) {
    let bell = BELL.load(Ordering::Relaxed);
    if bell >= 0 {
        // SAFETY: the descriptor is never closed.
        let bell = unsafe { BorrowedFd::borrow_raw(bell) };
        let _ = rustix::io::write(bell, &[signal as u8]);
    }
}

/// Listens for as long as it is held; afterwards signals mean what they meant before.
pub(super) struct Interrupt {
    rung: Option<Receiver>,
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl Interrupt {
    pub(super) fn listen() -> Self {
        let _inside = runtime::handle().enter();
        let pipe = pipe::pipe().and_then(|(bell, rung)| Ok((bell.into_blocking_fd()?, rung)));
        let Ok((bell, rung)) = pipe else {
            return Interrupt { rung: None, before: Vec::new() };
        };
        BELL.store(bell.into_raw_fd(), Ordering::Relaxed);
        Interrupt { rung: Some(rung), before: HEARD.into_iter().filter_map(hear).collect() }
    }

    /// The signal's number, once there is one.
    pub(super) async fn heard(&self) -> i32 {
        let mut signal = [0];
        if let Some(rung) = &self.rung {
            while rung.readable().await.is_ok() {
                if let Ok(1) = rung.try_read(&mut signal) {
                    return i32::from(signal[0]);
                }
            }
        }
        std::future::pending().await
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: this is what the system gave us.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}

/// Takes a signal over; gives what it meant before.
fn hear(signal: libc::c_int) -> Option<(libc::c_int, libc::sigaction)> {
    // SAFETY: the structs are plain data that the system fills or reads; the handler only loads an atomic and writes.
    unsafe {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(signal, std::ptr::null(), before.as_mut_ptr()) != 0 {
            return None;
        }
        let before = before.assume_init();
        if before.sa_sigaction == libc::SIG_IGN {
            return None;
        }
        let mut ours = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        ours.sa_sigaction = ring as extern "C" fn(libc::c_int) as libc::sighandler_t;
        ours.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        libc::sigemptyset(&mut ours.sa_mask);
        (libc::sigaction(signal, &ours, std::ptr::null_mut()) == 0).then_some((signal, before))
    }
}
