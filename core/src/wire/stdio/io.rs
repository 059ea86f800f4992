//! Owns the one thread that reads the pipes of all stdio servers and finishes writes that a pipe did not take at once.
//! A pipe may be lent to a host loop that reads it on its own thread, which saves a thread switch per answer;
//! this thread takes it back as soon as the host has not touched it for a moment.
//! Invariant: a pipe is watched by this thread or lent, never neither.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use polling::{Event, Events, PollMode, Poller};

use super::Pipe;
use crate::descriptors::refused;
use crate::error::Result;
use crate::fork::Startable;
use crate::mailbox::LentReader;
use crate::sync::lock;

const LOAN_CHECK: Duration = Duration::from_millis(10);

pub(super) struct Io {
    poller: Poller,
    pipes: Mutex<Pipes>,
}

#[derive(Default)]
struct Pipes {
    slots: Vec<Option<Weak<Pipe>>>,
    free: Vec<usize>,
    lent: Vec<Weak<Pipe>>,
}

static IO: Startable<Arc<Io>> = Startable::new(|| {
    const WHAT: &str = "the thread that reads the pipes of servers";
    let poller = Poller::new().map_err(|error| refused(WHAT, &error))?;
    let io = Arc::new(Io { poller, pipes: Mutex::default() });
    let thread = std::thread::Builder::new().name("mcpool-io".into()).stack_size(256 << 10);
    let running = io.clone();
    thread.spawn(move || running.run()).map_err(|error| refused(WHAT, &error))?;
    Ok(io)
});

/// The thread's handle; the first use starts the thread.
pub(super) fn start() -> Result<&'static Io> {
    IO.get().map(Arc::as_ref)
}

/// The handle of the running thread; every open pipe has started it.
pub(super) fn thread() -> &'static Io {
    start().expect("the pipe's thread")
}

impl Io {
    fn run(&self) {
        let mut events = Events::new();
        loop {
            events.clear();
            let timeout = (!self.pipes().lent.is_empty()).then_some(LOAN_CHECK);
            if self.poller.wait(&mut events, timeout).is_err() {
                continue;
            }
            for event in events.iter() {
                let pipe = self.pipes().slots.get(event.key / 2).cloned().flatten();
                let Some(pipe) = pipe.and_then(|pipe| pipe.upgrade()) else { continue };
                if event.key % 2 == 0 {
                    pipe.read_ready();
                } else {
                    pipe.write_ready();
                }
            }
            self.end_idle_leases();
        }
    }

    fn end_idle_leases(&self) {
        let lent = std::mem::take(&mut self.pipes().lent);
        let still: Vec<_> = lent
            .into_iter()
            .filter(|weak| weak.upgrade().is_some_and(|pipe| pipe.keep_lease()))
            .collect();
        self.pipes().lent.extend(still);
    }

    /// Registers `pipe`; its key is valid until [`Io::leave`].
    pub(super) fn enter(&self, pipe: Weak<Pipe>) -> usize {
        let mut pipes = self.pipes();
        match pipes.free.pop() {
            Some(slot) => {
                pipes.slots[slot] = Some(pipe);
                slot
            }
            None => {
                pipes.slots.push(Some(pipe));
                pipes.slots.len() - 1
            }
        }
    }

    pub(super) fn leave(&self, slot: usize) {
        let mut pipes = self.pipes();
        pipes.slots[slot] = None;
        pipes.free.push(slot);
    }

    /// Calls [`Pipe::read_ready`] whenever `fd` is readable, until [`Io::unwatch`].
    pub(super) fn watch_reads(&self, slot: usize, fd: BorrowedFd<'_>) {
        // SAFETY: every pipe unwatches its descriptors before it drops them.
        let added = unsafe {
            self.poller.add_with_mode(fd.as_raw_fd(), Event::readable(slot * 2), PollMode::Level)
        };
        if let Err(error) = added {
            tracing::error!(%error, "cannot watch a server's output");
        }
    }

    /// Calls [`Pipe::write_ready`] when `fd`'s pipe has no reader any more, which the poller reports by itself, until
    /// [`Io::unwatch`].
    pub(super) fn watch_input(&self, slot: usize, fd: BorrowedFd<'_>) {
        let nothing = Event::none(slot * 2 + 1);
        // SAFETY: as in `watch_reads`.
        let added = unsafe { self.poller.add_with_mode(fd.as_raw_fd(), nothing, PollMode::Level) };
        if let Err(error) = added {
            tracing::error!(%error, "cannot watch a server's input");
        }
    }

    /// Calls [`Pipe::write_ready`] also whenever `fd` is writable, while `wanted`.
    pub(super) fn watch_room(&self, slot: usize, fd: BorrowedFd<'_>, wanted: bool) {
        let event = Event::new(slot * 2 + 1, false, wanted);
        if let Err(error) = self.poller.modify_with_mode(fd, event, PollMode::Level) {
            tracing::error!(%error, "cannot watch a server's input");
        }
    }

    pub(super) fn unwatch(&self, fd: BorrowedFd<'_>) {
        // It may never have been watched.
        let _ = self.poller.delete(fd);
    }

    /// Starts checking this loan.
    pub(super) fn oversee(&self, pipe: &Arc<Pipe>) {
        let mut pipes = self.pipes();
        pipes.lent.push(Arc::downgrade(pipe));
        if pipes.lent.len() == 1 {
            // The thread may be asleep without a timeout.
            let _ = self.poller.notify();
        }
    }

    fn pipes(&self) -> std::sync::MutexGuard<'_, Pipes> {
        lock(&self.pipes)
    }
}
