//! Owns the bookkeeping of a session, without any waiting: ids, who waits for what, until when, and the statistics.
//! Invariant: an entry leaves the table exactly once, and whoever takes it out finishes it.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::call::{Progress, Waiter};
use crate::error::{Error, ErrorKind};
use crate::result::ToolResult;
use crate::status::{Calls, Latency};

/// A request's end: the raw result, or an error.
pub(super) type Outcome = Result<Bytes, Error>;

type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

pub(super) struct Pending {
    reply: Reply,
    started_us: u64,
    deadline_us: u64,
    on_progress: Option<OnProgress>,
}

enum Reply {
    Call(Waiter),
    Control(oneshot::Sender<Outcome>),
}

impl Pending {
    pub(super) fn call(
        waiter: Waiter,
        started_us: u64,
        deadline_us: u64,
        on_progress: Option<Box<dyn Fn(Progress) + Send + Sync>>,
    ) -> Self {
        let on_progress = on_progress.map(Arc::from);
        Pending { reply: Reply::Call(waiter), started_us, deadline_us, on_progress }
    }

    /// A control request; its asker keeps the time.
    pub(super) fn control(sender: oneshot::Sender<Outcome>) -> Self {
        Pending {
            reply: Reply::Control(sender),
            started_us: 0,
            deadline_us: u64::MAX,
            on_progress: None,
        }
    }

    pub(super) fn finish(self, outcome: Outcome) {
        match self.reply {
            Reply::Call(waiter) => {
                // SAFETY: a call's outcome is a slice of a `&RawValue`, which is a `str`.
                waiter.finish(outcome.map(|json| unsafe { ToolResult::from_utf8_unchecked(json) }));
            }
            Reply::Control(sender) => drop(sender.send(outcome)),
        }
    }
}

#[derive(Default)]
pub(super) struct Table {
    pending: HashMap<u64, Pending>,
    last_id: u64,
    closed: Option<Error>,
    /// When the deadline task will wake; 0 means not at all.
    wakes_at_us: u64,
    /// The one mailbox that waits for everything pending; 0 means several waiters or none of them a loop.
    reader: u64,
    calls: Calls,
    latency: Latency,
}

impl Table {
    pub(super) fn insert(&mut self, pending: Pending) -> u64 {
        self.last_id += 1;
        self.pending.insert(self.last_id, pending);
        self.last_id
    }

    /// Takes an entry out without an outcome.
    pub(super) fn remove(&mut self, id: u64) -> Option<Pending> {
        self.pending.remove(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.pending.contains_key(&id)
    }

    /// Whether this is a request of ours, whose asker reads the answer with its own eyes.
    pub(super) fn is_control(&self, id: u64) -> bool {
        matches!(self.pending.get(&id), Some(Pending { reply: Reply::Control(_), .. }))
    }

    pub(super) fn only_one(&self) -> Option<u64> {
        let mut ids = self.pending.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Takes an entry out with its outcome, which counts.
    pub(super) fn finish(&mut self, id: u64, outcome: &Outcome, now_us: u64) -> Option<Pending> {
        let pending = self.pending.remove(&id)?;
        if let Reply::Call(_) = pending.reply {
            self.count(outcome.as_ref().err());
            self.latency.record(now_us.saturating_sub(pending.started_us));
        }
        Some(pending)
    }

    fn count(&mut self, error: Option<&Error>) {
        match error.map(Error::kind) {
            None => self.calls.ok += 1,
            Some(ErrorKind::ToolTimeout) => self.calls.timeout += 1,
            Some(_) => self.calls.error += 1,
        }
    }

    pub(super) fn calls(&self) -> Calls {
        let in_flight =
            self.pending.values().filter(|pending| matches!(pending.reply, Reply::Call(_)));
        Calls {
            in_flight: in_flight.count() as u64,
            p50_ms: self.latency.quantile(0.50),
            p99_ms: self.latency.quantile(0.99),
            ..self.calls
        }
    }

    pub(super) fn closed(&self) -> Option<&Error> {
        self.closed.as_ref()
    }

    /// Refuses everything from now on; gives what was pending, or `None` when it was closed before.
    pub(super) fn close(&mut self, error: Error) -> Option<Vec<Pending>> {
        if self.closed.is_some() {
            return None;
        }
        let pending: Vec<Pending> = self.pending.drain().map(|(_, pending)| pending).collect();
        for entry in &pending {
            if let Reply::Call(_) = entry.reply {
                self.count(Some(&error));
            }
        }
        self.closed = Some(error);
        Some(pending)
    }

    /// Whether the loop behind `mailbox` is the only one that waits, this request included.
    pub(super) fn note_reader(&mut self, mailbox: u64) -> bool {
        if self.pending.is_empty() {
            self.reader = mailbox;
        } else if self.reader != mailbox {
            self.reader = 0;
        }
        self.reader != 0
    }

    /// Who hears of the progress of this call.
    pub(super) fn on_progress(&self, id: u64) -> Option<OnProgress> {
        self.pending.get(&id)?.on_progress.clone()
    }

    /// Whether the deadline task sleeps past this deadline.
    pub(super) fn wants_waking(&mut self, deadline_us: u64) -> bool {
        let sleeps_past = self.wakes_at_us == 0 || deadline_us < self.wakes_at_us;
        if sleeps_past {
            self.wakes_at_us = deadline_us;
        }
        sleeps_past
    }

    /// Takes out the calls whose time is over; tells when the next one's will be.
    pub(super) fn expire(&mut self, now_us: u64) -> (Vec<(u64, Pending)>, Option<u64>) {
        let expired: Vec<(u64, Pending)> =
            self.pending.extract_if(|_, pending| pending.deadline_us <= now_us).collect();
        self.calls.timeout += expired.len() as u64;
        let next = self.pending.values().map(|pending| pending.deadline_us).min();
        let next = next.filter(|&at| at != u64::MAX);
        self.wakes_at_us = next.unwrap_or(0);
        (expired, next)
    }
}
