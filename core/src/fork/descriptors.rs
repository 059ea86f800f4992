//! Owns the descriptors that a forked child must close. While a child holds our end of a pipe, a server does not see
//! the end of its input, and the guardian does not see the end of this process.
//! Invariant: a descriptor is closed once, by the process that owns it or by the fork handler.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use super::{ForkGeneration, ProcessLocal};

/// Descriptors beyond this number are not closed in a child.
const SLOTS: usize = 4096;
const EMPTY: RawFd = -1;

static REGISTERED: [AtomicI32; SLOTS] = [const { AtomicI32::new(EMPTY) }; SLOTS];

/// Where the search for an empty slot begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn register(fd: RawFd) -> Option<usize> {
    let start = NEXT.load(Ordering::Relaxed);
    let slot = (0..SLOTS).map(|step| (start + step) % SLOTS).find(|&slot| {
        REGISTERED[slot].compare_exchange(EMPTY, fd, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    })?;
    NEXT.store(slot + 1, Ordering::Relaxed);
    Some(slot)
}

fn unregister(slot: usize) {
    REGISTERED[slot].store(EMPTY, Ordering::Relaxed);
    NEXT.store(slot, Ordering::Relaxed);
}

/// Runs in the child right after the fork, so it must be async-signal-safe.
pub(crate) fn close_inherited() {
    for slot in &REGISTERED {
        let fd = slot.load(Ordering::Relaxed);
        if fd != EMPTY {
            slot.store(EMPTY, Ordering::Relaxed);
            // SAFETY: its owner in the copied memory is a `LocalFd`, which does not close it in this process.
            unsafe { libc::close(fd) };
        }
    }
}

/// A descriptor that is closed in forked children. There it must not be used, and dropping it does nothing.
pub(crate) struct LocalFd(ProcessLocal<RegisteredFd>);

struct RegisteredFd {
    slot: Option<usize>,
    fd: OwnedFd,
}

impl LocalFd {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        // Before registering: the fork handler that reads the table must be installed.
        ForkGeneration::current();
        let slot = register(fd.as_raw_fd());
        LocalFd(ProcessLocal::new(RegisteredFd { slot, fd }))
    }

    /// Whether it was inherited by a fork, and so is closed here.
    pub(crate) fn is_inherited(&self) -> bool {
        self.0.is_inherited()
    }
}

impl AsFd for LocalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl Drop for RegisteredFd {
    fn drop(&mut self) {
        // Unregistered before closing: a fork in between leaks one descriptor instead of closing someone else's.
        if let Some(slot) = self.slot {
            unregister(slot);
        }
    }
}
