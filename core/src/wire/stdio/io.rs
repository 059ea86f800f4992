//! Owns the one thread that reads the pipes of all stdio servers and finishes writes that a pipe did not take at once.
//! A pipe may be lent to a host loop that reads it on its own thread, which saves a thread switch per answer;
//! this thread takes it back as soon as the host has not touched it for a moment.
//! Invariant: a pipe is watched by this thread or lent, never neither.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use polling::{Event, Events, PollMode, Poller};

use super::StdioLink;
use crate::descriptors::refused;
use crate::error::Result;
use crate::fork::Startable;
use crate::mailbox::LentReader;
use crate::platform::portable;
use crate::process::PipeEnd;
use crate::sync::lock;

const LOAN_CHECK: Duration = Duration::from_millis(10);

/// The key of a pipe.
#[derive(Clone)]
pub(super) struct Slot(usize);

pub(super) struct IoThread {
    poller: Poller,
    links: Mutex<LinkSlots>,
}

#[derive(Default)]
struct LinkSlots {
    slots: Vec<Option<Weak<StdioLink>>>,
    free: Vec<usize>,
    lent: Vec<Weak<StdioLink>>,
}

static IO: Startable<Arc<IoThread>> = Startable::new(|| {
    const WHAT: &str = "the thread that reads the pipes of servers";
    let poller = Poller::new().map_err(|error| refused(WHAT, &error))?;
    let io = Arc::new(IoThread { poller, links: Mutex::default() });
    let thread = std::thread::Builder::new().name("mcpool-io".into()).stack_size(256 << 10);
    let running = io.clone();
    thread.spawn(move || running.run()).map_err(|error| refused(WHAT, &error))?;
    Ok(io)
});

/// The thread's handle; the first use starts the thread.
pub(super) fn start() -> Result<&'static IoThread> {
    IO.get().map(Arc::as_ref)
}

/// The handle of the running thread; every open pipe has started it.
pub(super) fn thread() -> &'static IoThread {
    start().expect("the pipe's thread")
}

impl IoThread {
    fn run(&self) {
        let mut events = Events::new();
        loop {
            events.clear();
            let timeout = (!self.links().lent.is_empty()).then_some(LOAN_CHECK);
            if self.poller.wait(&mut events, timeout).is_err() {
                continue;
            }
            for event in events.iter() {
                let link = self.links().slots.get(event.key / 2).cloned().flatten();
                let Some(link) = link.and_then(|link| link.upgrade()) else { continue };
                if event.key % 2 == 0 {
                    link.read_ready();
                } else {
                    link.write_ready();
                }
            }
            self.end_idle_loans();
        }
    }

    fn end_idle_loans(&self) {
        let lent = std::mem::take(&mut self.links().lent);
        let still: Vec<_> = lent
            .into_iter()
            .filter(|weak| weak.upgrade().is_some_and(|link| link.keep_loan()))
            .collect();
        self.links().lent.extend(still);
    }

    /// Registers `link`; its key is valid until [`IoThread::leave`].
    pub(super) fn enter(&self, link: Weak<StdioLink>) -> Slot {
        let mut links = self.links();
        match links.free.pop() {
            Some(slot) => {
                links.slots[slot] = Some(link);
                Slot(slot)
            }
            None => {
                links.slots.push(Some(link));
                Slot(links.slots.len() - 1)
            }
        }
    }

    pub(super) fn leave(&self, &Slot(slot): &Slot) {
        let mut links = self.links();
        links.slots[slot] = None;
        links.free.push(slot);
    }

    /// Calls [`StdioLink::read_ready`] whenever `pipe` is readable, until [`IoThread::unwatch`].
    pub(super) fn watch_reads(&self, &Slot(slot): &Slot, pipe: &PipeEnd) {
        // SAFETY: every pipe unwatches its descriptors before it drops them.
        let added = unsafe {
            let fd = pipe.as_fd().as_raw_fd();
            self.poller.add_with_mode(fd, Event::readable(slot * 2), PollMode::Level)
        };
        if let Err(error) = added {
            tracing::error!(%error, "cannot watch a server's output");
        }
    }

    /// Calls [`StdioLink::write_ready`] when `pipe` has no reader any more, until [`IoThread::unwatch`]. Linux reports
    /// that without being asked; by portable means every change of the pipe's room is reported too.
    pub(super) fn watch_input(&self, &Slot(slot): &Slot, pipe: &PipeEnd) {
        let key = slot * 2 + 1;
        let (event, mode) = match portable() {
            true => (Event::writable(key), PollMode::Edge),
            false => (Event::none(key), PollMode::Level),
        };
        // SAFETY: as in `watch_reads`.
        let added = unsafe { self.poller.add_with_mode(pipe.as_fd().as_raw_fd(), event, mode) };
        if let Err(error) = added {
            tracing::error!(%error, "cannot watch a server's input");
        }
    }

    /// Calls [`StdioLink::write_ready`] also whenever `pipe` is writable, while `wanted`.
    pub(super) fn watch_room(&self, &Slot(slot): &Slot, pipe: &PipeEnd, wanted: bool) {
        // Then `watch_input` reports it.
        if portable() {
            return;
        }
        let event = Event::new(slot * 2 + 1, false, wanted);
        if let Err(error) = self.poller.modify_with_mode(pipe, event, PollMode::Level) {
            tracing::error!(%error, "cannot watch a server's input");
        }
    }

    pub(super) fn unwatch(&self, pipe: &PipeEnd) {
        // It may never have been watched.
        let _ = self.poller.delete(pipe);
    }

    /// Starts checking this loan.
    pub(super) fn watch_loan(&self, link: &Arc<StdioLink>) {
        let mut links = self.links();
        links.lent.push(Arc::downgrade(link));
        if links.lent.len() == 1 {
            // The thread may be asleep without a timeout.
            let _ = self.poller.notify();
        }
    }

    fn links(&self) -> std::sync::MutexGuard<'_, LinkSlots> {
        lock(&self.links)
    }
}
