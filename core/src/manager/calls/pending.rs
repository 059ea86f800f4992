//! Owns calls that cannot be sent directly: the server is not up yet, is being restarted, or was lost before the call
//! was sent. Each waits for a session (`waiting`) within its time budget (`time_budget`) and is then sent. It is sent
//! again only if no tool can run twice.
//! Invariant: a call that may have run is never reported as not run.

mod output_check;
mod task;
mod time_budget;
mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use self::output_check::checked;
pub(in crate::manager::calls) use self::task::CallTask;
use self::task::TaskState;
pub(super) use self::time_budget::TimeBudget;

use super::super::Manager;
use super::super::identities::IdentityHold;
use super::super::server::Left;
use super::approval_check::ApprovalCheck;
use super::handle::CallHandle;
use crate::call::{Arguments, OnProgress, Retry, TaskUse};
use crate::caller::{CallerHeaders, HeadersInUse};
use crate::catalog::Offer;
use crate::connection::{CallPermit, Connection, Turn};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::mailbox::Waiter;
use crate::result::{Presenter, ToolResult};
use crate::runtime;
use crate::session::{CallContent, OutgoingCall, Session};
use crate::status::State;
use crate::sync::lock;
use crate::task::TaskId;
use crate::tool::ServerTool;
use crate::wire::Wire;

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
    pub(super) check_output: bool,
    pub(super) return_task: bool,
    pub(super) resume_task: Option<TaskId>,
    pub(super) restart_wait: Duration,
    /// Tells that the manager has released the server.
    pub(super) left: Left,
    /// Tells the managers of a server apart.
    pub(super) manager_id: usize,
    /// Set if the manager asks for approval.
    pub(super) approval_check: Option<Box<ApprovalCheck>>,
    pub(super) headers: Option<CallerHeaders>,
    /// The part of them that the connection keeps for its identity.
    pub(super) kept_headers: Option<CallerHeaders>,
    /// Keeps the connection of another identity than the manager's.
    pub(super) _hold: Option<Arc<IdentityHold>>,
}

/// A call that waits for a session, or is kept for a resend.
pub(super) struct PendingCall {
    connection: Arc<Connection>,
    spec: CallSpec,
    /// Approval comes first.
    asks_first: bool,
    /// A connect comes before the wait for a session.
    connects_first: bool,
    /// Its headers, hidden while it lasts.
    headers_in_use: OnceLock<HeadersInUse>,
    /// Set while the call is in flight.
    waiter: Mutex<Option<Waiter>>,
    /// The call's place in the queue of its server, until it waits there.
    turn: Mutex<Option<Turn>>,
    /// The permit of a call in flight.
    permit: Mutex<Option<CallPermit>>,
    /// Whether the caller and the tool's current definition allow a second run.
    repeatable: AtomicBool,
    /// The tool as it was when the call was sent, if its result is compared with its output schema.
    sent_tool: Mutex<Option<Arc<ServerTool>>>,
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
            connects_first: false,
            headers_in_use: OnceLock::new(),
            waiter: Mutex::default(),
            turn: Mutex::default(),
            permit: Mutex::default(),
            repeatable: AtomicBool::new(false),
            sent_tool: Mutex::default(),
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

    /// Connects before waiting for a session, and after an approval.
    pub(super) fn connect_first(self) -> Self {
        PendingCall { connects_first: true, ..self }
    }

    /// Passes the headers to the connection: they are about to be sent.
    fn give_headers(&self) {
        let Some(headers) = &self.spec.headers else { return };
        let connection_headers = self.connection.headers();
        self.headers_in_use.get_or_init(|| connection_headers.hide(headers));
        if let Some(kept) = &self.spec.kept_headers {
            connection_headers.keep(kept);
        }
    }

    /// Connects, within the call's time. An attempt that fails is no error while others follow.
    async fn connect(&self) -> Result<()> {
        self.give_headers();
        let connected = tokio::select! {
            biased;
            () = self.spec.left.wait() => return Err(self.spec.left.error(self.connection.server())),
            connected = self.connection.connect() => connected,
            () = sleep_until(self.spec.time_budget.deadline()) => return Err(self.timed_out()),
        };
        match self.connection.published().state {
            State::Connecting | State::Reconnecting => Ok(()),
            _ => connected,
        }
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

    /// Sends on a session that is up, or waits for the call's turn.
    pub(super) fn send_in_turn(
        mut self,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> CallHandle {
        // Entered on the caller's thread, so that calls keep their order.
        let mut turn = self.enter_queue();
        match turn.try_take() {
            Some(permit) => self.send_with(Some(permit), session, tool, waiter),
            None => {
                self.turn = Mutex::new(Some(turn));
                self.start(waiter)
            }
        }
    }

    /// Sends on a session that is up; if that fails, the call waits for another one.
    pub(super) fn send_now(
        self,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> CallHandle {
        self.send_with(None, session, tool, waiter)
    }

    fn send_with(
        self,
        mut permit: Option<CallPermit>,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> CallHandle {
        let call = self.into_task();
        if let Err((waiter, error)) = call.send(session, tool, waiter, &mut permit) {
            if error.kind() == ErrorKind::ConnectionLost {
                *lock(&call.pending.permit) = permit;
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
                headers: self.spec.headers.clone(),
                task: self.task_use(),
            },
        }
    }

    fn task_use(&self) -> TaskUse<'_> {
        let lost = self.lost.get().and_then(Error::task_id);
        TaskUse::new(lost, self.spec.resume_task.as_ref(), self.spec.return_task)
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

    fn enter_queue(&self) -> Turn {
        self.connection.call_queue().enter(self.spec.manager_id)
    }

    /// Waits for the call's turn. The time counts towards the call's limit.
    async fn wait_for_turn(&self) -> Result<CallPermit> {
        let turn = lock(&self.turn).take().unwrap_or_else(|| self.enter_queue());
        tokio::select! {
            biased;
            permit = turn.wait() => Ok(permit),
            () = self.spec.left.wait() => Err(self.spec.left.error(self.connection.server())),
            () = sleep_until(self.spec.time_budget.deadline()) => Err(self.no_turn_in_time()),
        }
    }

    /// Ends the call: the next one gets its turn.
    fn finish(&self, waiter: Waiter, outcome: Result<ToolResult>) {
        drop(lock(&self.permit).take());
        let result = match outcome {
            Ok(result) => result,
            Err(error) => {
                let error = self.spec.left.closed_or(self.connection.server(), error);
                return waiter.finish(Err(error));
            }
        };
        let tool = lock(&self.sent_tool).take();
        match tool.filter(|_| !(self.spec.return_task && result.task().is_some())) {
            Some(tool) => {
                let (connection, deadline) =
                    (self.connection.clone(), self.spec.time_budget.deadline());
                runtime::spawn(async move {
                    waiter.finish(checked(&connection, tool, result, deadline).await);
                });
            }
            None => waiter.finish(Ok(result)),
        }
    }

    /// Whether the call is sent again: no tool can run twice, and this session or the next one can take it.
    fn may_resend(&self, error: &Error, session: &Session) -> bool {
        let harmless = match error.executed() {
            // A live session that refused the call will refuse it again.
            Some(Executed::No) => session.is_over(),
            // The next session only waits for it. A program loses its tasks when it ends.
            Some(Executed::Unknown) if error.task_id().is_some() => {
                session.wire().is_some_and(Wire::reports_unsent_later)
            }
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

    /// Whether a later session waits for the task that the call began.
    fn waits_again(&self) -> bool {
        self.lost.get().is_some_and(|lost| lost.task_id().is_some())
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
