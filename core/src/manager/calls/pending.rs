//! Owns calls that cannot be sent directly: the server is not up yet, is being restarted, or was lost before the call
//! was sent. Each waits for a session (`waiting`) within its time budget (`time_budget`) and is then sent. It is sent
//! again only if no tool can run twice.
//! Invariant: a call that may have run is never reported as not run.

mod time_budget;
mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

pub(super) use self::time_budget::TimeBudget;

use super::super::Manager;
use super::approval_check::ApprovalCheck;
use super::handle::{CallHandle, Handle};
use crate::call::{Arguments, OnProgress, Retry};
use crate::catalog::Offer;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::mailbox::{Waiter, WaiterProxy};
use crate::question::Question;
use crate::result::{Presenter, ToolResult};
use crate::runtime;
use crate::session::{CallContent, OutgoingCall, Session, UnsentCall};
use crate::sync::lock;
use crate::tool::ServerTool;

/// A call with everything needed to send it, except the connection.
pub(super) struct CallSpec {
    pub(super) presenter: Arc<Presenter>,
    pub(super) offer: Arc<Offer>,
    pub(super) wanted: WantedTool,
    pub(super) arguments: Arguments,
    pub(super) meta: Option<Arguments>,
    pub(super) on_progress: Option<OnProgress>,
    pub(super) time_budget: TimeBudget,
    pub(super) retry: Retry,
    pub(super) restart_wait: Duration,
    /// Set if the manager asks for approval.
    pub(super) approval_check: Option<Box<ApprovalCheck>>,
}

/// A call that waits for a session, or is kept for a resend.
pub(super) struct PendingCall {
    connection: Arc<Connection>,
    spec: CallSpec,
    /// Approval comes first.
    asks_first: bool,
    /// Set while the call is in flight.
    waiter: Mutex<Option<Waiter>>,
    /// Whether the caller and the tool's current definition allow a second run.
    repeatable: AtomicBool,
    /// The error of the first loss, set by a resend; there is no second resend.
    lost: OnceLock<Error>,
}

/// The requested tool, with its entry if that is known.
pub(super) enum WantedTool {
    Known(Arc<ServerTool>),
    Named(String),
}

impl WantedTool {
    fn raw_name(&self) -> &str {
        match self {
            WantedTool::Known(tool) => tool.raw_name(),
            WantedTool::Named(name) => name,
        }
    }
}

/// A session that did not take the call, and its error.
type LostSession = (Arc<Session>, Error);

impl PendingCall {
    pub(super) fn new(connection: Arc<Connection>, spec: CallSpec) -> Self {
        PendingCall {
            connection,
            spec,
            asks_first: false,
            waiter: Mutex::default(),
            repeatable: AtomicBool::new(false),
            lost: OnceLock::new(),
        }
    }

    /// Asks for approval of this tool before waiting for a session.
    pub(super) fn ask_first(mut self, manager: &Manager, tool: &ServerTool) -> Self {
        if let Some(approval_check) = &mut self.spec.approval_check {
            approval_check.look_up_name(manager, tool);
            self.asks_first = true;
        }
        self
    }

    /// Waits for a session and sends the call there.
    pub(super) fn start(self, waiter: Waiter) -> CallHandle {
        let call = self.into_task();
        call.resume(waiter, None);
        call.handle()
    }

    /// Same, for a call that a session did not take.
    pub(super) fn start_after_loss(self, waiter: Waiter, lost_session: LostSession) -> CallHandle {
        let call = self.into_task();
        call.resume(waiter, Some(lost_session));
        call.handle()
    }

