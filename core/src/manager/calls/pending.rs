//! Owns calls that cannot simply be sent: the server is not up yet, is being restarted, or was lost before the call
//! left. Each waits for a session (`waiting`) within its time (`time_budget`), goes out once, and is sent again only where no
//! tool can run twice.
//! Invariant: of a call that may have run, nobody hears that it did not, whatever becomes of it after that.

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
use super::{CallHandle, Handle};
use crate::call::{Arguments, CallOptions, OnProgress, Retry};
use crate::catalog::Offer;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::{Waiter, WaiterProxy};
use crate::question::Question;
use crate::result::{Presenter, ToolResult};
use crate::runtime;
use crate::session::{Content, OutgoingCall, Session, Unsent};
use crate::sync::lock;
use crate::tool::ServerTool;

/// A call with everything that is needed to send it, and to send it again.
pub(super) struct PendingCall {
    connection: Arc<Connection>,
    presenter: Arc<Presenter>,
    offer: Arc<Offer>,
    wanted: WantedTool,
    arguments: Arguments,
    meta: Option<Arguments>,
    on_progress: Option<OnProgress>,
    time_budget: TimeBudget,
    retry: Retry,
    restart_wait: Duration,
    /// Who has to say yes, where a manager asks.
    approval_check: Option<Box<ApprovalCheck>>,
    /// Whether that comes before anything else.
    asks_first: bool,
    /// Who waits for its end, while it is under way.
    waiter: Mutex<Option<Waiter>>,
    /// The caller and the tool as it is now allow a second run.
    repeatable: AtomicBool,
    /// How it was lost, once it goes out again; there is no third time.
    lost: OnceLock<Error>,
}

/// What holds for a call, by its options and its server's definition.
pub(super) struct CallSettings {
    pub(super) presenter: Arc<Presenter>,
    pub(super) time_budget: TimeBudget,
    pub(super) retry: Retry,
    pub(super) restart_wait: Duration,
    pub(super) approval_check: Option<Box<ApprovalCheck>>,
}

/// The tool that is meant, by its entry where one is known.
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

/// A session that did not take the call, and how it said so.
type LostSession = (Arc<Session>, Error);

impl PendingCall {
    pub(super) fn new(
        connection: Arc<Connection>,
        offer: Arc<Offer>,
        wanted: WantedTool,
        arguments: Arguments,
        options: CallOptions,
        CallSettings { presenter, time_budget, retry, restart_wait, approval_check }: CallSettings,
    ) -> Self {
        let CallOptions { meta, on_progress, .. } = options;
        PendingCall {
            connection,
            presenter,
            offer,
            wanted,
            arguments,
            meta,
            on_progress,
            time_budget,
            retry,
            restart_wait,
            approval_check,
            asks_first: false,
            waiter: Mutex::default(),
            repeatable: AtomicBool::new(false),
            lost: OnceLock::new(),
        }
    }

