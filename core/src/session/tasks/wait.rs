//! Owns one call's wait for its task: asking how far it is, answering its questions, and fetching its result.

use std::collections::HashSet;
use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;

use super::super::Session;
use super::super::rounds::{InputRequests, ROUNDS, asks_too_much, asks_too_often};
use super::super::table::RequestOutcome;
use super::state::{SHORTEST_INTERVAL, TaskOutcome, TaskState, unreadable};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::EventKind;
use crate::result::Origin;
use crate::runtime;
use crate::sync::lock;
use crate::task::{Task, TaskStatus};

/// The longest pause after failures, as a power of two in seconds.
const LONGEST_PAUSE: u32 = 5;

/// A call's wait for its task.
pub(super) struct Wait {
    session: Weak<Session>,
    /// Of the call.
    id: u64,
    origin: Origin,
    changed: Arc<Notify>,
    /// The questions that have an answer, by their keys.
    answered: HashSet<String>,
    /// How often the server has asked.
    rounds: u8,
    /// What was last shown of the task.
    shown: Option<(TaskStatus, Option<String>)>,
    /// The answer to `tasks/result`, which a server gives when the task has ended.
    result: Option<BoxFuture<'static, Option<RequestOutcome>>>,
}

impl Wait {
    pub(super) fn new(
        session: Weak<Session>,
        id: u64,
        origin: Origin,
        changed: Arc<Notify>,
    ) -> Self {
        let (answered, rounds, shown, result) = (HashSet::new(), 0, None, None);
        Wait { session, id, origin, changed, answered, rounds, shown, result }
    }

    pub(super) async fn run(mut self, mut state: TaskState) {
        let mut failures = 0;
        loop {
            if failures == 0 {
                let Some(session) = self.session.upgrade() else { return };
                let ended = self.consider(&session, &mut state).await;
                drop(session);
                if let Some(outcome) = ended {
                    return self.end(outcome);
                }
            }
            let interval = state.interval().max(pause_after(failures));
            if let Some(outcome) = self.pause(interval).await {
                return self.end(outcome);
            }
            let Some(session) = self.session.upgrade() else { return };
            match ask(&session, &state.task.task_id).await {
                Ok(Some(next)) => (state, failures) = (next, 0),
                Ok(None) => failures += 1,
                Err(error) => {
                    drop(session);
                    return self.end(Err(error));
                }
            }
        }
    }

    fn end(self, outcome: RequestOutcome) {
        let outcome = outcome.and_then(checked_result);
        let Some(session) = self.session.upgrade() else { return };
        let Some(wait) = session.tasks.take(self.id) else { return };
        // Nobody answers its questions, so it would wait for ever.
        let waits_on = |error: &Error| {
            matches!(error.kind(), ErrorKind::ToolRejected | ErrorKind::LimitExceeded)
        };
        if outcome.as_ref().is_err_and(waits_on) && wait.is_own {
            session.cancel_task(&wait.task_id);
        }
        session.finish_request(self.id, outcome);
    }

    /// What a state means: the outcome of the call, or that the task goes on.
    async fn consider(
        &mut self,
        session: &Arc<Session>,
        state: &mut TaskState,
    ) -> Option<RequestOutcome> {
        self.show(session, &state.task);
        let task_id = state.task.task_id.clone();
        match (state.task.status, state.outcome.take()) {
            (_, Some(TaskOutcome::Result(result))) => return Some(Ok(result)),
            (_, Some(TaskOutcome::Error(error))) => return Some(Err(session.rpc_error(&error))),
            (TaskStatus::Cancelled, None) => {
                let error = Error::new(ErrorKind::ToolFailed, "The server has cancelled the task");
                return Some(Err(error.with_executed(Executed::Unknown)));
            }
            (status, None) if status.is_over() && session.is_stateless() => {
                return Some(Err(unreadable()));
            }
            // With a handshake, the questions about a task come while its result is waited for.
            (TaskStatus::InputRequired | TaskStatus::Completed | TaskStatus::Failed, None)
                if !session.is_stateless() && self.result.is_none() =>
            {
                let weak = self.session.clone();
                let fetch = async move { weak.upgrade()?.task_result(&task_id).await.into() };
                self.result = Some(Box::pin(fetch));
            }
            _ => {}
        }
        if !state.task.status.is_over() {
            lock(&session.table).note_task(self.id, session.now_us(), state.interval());
        }
        let questions = state.questions.take()?;
        self.answer_questions(session, &state.task.task_id, questions).await.err().map(Err)
    }

