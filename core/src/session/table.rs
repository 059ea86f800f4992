//! Owns the bookkeeping of a session, without waiting: ids, pending requests and their deadlines.
//! Invariant: an entry is removed exactly once, and the code that removes it finishes it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::repeated_call::RepeatedCall;
use super::resend::{CallRequest, ResendHandle, end_error};
use super::rounds::ROUNDS;
use super::tasks::TaskPhase;
use crate::call::OnProgress;
use crate::error::{Error, ErrorKind, Executed};
use crate::mailbox::Waiter;
use crate::result::{ManagerId, Origin, ToolResult};
use crate::status::CallCounters;

/// The outcome of a request: the raw result, or an error.
pub(super) type RequestOutcome = Result<Bytes, Error>;

pub(super) struct PendingRequest {
    reply_to: ReplyTo,
    started_us: u64,
    deadline_us: u64,
    /// How far progress extends the deadline, and the latest deadline.
    patience_us: u64,
    wall_us: u64,
    on_progress: Option<OnProgress>,
    /// Kept where the server may ask something before it answers.
    again: Option<Box<RepeatedCall>>,
    /// How often it has asked.
    rounds: u8,
    task: TaskPhase,
}

/// The time limits of a call: idle and total.
#[derive(Clone, Copy)]
pub(crate) struct CallLimits {
    pub(crate) idle: Duration,
    /// The remaining idle time until progress restarts it.
    pub(crate) idle_left: Duration,
    pub(crate) total: Option<Duration>,
}

impl CallLimits {
    /// Limits for a call that starts now.
    pub(crate) fn new(idle: Duration, total: Option<Duration>) -> Self {
        CallLimits { idle, idle_left: idle, total }
    }
}

enum ReplyTo {
    /// The request is kept if nobody else has it, so that the call can be sent again.
    Call(Waiter, Origin, Option<Box<CallRequest>>),
    Control(oneshot::Sender<RequestOutcome>),
}

impl PendingRequest {
    pub(super) fn call(
        waiter: Waiter,
        origin: Origin,
        request: Option<Box<CallRequest>>,
        started_us: u64,
        limits: CallLimits,
        on_progress: Option<OnProgress>,
    ) -> Self {
        let wall_us = limits.total.map_or(NEVER - 1, |total| after(started_us, micros(total)));
        PendingRequest {
            reply_to: ReplyTo::Call(waiter, origin, request),
            started_us,
            deadline_us: after(started_us, micros(limits.idle_left)).min(wall_us),
            patience_us: micros(limits.idle),
            wall_us,
            on_progress,
            again: None,
            rounds: 0,
            task: TaskPhase::Unasked,
        }
    }

    pub(super) fn keep_to_repeat(&mut self, again: Box<RepeatedCall>) {
        self.again = Some(again);
    }

    pub(super) fn set_task(&mut self, task: TaskPhase) {
        self.task = task;
    }

    pub(super) fn deadline_us(&self) -> u64 {
        self.deadline_us
    }

    /// A control request.
    pub(super) fn control(sender: oneshot::Sender<RequestOutcome>, deadline_us: u64) -> Self {
        PendingRequest {
            reply_to: ReplyTo::Control(sender),
            started_us: 0,
            deadline_us,
            patience_us: 0,
            wall_us: deadline_us,
            on_progress: None,
            again: None,
            rounds: 0,
            task: TaskPhase::Unasked,
        }
    }

    /// The parts of a call.
    pub(super) fn into_call(self) -> Option<(Waiter, Origin, Option<Box<CallRequest>>)> {
        match self.reply_to {
            ReplyTo::Call(waiter, origin, request) => Some((waiter, origin, request)),
            ReplyTo::Control(_) => None,
        }
    }

    pub(super) fn started_us(&self) -> u64 {
        self.started_us
    }

    fn origin(&self) -> Option<&Origin> {
        match &self.reply_to {
            ReplyTo::Call(_, origin, _) => Some(origin),
            ReplyTo::Control(_) => None,
        }
    }