    /// Asks about this tool before a session is waited for.
    pub(super) fn ask_first(mut self, manager: &Manager, tool: &ServerTool) -> Self {
        if let Some(approval_check) = &mut self.approval_check {
            approval_check.look_up(manager, tool);
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

    /// The same for a call that a session did not take.
    pub(super) fn start_after_loss(self, waiter: Waiter, lost_session: LostSession) -> CallHandle {
        let call = self.into_task();
        call.resume(waiter, Some(lost_session));
        call.handle()
    }

    /// Sends on a session that is up; should that fail, the call waits for another one.
    pub(super) fn send_now(
        self,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> CallHandle {
        let call = self.into_task();
        if let Err(Unsent { error, waiter, .. }) = call.send(session, tool, waiter) {
            if error.kind() == ErrorKind::ConnectionLost {
                call.resume(waiter, Some((session.clone(), error)));
            } else {
                waiter.finish(Err(error));
            }
        }
        call.handle()
    }

    fn into_task(self) -> Arc<CallTask> {
        let progressed = Mutex::new(Progressed::Waiting(None));
        Arc::new(CallTask { progressed, pending: self })
    }

    fn outgoing_call<'a>(&'a self, tool: &'a ServerTool) -> OutgoingCall<'a> {
        OutgoingCall {
            tool,
            presenter: &self.presenter,
            content: Content::Borrowed {
                arguments: &self.arguments,
                meta: self.meta.as_ref(),
                on_progress: self.on_progress.clone(),
            },
        }
    }

    async fn pass(
        &self,
        approval_check: &ApprovalCheck,
        tool: &ServerTool,
        waiter: &Waiter,
    ) -> Result<()> {
        let began = Instant::now();
        approval_check.pass(tool, &self.arguments, waiter, self.time_budget.total(began)).await?;
        self.time_budget.exclude(began.elapsed());
        // A server is not idle whose call was just waited for.
        self.connection.touch();
        Ok(())
    }

    /// Whether it goes out again: no tool can run twice by it, and there is a session for it, this one or a next.
    fn may_resend(&self, error: &Error, session: &Session) -> bool {
        let harmless = match error.executed() {
            // Who lives and did not take it will not take it the next time.
            Some(Executed::No) => session.is_over(),
            Some(Executed::Unknown) => self.repeatable.load(Ordering::Relaxed),
            _ => false,
        };
        // Who asks for time is not to be asked at once.
        let may_come_at_once = error.retry_after_ms().is_none();
        harmless
            && may_come_at_once
            && error.kind() == ErrorKind::ConnectionLost
            && self.lost.get().is_none()
    }

    /// How it was lost, if it may have run then.
    fn lost_unknown(&self) -> Option<&Error> {
        self.lost.get().filter(|lost| lost.executed() == Some(Executed::Unknown))
    }

    /// What a caller hears whose call was not taken by any session.
    fn not_taken(&self, error: Error) -> Error {
        match self.lost_unknown() {
            // It may have run: that outweighs why it could not be sent again.
            Some(lost) => lost.clone(),
            None => error.with_executed(Executed::No),
        }
    }
}

/// An errand and how far it has come. One piece of memory, which the caller's thread made and mostly lets go of.
pub(super) struct CallTask {
    progressed: Mutex<Progressed>,
    pending: PendingCall,
}

enum Progressed {
    Sent(Arc<Session>, u64),
    Waiting(Option<AbortHandle>),
    GivenUp,
}

impl CallTask {
    fn handle(self: Arc<Self>) -> CallHandle {
        CallHandle(ProcessLocal::new(Handle::CallTask(self)))
    }

    pub(super) fn cancel(&self) {
        match std::mem::replace(&mut *lock(&self.progressed), Progressed::GivenUp) {
            Progressed::Sent(session, id) => session.cancel(id),
            Progressed::Waiting(Some(task)) => task.abort(),
            Progressed::Waiting(None) | Progressed::GivenUp => {}
        }
    }

    fn resume(self: &Arc<Self>, waiter: Waiter, lost_session: Option<LostSession>) {
        let mine = self.clone();
        // Held until the task is noted: whoever gives up finds it.
        let mut progressed = lock(&self.progressed);
        if let Progressed::GivenUp = *progressed {
            return;
        }
        let task = runtime::spawn(async move { mine.run(waiter, lost_session).await });
        *progressed = Progressed::Waiting(Some(task.abort_handle()));
    }

    async fn run(self: Arc<Self>, mut waiter: Waiter, mut lost_session: Option<LostSession>) {
        let pending = &self.pending;
        if let (true, Some(approval_check), WantedTool::Known(tool)) =
            (pending.asks_first, &pending.approval_check, &pending.wanted)
            && !approval_check.has_passed()
            && let Err(error) = pending.pass(approval_check, tool, &waiter).await
        {
            return waiter.finish(Err(error));
        }
        let mut restarting_until = None;
        loop {
            let found = pending.session(lost_session.as_ref(), &mut restarting_until);
            let found = timeout_at(pending.time_budget.deadline(), found).await;
            // What was found when the time was over would only be sent to be given up.
            let found = found
                .ok()
                .filter(|found| found.is_err() || Instant::now() < pending.time_budget.deadline());
            let (session, tool) = match found.unwrap_or_else(|| Err(pending.late())) {
                Ok(found) => found,
                Err(error) => return waiter.finish(Err(pending.not_taken(error))),
            };
            // It may be another program by now, whose tool makes no such promise.
            if let Some(lost) = pending.lost_unknown().filter(|_| !tool.is_repeatable()) {
                return waiter.finish(Err(lost.clone()));
            }
            if let Some(approval_check) = pending
                .approval_check
                .as_ref()
                .filter(|approval_check| approval_check.is_closed_to(&tool, &pending.offer))
            {
                if let Err(error) = pending.pass(approval_check, &tool, &waiter).await {
                    return waiter.finish(Err(pending.not_taken(error)));
                }
                // The session may have ended meanwhile.
                continue;
            }
            let Err(Unsent { error, waiter: back, .. }) = self.send(&session, &tool, waiter) else {
                return;
            };
            if error.kind() != ErrorKind::ConnectionLost {
                return back.finish(Err(pending.not_taken(error)));
            }
            (waiter, lost_session) = (back, Some((session, error)));
        }
    }

    fn send(
        self: &Arc<Self>,
        session: &Arc<Session>,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> Result<(), Unsent> {
        // Under the lock: whoever gives up, or is lost at once, sees the sent call.
        let mut progressed = lock(&self.progressed);
        if let Progressed::GivenUp = *progressed {
            return Ok(());
        }
        let pending = &self.pending;
        let repeatable = pending.retry == Retry::Safe && tool.is_repeatable();
        pending.repeatable.store(repeatable, Ordering::Relaxed);
        *lock(&pending.waiter) = Some(waiter);
        let limits = pending.time_budget.limits(Instant::now());
        match session.call(pending.outgoing_call(tool), limits, Waiter::Proxy(self.clone())) {
            Ok(id) => {
                *progressed = Progressed::Sent(session.clone(), id);
                Ok(())
            }
            Err(Unsent { error, .. }) => match lock(&pending.waiter).take() {
                Some(waiter) => Err(Unsent { error, waiter, request: None }),
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
        self.pending.time_budget.restart_idle(Instant::now());
    }

    /// Stands in the caller's place, so that a lost call can be sent again before the caller hears of it.
    fn finish(self: Arc<Self>, outcome: Result<ToolResult>) {
        let pending = &self.pending;
        let Some(waiter) = lock(&pending.waiter).take() else { return };
        let error = match outcome {
            Err(error) => error,
            outcome => return waiter.finish(outcome),
        };
        let session = match &*lock(&self.progressed) {
            Progressed::Sent(session, _) => session.clone(),
            // Given up meanwhile.
            _ => return,
        };
        if pending.may_resend(&error, &session) {
            let _ = pending.lost.set(error.clone());
            // One that lives takes it again; only the next one of a lost session is worth a wait.
            let lost_session = session.is_over().then_some((session, error));
            return self.resume(waiter, lost_session);
        }
        waiter.finish(Err(match error.executed() {
            Some(Executed::No) => pending.not_taken(error),
            _ => error,
        }));
    }
}