    async fn answer_questions(
        &mut self,
        session: &Arc<Session>,
        task_id: &str,
        questions: InputRequests,
    ) -> Result<()> {
        let new = questions.without(&self.answered);
        if new.len() == 0 {
            return Ok(());
        }
        // Where others are open already, these come with the next state.
        let Some(_open) = session.tasks.open_questions(new.len(), session.limits.server_requests)
        else {
            return match new.len() > session.limits.server_requests {
                true => Err(asks_too_much().with_executed(Executed::Unknown)),
                false => Ok(()),
            };
        };
        self.rounds += 1;
        if self.rounds > ROUNDS {
            return Err(asks_too_often().with_executed(Executed::Unknown));
        }
        session.pause_calls(Some(self.id));
        let manager = Some(self.origin.presenter.manager());
        let answers = session.answer_inputs(&new, manager, session.server.to_string()).await;
        lock(&session.table).resume_calls(Some(self.id), session.now_us());
        session.deadline_moved.notify_one();
        let answers = answers?;
        let params = json!({"taskId": task_id, "inputResponses": answers});
        match session.request_for_caller("tasks/update", &params).await {
            Ok(_) => self.answered.extend(answers.into_keys()),
            // The next state asks again.
            Err(error) => {
                tracing::debug!(server = &*session.server, "answers were not taken: {error}");
            }
        }
        Ok(())
    }

    /// Waits before the next question; returns the outcome if the result comes in the meantime.
    async fn pause(&mut self, interval: Duration) -> Option<RequestOutcome> {
        let changed = &self.changed;
        let pause = async {
            runtime::at_most(SHORTEST_INTERVAL, pending::<()>()).await;
            let rest = interval.saturating_sub(SHORTEST_INTERVAL);
            runtime::at_most(rest, changed.notified()).await;
        };
        let result = async {
            match &mut self.result {
                Some(result) => result.await,
                None => pending().await,
            }
        };
        tokio::select! {
            outcome = result => outcome,
            () = pause => None,
        }
    }

    /// Tells the manager of the call about a new status.
    fn show(&mut self, session: &Session, task: &Task) {
        let now = (task.status, task.status_message.clone());
        if self.shown.as_ref() == Some(&now) {
            return;
        }
        self.shown = Some(now);
        let texts = session.text_reader();
        let Some(events) = self.origin.presenter.events.upgrade() else { return };
        let kind = EventKind::Task {
            tool: self.origin.tool.to_string(),
            task_id: task.task_id.clone(),
            status: task.status,
            message: task.status_message.as_deref().map(|text| texts.plain(text)),
        };
        events.emit(&session.server, kind);
    }
}

/// A task's result must not be another question or task.
fn checked_result(result: Bytes) -> RequestOutcome {
    match InputRequests::read(&result) {
        None => Ok(result),
        Some(_) => Err(unreadable()),
    }
}

/// How long a server that does not say how far a task is is left alone, after so many failures.
fn pause_after(failures: u32) -> Duration {
    Duration::from_secs(if failures == 0 { 0 } else { 1 << failures.min(LONGEST_PAUSE) })
}

/// Asks how far a task is; `None` if that is not known now, but may be later.
async fn ask(session: &Session, task_id: &str) -> Result<Option<TaskState>> {
    let asked = session.request_for_caller("tasks/get", &json!({"taskId": task_id})).await;
    let answer = match asked {
        Ok(answer) => answer,
        // The next session may know the task.
        Err(error) if session.is_over() => return Err(error.with_executed(Executed::Unknown)),
        // The call has its own limit.
        Err(error)
            if matches!(error.kind(), ErrorKind::ToolTimeout | ErrorKind::ConnectionLost)
                || error.retry_after_ms().is_some() =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.with_executed(Executed::Unknown)),
    };
    let task_id = task_id.to_owned();
    let (bytes, read) = (answer.len(), move || TaskState::read(&answer, &task_id));
    runtime::read_off_worker(bytes, read).await.map(Some)
}
