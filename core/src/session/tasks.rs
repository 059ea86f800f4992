//! Owns waiting for tasks: work that goes on after its call was answered. The server is asked how far it is until there
//! is a result, and its questions about it are answered.
//! Invariant: a call stays in the table until its task ends, so that it is cancelled, times out and ends as any other. A
//! server decides how often it is asked, within bounds. Waiting for a task of an earlier call never cancels it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::Session;
use super::table::RequestOutcome;
use crate::call::TaskUse;
use crate::error::Executed;
use crate::runtime;
use crate::sync::lock;
use crate::tool::{ServerTool, TaskSupport};

mod state;
mod wait;

use state::{TaskState, object_in, unreadable};
use wait::Wait;

/// How long the end of a session waits until its tasks are cancelled.
const CANCELLING: Duration = Duration::from_secs(1);

/// What a task means for a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum TaskPhase {
    /// If the server answers with a task by itself, it is waited for.
    #[default]
    Unasked,
    /// The call asks for a task, which is waited for.
    Asked,
    /// The caller gets the task in place of its result.
    Returned,
    /// The call waits for the task of an earlier one.
    Resumed(Box<str>),
    /// The server works on it.
    Working(Box<str>),
}

impl TaskPhase {
    /// The id of the task, if that is known.
    pub(super) fn task_id(&self) -> Option<&str> {
        match self {
            TaskPhase::Resumed(id) | TaskPhase::Working(id) => Some(id),
            TaskPhase::Unasked | TaskPhase::Asked | TaskPhase::Returned => None,
        }
    }
}

/// The tasks that calls of a session wait for.
#[derive(Default)]
pub(super) struct TaskWaits {
    /// Whether calls may ask for tasks: in a session with a handshake, if the server offers them.
    is_offered: AtomicBool,
    /// Whether any call has asked for a task, or waits for an earlier one.
    is_used: AtomicBool,
    /// How many questions about tasks wait for an answer.
    open_questions: Arc<AtomicUsize>,
    /// By the ids of the calls.
    waits: Mutex<HashMap<u64, TaskWait>>,
}

struct TaskWait {
    task_id: Box<str>,
    /// Whether the end of the call cancels the task.
    is_own: bool,
    waiting: AbortHandle,
    /// Notified when the server says that the task has changed.
    changed: Arc<Notify>,
}

/// Questions that wait for an answer.
struct OpenQuestions {
    open: Arc<AtomicUsize>,
    count: usize,
}

impl Drop for OpenQuestions {
    fn drop(&mut self) {
        self.open.fetch_sub(self.count, Ordering::Relaxed);
    }
}