    /// The manager of a call.
    pub(super) fn manager(&self) -> Option<ManagerId> {
        self.origin().map(|origin| origin.presenter.manager())
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.reply_to, ReplyTo::Call(..))
    }

    /// The error if this ends with its session. A call without its request has a proxy, which knows its manager.
    pub(super) fn end_error(&self, server: &str, error: Error) -> Error {
        match &self.reply_to {
            ReplyTo::Call(_, _, Some(request)) => end_error(&request.sender, server, error),
            _ => error,
        }
    }

    pub(super) fn finish(self, outcome: RequestOutcome) {
        match self.reply_to {
            ReplyTo::Call(waiter, origin, _) => {
                // SAFETY: a call's outcome is a slice of a `&RawValue`, which is a `str`.
                let result = |json| unsafe {
                    let task_id = self.task.task_id().map(Box::from);
                    ToolResult::from_utf8_unchecked(json, origin, task_id)
                };
                let untold = |error: Error| {
                    let error = match error.executed() {
                        // The call has begun a task, whatever became of a request about it.
                        Some(Executed::No) if self.task.task_id().is_some() => {
                            error.with_executed(Executed::Unknown)
                        }
                        Some(_) => error,
                        None => error.with_executed(Executed::Unknown),
                    };
                    self.task.task_id().into_iter().fold(error, Error::with_task_id)
                };
                waiter.finish(outcome.map(result).map_err(untold));
            }
            ReplyTo::Control(sender) => drop(sender.send(outcome)),
        }
    }
}

/// What happens to a request when its session closes.
pub(super) enum AfterClose {
    Fail(Executed),
    /// The call was never read: its sender sends it again.
    Resend(Arc<ResendHandle>),
}

/// How many calls that were given up are remembered.
const MOST_GIVEN_UP: usize = 64;

/// The deadline of requests without one.
pub(super) const NEVER: u64 = u64::MAX;

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(NEVER)
}

pub(super) fn after(now_us: u64, patience_us: u64) -> u64 {
    now_us.saturating_add(patience_us).min(NEVER - 1)
}

/// In tests the order of requests that end together is always the same.
#[cfg(test)]
type Hasher = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;
#[cfg(not(test))]
type Hasher = std::hash::RandomState;

pub(super) struct Table {
    pending: HashMap<u64, PendingRequest, Hasher>,
    /// Calls that were sent again with answers: their first ids, by the ids that the server knows.
    continued: HashMap<u64, u64>,
    /// Calls that were sent again, so that their old id here still cancels them.
    resent: HashMap<u64, Arc<ResendHandle>>,
    /// The last calls without an answer that were given up, where a late answer may begin a task.
    given_up: VecDeque<u64>,
    closed: Option<Error>,
    /// When the deadline task wakes; 0 means never.
    wakes_at_us: u64,
    /// The only mailbox that waits for all pending requests; 0 means several waiters, or none that is a loop.
    reader: u64,
    counters: Arc<CallCounters>,
    /// A call was answered.
    served: bool,
    /// When the last call was answered; 0 before that.
    answered_us: u64,
}

impl Table {
    pub(super) fn new(counters: Arc<CallCounters>) -> Self {
        Table {
            pending: HashMap::default(),
            continued: HashMap::new(),
            resent: HashMap::new(),
            given_up: VecDeque::new(),
            closed: None,
            wakes_at_us: 0,
            reader: 0,
            counters,
            served: false,
            answered_us: 0,
        }
    }

    pub(super) fn insert(&mut self, id: u64, pending: PendingRequest) {
        if pending.is_call() {
            self.counters.count_started();
        }
        self.pending.insert(id, pending);
    }

    pub(super) fn resent(&self, id: u64) -> Option<Arc<ResendHandle>> {
        self.resent.get(&id).cloned()
    }

    /// Removes an entry without an outcome.
    pub(super) fn remove(&mut self, id: u64) -> Option<PendingRequest> {
        let pending = self.pending.remove(&id)?;
        if pending.is_call() {
            self.counters.count_cancelled();
        }
        Some(pending)
    }

    /// Removes the calls of one origin's manager without an outcome.
    pub(super) fn remove_calls(
        &mut self,
        is_own: impl Fn(&Origin) -> bool,
    ) -> Vec<(u64, PendingRequest)> {
        let own = self.pending.iter().filter(|(_, pending)| pending.origin().is_some_and(&is_own));
        let own: Vec<u64> = own.map(|(id, _)| *id).collect();
        own.into_iter().filter_map(|id| Some((id, self.remove(id)?))).collect()
    }

    pub(super) fn has_served(&self) -> bool {
        self.served
    }

