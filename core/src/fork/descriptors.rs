//! Owns the list of descriptors that must not live on in a forked child: while a child held the other end, a server
//! would not see the end of its input, nor the guardian the end of its process.
//! Invariant: a number is closed once, by the process whose descriptor it is, or by the fork itself.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use super::{ForkGeneration, ProcessLocal};

/// A child keeps the descriptors that find no slot, as if they were anybody's.
const SLOTS: usize = 4096;
const EMPTY: RawFd = -1;

static LISTED: [AtomicI32; SLOTS] = [const { AtomicI32::new(EMPTY) }; SLOTS];

/// Where the search for an empty slot begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn register(fd: RawFd) -> Option<usize> {
    let start = NEXT.load(Ordering::Relaxed);
    let slot = (0..SLOTS).map(|step| (start + step) % SLOTS).find(|&slot| {
        LISTED[slot].compare_exchange(EMPTY, fd, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    })?;
    NEXT.store(slot + 1, Ordering::Relaxed);
    Some(slot)
}

fn unregister(slot: usize) {
    LISTED[slot].store(EMPTY, Ordering::Relaxed);
    NEXT.store(slot, Ordering::Relaxed);
}

/// Runs in a child right after the fork, where only what is safe in a signal handler may be done.
pub(crate) fn close_inherited() {
    for slot in &LISTED {
        let fd = slot.load(Ordering::Relaxed);
        if fd != EMPTY {
            slot.store(EMPTY, Ordering::Relaxed);
            // SAFETY: what owns it in the parent's memory is a `LocalFd`, which will not close it here.
            unsafe { libc::close(fd) };
        }
    }
}

/// A descriptor that is closed in forked children. There, this value is only a reminder: it must not be used, and
/// dropping it does nothing.
pub(crate) struct LocalFd(ProcessLocal<Listed>);

struct Listed {
    slot: Option<usize>,
    fd: OwnedFd,
}

impl LocalFd {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        // Before it is listed: a fork that nobody notices would not look at the list.
        ForkGeneration::current();
        let slot = register(fd.as_raw_fd());
        LocalFd(ProcessLocal::new(Listed { slot, fd }))
    }

    /// Whether it came into this process by a fork, and is closed here.
    pub(crate) fn is_inherited(&self) -> bool {
        self.0.is_inherited()
    }
}

impl AsFd for LocalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // Before it is closed: a fork in between then leaves one descriptor open, and does not close somebody else's.
        if let Some(slot) = self.slot {
            unregister(slot);
        }
    }
}
