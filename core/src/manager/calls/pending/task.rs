//! Owns the task of a pending call: it waits for approval, a session and the call's turn, sends the call, and sends it
//! again after a loss.
//! Invariant: a cancellation finds the task or the sent call, whichever there is.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::super::handle::{CallHandle, Handle};
use super::{LostSession, PendingCall, WantedTool};
use crate::call::Retry;
use crate::connection::CallPermit;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::mailbox::{Waiter, WaiterProxy};
use crate::question::Question;
use crate::result::ToolResult;
use crate::runtime;
use crate::session::{Session, UnsentCall};
use crate::sync::lock;
use crate::tool::ServerTool;

/// A pending call and its state in one allocation, made and usually freed on the caller's thread.
pub(in crate::manager::calls) struct CallTask {
    pub(super) state: Mutex<TaskState>,
    pub(super) pending: PendingCall,
}

pub(super) enum TaskState {
    Sent(Arc<Session>, u64),
    Waiting(Option<AbortHandle>),
    Cancelled,
}

impl CallTask {
    pub(super) fn handle(self: Arc<Self>) -> CallHandle {
        CallHandle::new(Handle::CallTask(self))
    }

    pub(in crate::manager::calls) fn cancel(&self) {
        match std::mem::replace(&mut *lock(&self.state), TaskState::Cancelled) {
            TaskState::Sent(session, id) => session.cancel(id),
            TaskState::Waiting(Some(task)) => task.abort(),
            TaskState::Waiting(None) | TaskState::Cancelled => {}
        }
        drop(lock(&self.pending.permit).take());
    }

    pub(super) fn resume(self: &Arc<Self>, waiter: Waiter, lost_session: Option<LostSession>) {
        let running = self.clone();
        // Locked until the task is stored, so that a cancellation finds it.
        let mut state = lock(&self.state);
        if let TaskState::Cancelled = *state {
            return;
        }
        let task = runtime::spawn(async move { running.run(waiter, lost_session).await });
        *state = TaskState::Waiting(Some(task.abort_handle()));
    }

    async fn run(self: Arc<Self>, mut waiter: Waiter, mut lost_session: Option<LostSession>) {
        let pending = &self.pending;
        let spec = &pending.spec;
        if let (true, Some(approval_check), WantedTool::Known(tool)) =
            (pending.asks_first, &spec.approval_check, &spec.wanted)
            && !approval_check.is_approved()
            && let Err(error) = pending.wait_for_approval(approval_check, tool, &waiter).await
        {
            return pending.finish(waiter, Err(error));
        }
        if pending.connects_first
            && let Err(error) = pending.connect().await
        {
            return pending.finish(waiter, Err(pending.not_taken(error)));
        }
        let mut restarting_until = None;
        let mut permit = lock(&pending.permit).take();
        loop {
            let found = pending.find_session(lost_session.as_ref(), &mut restarting_until);
            let found = async {
                tokio::select! {
                    biased;
                    () = spec.left.wait() => Err(spec.left.error(pending.connection.server())),
                    found = found => found,
                }
            };
            let found = timeout_at(spec.time_budget.deadline(), found).await;
            // A call sent after its deadline would be cancelled immediately.
            let found = found
                .ok()
                .filter(|found| found.is_err() || Instant::now() < spec.time_budget.deadline());
            let (session, tool) = match found.unwrap_or_else(|| Err(pending.timed_out())) {
                Ok(found) => found,
                Err(error) => return pending.finish(waiter, Err(pending.not_taken(error))),
            };
            // The server may be a different program now, whose tool does not promise this.
            if !pending.waits_again()
                && !tool.is_repeatable()
                && let Some(lost) = pending.lost_unknown()
            {
                return pending.finish(waiter, Err(lost.clone()));
            }
            let approval_check = spec.approval_check.as_ref();
            if let Some(check) = approval_check.filter(|check| check.is_due(&tool, &spec.offer)) {
                if let Err(error) = pending.wait_for_approval(check, &tool, &waiter).await {
                    return pending.finish(waiter, Err(pending.not_taken(error)));
                }
                // The session may have ended in the meantime.
                continue;
            }
            if permit.is_none() {
                match pending.wait_for_turn().await {
                    Ok(turn) => permit = Some(turn),
                    Err(error) => return pending.finish(waiter, Err(pending.not_taken(error))),
                }
                // The session may have ended in the meantime.
                continue;
            }
            let Err((returned, error)) = self.send(&session, &tool, waiter, &mut permit) else {
                return;
            };
            if error.kind() != ErrorKind::ConnectionLost {
                return pending.finish(returned, Err(pending.not_taken(error)));
            }
            (waiter, lost_session) = (returned, Some((session, error)));
        }
    }

    /// Sends the call on the session; returns the waiter with the error if nothing was sent.
    pub(super) fn send(
        self: &Arc<Self>,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
        permit: &mut Option<CallPermit>,
    ) -> Result<(), (Waiter, Error)> {
        // Locked until the call is marked as sent, so that a cancellation or an immediate loss finds it.
        let mut state = lock(&self.state);
        if let TaskState::Cancelled = *state {
            return Ok(());
        }
        let pending = &self.pending;
        pending.give_headers();
        let repeatable = pending.spec.retry == Retry::Safe && tool.is_repeatable();
        pending.repeatable.store(repeatable, Ordering::Relaxed);
        *lock(&pending.waiter) = Some(waiter);
        *lock(&pending.sent_tool) = pending.spec.check_output.then(|| tool.clone());
        // Stored first, because the answer may come at once.
        *lock(&pending.permit) = permit.take();
        let limits = pending.spec.time_budget.limits_left(Instant::now());
        match session.call(pending.outgoing_call(tool), limits, Waiter::Proxy(self.clone())) {
            Ok(id) => {
                *state = TaskState::Sent(session.clone(), id);
                drop(state);
                // The manager may have released the connection in the meantime.
                if pending.spec.left.is_over() {
                    session.end_call(id);
                }
                Ok(())
            }
            Err(UnsentCall { error, .. }) => {
                *permit = lock(&pending.permit).take();
                match lock(&pending.waiter).take() {
                    Some(waiter) => Err((waiter, error)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl WaiterProxy for CallTask {
    fn ask(&self, question: Question) {
        if let Some(waiter) = &*lock(&self.pending.waiter) {
            waiter.ask(question);
        }
    }

    fn note_progress(&self) {
        self.pending.spec.time_budget.restart_idle(Instant::now());
    }

    /// Resends a lost call before the loss is reported to the caller.
    fn finish(self: Arc<Self>, outcome: Result<ToolResult>) {
        let pending = &self.pending;
        let Some(waiter) = lock(&pending.waiter).take() else { return };
        let error = match outcome {
            Err(error) => error,
            outcome => return pending.finish(waiter, outcome),
        };
        let session = match &*lock(&self.state) {
            TaskState::Sent(session, _) => session.clone(),
            TaskState::Waiting(_) | TaskState::Cancelled => return,
        };
        if pending.may_resend(&error, &session) {
            let _ = pending.lost.set(error.clone());
            // A live session takes the call again; only after a lost session does the call wait for the next one.
            let lost_session = session.is_over().then_some((session, error));
            return self.resume(waiter, lost_session);
        }
        let error = match error.executed() {
            Some(Executed::No) => pending.not_taken(error),
            // The server does not know the task any more.
            Some(Executed::Unknown) if pending.waits_again() => pending.not_taken(error),
            _ => error,
        };
        pending.finish(waiter, Err(error));
    }
}