impl TaskWaits {
    pub(super) fn offer(&self) {
        self.is_offered.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_offered(&self) -> bool {
        self.is_offered.load(Ordering::Relaxed)
    }

    pub(super) fn note_use(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Opens so many questions, unless there are too many; they end with what is returned.
    fn open_questions(&self, count: usize, most: usize) -> Option<OpenQuestions> {
        let open = self.open_questions.clone();
        let fits = |now: usize| (now + count <= most).then_some(now + count);
        open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(OpenQuestions { open, count })
    }

    /// Whether any call waits for a task.
    pub(super) fn is_waiting(&self) -> bool {
        !lock(&self.waits).is_empty()
    }

    /// Ends the wait of a call. Whoever ends it decides what becomes of the call.
    fn take(&self, call: u64) -> Option<TaskWait> {
        lock(&self.waits).remove(&call)
    }

    fn call_of(&self, task_id: &str) -> Option<u64> {
        let waits = lock(&self.waits);
        waits.iter().find(|(_, wait)| *wait.task_id == *task_id).map(|(call, _)| *call)
    }

    /// The tasks that the calls have begun.
    fn own_task_ids(&self) -> Vec<Box<str>> {
        let waits = lock(&self.waits);
        waits.values().filter(|wait| wait.is_own).map(|wait| wait.task_id.clone()).collect()
    }

    /// Ends all: their calls have ended.
    pub(super) fn end_all(&self) {
        let ended = std::mem::take(&mut *lock(&self.waits));
        ended.into_values().for_each(|wait| wait.waiting.abort());
    }

    /// The server says that a task has changed.
    pub(super) fn note_change(&self, task_id: &str) {
        let waits = lock(&self.waits);
        let of_task = waits.values().filter(|wait| *wait.task_id == *task_id);
        of_task.for_each(|wait| wait.changed.notify_one());
    }
}

impl Session {
    /// What a task means for a call that is about to be sent.
    pub(super) fn task_phase(&self, tool: &ServerTool, wanted: TaskUse<'_>) -> TaskPhase {
        let asks = |is_return: bool| {
            self.tasks.is_offered()
                && match tool.task_support() {
                    TaskSupport::Required => true,
                    TaskSupport::Optional => is_return,
                    TaskSupport::Forbidden => false,
                }
        };
        let phase = match wanted {
            TaskUse::Await if !self.is_stateless() && asks(false) => TaskPhase::Asked,
            TaskUse::Await => return TaskPhase::Unasked,
            // Without a handshake, the server decides whether there is a task.
            TaskUse::Return if self.is_stateless() || asks(true) => TaskPhase::Returned,
            TaskUse::Return => return TaskPhase::Unasked,
            TaskUse::Resume(task_id) => TaskPhase::Resumed(task_id.into()),
        };
        self.tasks.note_use();
        phase
    }

    /// If a call was answered with a task, waits for that. Returns whether that is so.
    pub(super) fn begin_task(&self, id: u64, outcome: &RequestOutcome) -> bool {
        let Some(phase) = lock(&self.table).task_phase(id) else {
            self.cancel_late_task(id, outcome);
            return false;
        };
        let answer = match (outcome, &phase) {
            (Ok(answer), _) => answer,
            (Err(error), TaskPhase::Resumed(_)) => {
                // It says nothing about the tool.
                let error = error.clone().with_executed(Executed::Unknown);
                self.finish_request(id, Err(error));
                return true;
            }
            (Err(_), _) => return false,
        };
        let (state, is_own) = match &phase {
            TaskPhase::Unasked if !self.is_stateless() => return false,
            TaskPhase::Unasked | TaskPhase::Asked | TaskPhase::Returned => {
                match TaskState::created(answer) {
                    Some(state) => (state, true),
                    None => return false,
                }
            }
            TaskPhase::Resumed(task_id) => (TaskState::read(answer, task_id), false),
            TaskPhase::Working(_) => return false,
        };
        match state {
            Ok(_) if phase == TaskPhase::Returned => self.finish_request(id, Ok(answer.clone())),
            Ok(state) => self.wait_for_task(id, state, is_own),
            Err(error) => self.finish_request(id, Err(error)),
        }
        true
    }

    fn wait_for_task(&self, id: u64, state: TaskState, is_own: bool) {
        let task_id: Box<str> = state.task.task_id.as_str().into();
        let origin = lock(&self.table).work_on(id, task_id.clone());
        let Some(origin) = origin else {
            // The caller gave up in the meantime.
            if is_own {
                self.cancel_task(&task_id);
            }
            return;
        };
        let changed = Arc::<Notify>::default();
        let wait = Wait::new(self.me.clone(), id, origin, changed.clone());
        // Locked until the wait is known: it may end at once.
        let mut waits = lock(&self.tasks.waits);
        let waiting = runtime::spawn(wait.run(state)).abort_handle();
        waits.insert(id, TaskWait { task_id, is_own, waiting, changed });
    }

    /// If a call was given up before it was answered with a task, cancels that.
    fn cancel_late_task(&self, id: u64, outcome: &RequestOutcome) {
        let was_given_up = lock(&self.table).take_given_up(id);
        if let (true, Ok(answer)) = (was_given_up, outcome)
            && let Some(Ok(state)) = TaskState::created(answer)
        {
            self.cancel_task(&state.task.task_id);
        }
    }

    /// The call that a request of the server is about, if it says that it is about the task of one.
    pub(super) fn call_of_request(&self, params: Option<&RawValue>) -> Option<u64> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: Meta,
        }
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/related-task")]
            task: RelatedTask,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct RelatedTask {
            task_id: String,
        }
        let params = params.filter(|_| self.tasks.is_waiting())?;
        let Params { meta } = serde_json::from_str(params.get()).ok()?;
        self.tasks.call_of(&meta.task.task_id)
    }

    /// Ends the wait of a call that nobody waits for any more, and cancels its task unless an earlier call began it.
    /// Returns whether the call has waited for one.
    pub(super) fn abandon_task(&self, id: u64) -> bool {
        let Some(wait) = self.tasks.take(id) else { return false };
        wait.waiting.abort();
        if wait.is_own {
            self.cancel_task(&wait.task_id);
        }
        true
    }

    /// Cancels the tasks of all calls before the session ends. Bounded.
    pub(super) async fn cancel_tasks(&self) {
        let own = self.tasks.own_task_ids();
        let cancel = |task_id| async move {
            let _ = self.request("tasks/cancel", &json!({"taskId": task_id})).await;
        };
        runtime::at_most(CANCELLING, join_all(own.into_iter().map(cancel))).await;
    }

    /// Cancels a task, without waiting for the answer.
    fn cancel_task(&self, task_id: &str) {
        let (session, params) = (self.me.clone(), json!({"taskId": task_id}));
        runtime::spawn(async move {
            let Some(session) = session.upgrade() else { return };
            if let Err(error) = session.request("tasks/cancel", &params).await {
                tracing::debug!(server = &*session.server, "a task was not cancelled: {error}");
            }
        });
    }

    /// The answer to a request about a task, once it is one object.
    async fn task_result(&self, task_id: &str) -> RequestOutcome {
        let params = json!({"taskId": task_id});
        let answer = self.request_without_limit("tasks/result", &params).await?;
        let (bytes, read) = (answer.len(), move || {
            let object = object_in(&answer).map(|text| answer.slice_ref(text.as_bytes()));
            object.ok_or_else(unreadable)
        });
        runtime::read_off_worker(bytes, read).await
    }
}