    pub(super) fn answered_us(&self) -> u64 {
        self.answered_us
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a call is pending.
    pub(super) fn has_calls(&self) -> bool {
        self.pending.values().any(PendingRequest::is_call)
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.awaiting(id).is_some_and(|id| self.pending.contains_key(&id))
    }

    /// The first id of the request that waits for an answer to this one; `None` if the request goes on under another.
    pub(super) fn awaiting(&self, id: u64) -> Option<u64> {
        match self.continued.get(&id) {
            Some(first) => Some(*first),
            None => {
                let goes_on =
                    |it: &PendingRequest| it.rounds > 0 || matches!(it.task, TaskPhase::Working(_));
                (!self.pending.get(&id).is_some_and(goes_on)).then_some(id)
            }
        }
    }

    /// The id under which the server knows a request that has ended.
    pub(super) fn take_wire_id(&mut self, id: u64) -> u64 {
        let known = self.continued.iter().find(|(_, first)| **first == id).map(|(known, _)| *known);
        if let Some(known) = known {
            self.continued.remove(&known);
        }
        known.unwrap_or(id)
    }

    /// A call that the server has a question about: its manager, and the call to repeat unless it has asked too often.
    /// `None` if there is no such call.
    pub(super) fn begin_round(
        &mut self,
        id: u64,
    ) -> Option<(Option<ManagerId>, Result<RepeatedCall, ()>)> {
        let manager = self.manager_of(Some(id));
        // What else comes under that id is late.
        self.take_wire_id(id);
        let pending = self.pending.get_mut(&id)?;
        let again = pending.again.as_deref()?.clone();
        pending.rounds += 1;
        Some((manager, if pending.rounds > ROUNDS { Err(()) } else { Ok(again) }))
    }

    /// Notes that a call was given up. Its id may be that of a later round.
    pub(super) fn note_given_up(&mut self, id: u64) {
        if self.given_up.len() == MOST_GIVEN_UP {
            self.given_up.pop_front();
        }
        self.given_up.push_back(id);
    }

    /// Whether a call was given up without an answer; it has one now.
    pub(super) fn take_given_up(&mut self, id: u64) -> bool {
        let at = self.given_up.iter().position(|given_up| *given_up == id);
        at.and_then(|at| self.given_up.remove(at)).is_some()
    }

    /// What a task means for a call.
    pub(super) fn task_phase(&self, id: u64) -> Option<TaskPhase> {
        self.pending
            .get(&id)
            .filter(|pending| pending.is_call())
            .map(|pending| pending.task.clone())
    }

    /// The server works on a task for this call. `None` if nobody waits for the call any more.
    pub(super) fn work_on(&mut self, id: u64, task_id: Box<str>) -> Option<Origin> {
        // What else comes under that id is late.
        self.take_wire_id(id);
        let pending = self.pending.get_mut(&id)?;
        pending.task = TaskPhase::Working(task_id);
        pending.origin().cloned()
    }

    /// The server has said how far a task is, and is asked again after `pause`: the idle time of its call begins then.
    pub(super) fn note_task(&mut self, id: u64, now_us: u64, pause: Duration) {
        let Some(pending) = self.pending.get_mut(&id) else { return };
        if let ReplyTo::Call(waiter, ..) = &pending.reply_to {
            waiter.note_progress();
        }
        let next_us = after(now_us, micros(pause));
        pending.deadline_us = after(next_us, pending.patience_us).min(pending.wall_us);
    }

    /// A call goes on under another id. Returns whether somebody still waits for it.
    pub(super) fn continue_as(&mut self, id: u64, next: u64) -> bool {
        self.take_wire_id(id);
        let is_open = self.pending.contains_key(&id);
        if is_open {
            self.continued.insert(next, id);
        }
        is_open
    }

    /// Whether this is a control request, whose asker parses the answer itself.
    pub(super) fn is_control(&self, id: u64) -> bool {
        matches!(self.pending.get(&id), Some(PendingRequest { reply_to: ReplyTo::Control(_), .. }))
    }

    pub(super) fn only_id(&self) -> Option<u64> {
        let mut ids = self.pending.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Removes an entry with its outcome and counts it.
    pub(super) fn finish(
        &mut self,
        id: u64,
        outcome: &RequestOutcome,
        now_us: u64,
    ) -> Option<PendingRequest> {
        let pending = self.pending.remove(&id)?;
        if !self.continued.is_empty() {
            self.take_wire_id(id);
        }
        if pending.is_call() {
            self.served |= outcome.is_ok();
            self.answered_us = now_us.max(1);
            let micros = now_us.saturating_sub(pending.started_us);
            self.counters.count_ended(outcome.as_ref().err().map(Error::kind), Some(micros));
        }
        Some(pending)
    }

    pub(super) fn closed(&self) -> Option<&Error> {
        self.closed.as_ref()
    }

    /// Refuses new requests; pending ones continue. Returns whether this is new.
    pub(super) fn refuse(&mut self, error: Error) -> bool {
        let news = self.closed.is_none();
        self.closed.get_or_insert(error);
        news
    }

    /// Refuses new requests and returns the pending ones; `is_unread` tells which ones the server never read.
    pub(super) fn close(
        &mut self,
        error: Error,
        is_unread: impl Fn(u64) -> bool,
    ) -> Vec<(PendingRequest, AfterClose)> {
        let mut ended = Vec::with_capacity(self.pending.len());
        for (id, pending) in self.pending.drain() {
            let after = match (is_unread(id), &pending.reply_to) {
                (true, ReplyTo::Call(_, _, Some(_))) => {
                    self.counters.count_cancelled();
                    let handle: Arc<ResendHandle> = Arc::default();
                    // Done under the table's lock, so that a cancellation finds it.
                    self.resent.insert(id, handle.clone());
                    AfterClose::Resend(handle)
                }
                (unread, ReplyTo::Call(..)) => {
                    self.counters.count_ended(Some(error.kind()), None);
                    AfterClose::Fail(if unread { Executed::No } else { Executed::Unknown })
                }
                (_, ReplyTo::Control(_)) => AfterClose::Fail(Executed::Unknown),
            };
            ended.push((pending, after));
        }
        self.refuse(error);
        ended
    }

    /// Whether the loop behind `mailbox` is the only waiter, including this request.
    pub(super) fn note_reader(&mut self, mailbox: u64) -> bool {
        if self.pending.is_empty() {
            self.reader = mailbox;
        } else if self.reader != mailbox {
            self.reader = 0;
        }
        self.reader != 0
    }

    /// Progress extends the deadline; returns who is notified.
    pub(super) fn note_progress(&mut self, id: u64, now_us: u64) -> Option<OnProgress> {
        let pending = self.pending.get_mut(&id)?;
        if let ReplyTo::Call(waiter, ..) = &pending.reply_to {
            waiter.note_progress();
            // The deadline task may therefore wake too early, never too late.
            pending.deadline_us = after(now_us, pending.patience_us).min(pending.wall_us);
        }
        pending.on_progress.clone()
    }

    /// The manager of this call; without one, that of all pending calls if they have the same.
    pub(super) fn manager_of(&self, call: Option<u64>) -> Option<ManagerId> {
        if let Some(pending) = call.and_then(|id| self.pending.get(&id)) {
            return pending.manager();
        }
        let mut managers = self.pending.values().filter_map(PendingRequest::manager);
        let first = managers.next()?;
        managers.all(|other| other == first).then_some(first)
    }

    /// This call, or all calls without one, do not time out before the given time.
    pub(super) fn pause_calls(&mut self, call: Option<u64>, until_us: u64) {
        for pending in self.calls_mut(call) {
            pending.deadline_us = pending.deadline_us.max(until_us).min(pending.wall_us);
        }
    }

    /// The idle time of this call, or of all calls, begins now.
    pub(super) fn resume_calls(&mut self, call: Option<u64>, now_us: u64) {
        for pending in self.calls_mut(call) {
            if let ReplyTo::Call(waiter, ..) = &pending.reply_to {
                waiter.note_progress();
            }
            pending.deadline_us = after(now_us, pending.patience_us).min(pending.wall_us);
        }
        self.wakes_at_us = 0;
    }

    fn calls_mut(&mut self, call: Option<u64>) -> impl Iterator<Item = &mut PendingRequest> {
        let calls = self.pending.iter_mut().filter(|(_, pending)| pending.is_call());
        calls.filter(move |(id, _)| call.is_none_or(|call| call == **id)).map(|(_, it)| it)
    }

    /// Whether the deadline task sleeps past this deadline.
    pub(super) fn wants_waking(&mut self, deadline_us: u64) -> bool {
        let sleeps_past =
            deadline_us != NEVER && (self.wakes_at_us == 0 || deadline_us < self.wakes_at_us);
        if sleeps_past {
            self.wakes_at_us = deadline_us;
        }
        sleeps_past
    }

    /// The earliest deadline that has passed.
    pub(super) fn first_due(&self, now_us: u64) -> Option<u64> {
        let due = self.pending.values().map(|pending| pending.deadline_us);
        due.min().filter(|&at| at <= now_us)
    }

    /// Removes the requests that timed out; returns the next deadline.
    pub(super) fn expire(&mut self, now_us: u64) -> (Vec<(u64, PendingRequest)>, Option<u64>) {
        let expired: Vec<(u64, PendingRequest)> =
            self.pending.extract_if(|_, pending| pending.deadline_us <= now_us).collect();
        for _ in expired.iter().filter(|(_, pending)| pending.is_call()) {
            self.counters.count_ended(Some(ErrorKind::ToolTimeout), None);
        }
        let next = self.pending.values().map(|pending| pending.deadline_us).min();
        let next = next.filter(|&at| at != NEVER);
        self.wakes_at_us = next.unwrap_or(0);
        (expired, next)
    }
}
