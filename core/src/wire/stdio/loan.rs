//! Owns the loan of a pipe: while only one host loop waits for the server's answers, that loop reads the pipe on its
//! own thread, which saves a thread switch in each direction.
//! Invariant: an open pipe is read by the I/O thread or is lent, never neither.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{StdioLink, io};
use crate::mailbox::{LentReader, Mailbox};
use crate::process::PipeEnd;
use crate::sync::lock;

/// A loan ends when the loop has not read the pipe for this long.
const LOAN_IDLE: Duration = Duration::from_millis(20);

pub(super) struct Loan {
    holder: Mutex<Option<Arc<Mailbox>>>,
    /// The holder's id, readable without the lock; 0 means none.
    holder_id: AtomicU64,
    last_read_ms: AtomicU64,
    /// Whether the I/O thread checks it.
    is_watched: AtomicBool,
    started: Instant,
}

impl Loan {
    pub(super) fn new() -> Self {
        Loan {
            holder: Mutex::new(None),
            holder_id: AtomicU64::new(0),
            last_read_ms: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            started: Instant::now(),
        }
    }

    /// Records a read of the pipe.
    pub(super) fn touch(&self) {
        if self.is_lent() {
            self.last_read_ms.store(self.now_ms(), Ordering::Relaxed);
        }
    }

    fn is_lent(&self) -> bool {
        self.holder_id.load(Ordering::Relaxed) != 0
    }

    fn is_idle(&self) -> bool {
        let idle = self.now_ms().saturating_sub(self.last_read_ms.load(Ordering::Relaxed));
        idle >= LOAN_IDLE.as_millis() as u64
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

impl StdioLink {
    /// Lends the pipe to `mailbox`.
    pub(super) fn lend_to(&self, mailbox: &Arc<Mailbox>) {
        let loan = &self.loan;
        let holder_id = loan.holder_id.load(Ordering::Relaxed);
        if holder_id == mailbox.id() || !mailbox.can_adopt() || self.is_inherited() {
            return;
        }
        if holder_id != 0 {
            self.reclaim();
        }
        let mut holder = lock(&loan.holder);
        if holder.is_some() || self.ended.load(Ordering::Acquire) {
            return;
        }
        let Some(pipe) = self.me.upgrade() else { return };
        io::thread().unwatch(&self.stdout);
        if !mailbox.adopt(&pipe) {
            return io::thread().watch_reads(&self.slot, &self.stdout);
        }
        loan.holder_id.store(mailbox.id(), Ordering::Relaxed);
        loan.touch();
        *holder = Some(mailbox.clone());
        drop(holder);
        if !loan.is_watched.swap(true, Ordering::AcqRel) {
            io::thread().watch_loan(&pipe);
        }
    }

    /// Returns the pipe to the I/O thread.
    pub(super) fn reclaim(&self) {
        if !self.loan.is_lent() || self.is_inherited() {
            return;
        }
        let mut holder = lock(&self.loan.holder);
        let Some(mailbox) = holder.take() else { return };
        self.loan.holder_id.store(0, Ordering::Relaxed);
        mailbox.release(self);
        if !self.ended.load(Ordering::Acquire) {
            io::thread().watch_reads(&self.slot, &self.stdout);
        }
    }

    /// Ends an idle loan; returns whether the I/O thread keeps checking it.
    pub(super) fn keep_loan(&self) -> bool {
        if self.loan.is_lent() && !self.loan.is_idle() {
            return true;
        }
        self.loan.is_watched.store(false, Ordering::Release);
        self.reclaim();
        false
    }
}

impl LentReader for StdioLink {
    fn pipe(&self) -> &PipeEnd {
        &self.stdout
    }

    fn read_ready(&self) {
        self.read_turn();
    }
}