    /// Sends on a session that is up; if that fails, the call waits for another one.
    pub(super) fn send_now(
        self,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> CallHandle {
        let call = self.into_task();
        if let Err((waiter, error)) = call.send(session, tool, waiter) {
            if error.kind() == ErrorKind::ConnectionLost {
                call.resume(waiter, Some((session.clone(), error)));
            } else {
                waiter.finish(Err(error));
            }
        }
        call.handle()
    }

    fn into_task(self) -> Arc<CallTask> {
        Arc::new(CallTask { state: Mutex::new(TaskState::Waiting(None)), pending: self })
    }

    fn outgoing_call<'a>(&'a self, tool: &'a ServerTool) -> OutgoingCall<'a> {
        OutgoingCall {
            tool,
            presenter: &self.spec.presenter,
            content: CallContent::Borrowed {
                arguments: &self.spec.arguments,
                meta: self.spec.meta.as_ref(),
                on_progress: self.spec.on_progress.clone(),
            },
        }
    }

    /// Waits for the approval. This time counts towards the call's total limit only.
    async fn wait_for_approval(
        &self,
        approval_check: &ApprovalCheck,
        tool: &ServerTool,
        waiter: &Waiter,
    ) -> Result<()> {
        let began = Instant::now();
        let CallSpec { arguments, time_budget, .. } = &self.spec;
        approval_check.wait(tool, arguments, waiter, time_budget.total_left(began)).await?;
        time_budget.exclude(began.elapsed());
        // A server whose call waits for approval is not idle.
        self.connection.touch();
        Ok(())
    }

    /// Whether the call is sent again: no tool can run twice, and this session or the next one can take it.
    fn may_resend(&self, error: &Error, session: &Session) -> bool {
        let harmless = match error.executed() {
            // A live session that refused the call will refuse it again.
            Some(Executed::No) => session.is_over(),
            Some(Executed::Unknown) => self.repeatable.load(Ordering::Relaxed),
            _ => false,
        };
        // A server that asks for a delay is not retried immediately.
        let wants_time = error.retry_after_ms().is_some();
        harmless
            && !wants_time
            && error.kind() == ErrorKind::ConnectionLost
            && self.lost.get().is_none()
    }

    /// The error of the loss, if the call may have run.
    fn lost_unknown(&self) -> Option<&Error> {
        self.lost.get().filter(|lost| lost.executed() == Some(Executed::Unknown))
    }

    /// The error of a call that no session took.
    fn not_taken(&self, error: Error) -> Error {
        match self.lost_unknown() {
            // That the tool may have run is more important than why the resend failed.
            Some(lost) => lost.clone(),
            None => error.with_executed(Executed::No),
        }
    }
}

/// A pending call and its state in one allocation, made and usually freed on the caller's thread.
pub(super) struct CallTask {
    state: Mutex<TaskState>,
    pending: PendingCall,
}

enum TaskState {
    Sent(Arc<Session>, u64),
    Waiting(Option<AbortHandle>),
    Cancelled,
}

impl CallTask {
    fn handle(self: Arc<Self>) -> CallHandle {
        CallHandle::new(Handle::CallTask(self))
    }

    pub(super) fn cancel(&self) {
        match std::mem::replace(&mut *lock(&self.state), TaskState::Cancelled) {
            TaskState::Sent(session, id) => session.cancel(id),
            TaskState::Waiting(Some(task)) => task.abort(),
            TaskState::Waiting(None) | TaskState::Cancelled => {}
        }
    }

    fn resume(self: &Arc<Self>, waiter: Waiter, lost_session: Option<LostSession>) {
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
            return waiter.finish(Err(error));
        }
        let mut restarting_until = None;
        loop {
            let found = pending.find_session(lost_session.as_ref(), &mut restarting_until);
            let found = timeout_at(spec.time_budget.deadline(), found).await;
            // A call sent after its deadline would be cancelled immediately.
            let found = found
                .ok()
                .filter(|found| found.is_err() || Instant::now() < spec.time_budget.deadline());
            let (session, tool) = match found.unwrap_or_else(|| Err(pending.timed_out())) {
                Ok(found) => found,
                Err(error) => return waiter.finish(Err(pending.not_taken(error))),
            };
            // The server may be a different program now, whose tool does not promise this.
            if let Some(lost) = pending.lost_unknown().filter(|_| !tool.is_repeatable()) {
                return waiter.finish(Err(lost.clone()));
            }
            let approval_check = spec.approval_check.as_ref();
            if let Some(check) = approval_check.filter(|check| check.is_due(&tool, &spec.offer)) {
                if let Err(error) = pending.wait_for_approval(check, &tool, &waiter).await {
                    return waiter.finish(Err(pending.not_taken(error)));
                }
                // The session may have ended in the meantime.
                continue;
            }
            let Err((returned, error)) = self.send(&session, &tool, waiter) else { return };
            if error.kind() != ErrorKind::ConnectionLost {
                return returned.finish(Err(pending.not_taken(error)));
            }
            (waiter, lost_session) = (returned, Some((session, error)));
        }
    }

    /// Sends the call on the session; returns the waiter with the error if nothing was sent.
    fn send(
        self: &Arc<Self>,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> Result<(), (Waiter, Error)> {
        // Locked until the call is marked as sent, so that a cancellation or an immediate loss finds it.
        let mut state = lock(&self.state);
        if let TaskState::Cancelled = *state {
            return Ok(());
        }
        let pending = &self.pending;
        let repeatable = pending.spec.retry == Retry::Safe && tool.is_repeatable();
        pending.repeatable.store(repeatable, Ordering::Relaxed);
        *lock(&pending.waiter) = Some(waiter);
        let limits = pending.spec.time_budget.limits_left(Instant::now());
        match session.call(pending.outgoing_call(tool), limits, Waiter::Proxy(self.clone())) {
            Ok(id) => {
                *state = TaskState::Sent(session.clone(), id);
                Ok(())
            }
            Err(UnsentCall { error, .. }) => match lock(&pending.waiter).take() {
                Some(waiter) => Err((waiter, error)),
                None => Ok(()),
            },
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
            outcome => return waiter.finish(outcome),
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
        waiter.finish(Err(match error.executed() {
            Some(Executed::No) => pending.not_taken(error),
            _ => error,
        }));
    }
}
