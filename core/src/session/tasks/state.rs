//! Owns reading what a server says of a task, in both eras of the protocol.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::rounds::InputRequests;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::task::{LONGEST_ID, Task, TaskStatus};

/// How long a server is left alone between two questions: at least, at most, and if it does not say.
pub(super) const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
const LONGEST_INTERVAL: Duration = Duration::from_secs(300);
const INTERVAL: Duration = Duration::from_secs(1);

/// What a server says of a task.
pub(super) struct TaskState {
    pub(super) task: Task,
    pub(super) questions: Option<InputRequests>,
    /// How it ended, where the state has that.
    pub(super) outcome: Option<TaskOutcome>,
}

pub(super) enum TaskOutcome {
    Result(Bytes),
    /// A JSON-RPC error, as written.
    Error(Box<str>),
}

impl TaskState {
    /// The task that a call is answered with; `None` if the answer is something else.
    pub(super) fn created(answer: &Bytes) -> Option<Result<TaskState>> {
        // Most answers name no task and are not parsed here.
        memchr::memmem::find(answer, b"\"taskId\"")?;
        let text = object_in(answer)?;
        let task = Task::in_answer(text)?;
        Some(checked(task).map(|task| TaskState { task, questions: None, outcome: None }))
    }

    /// Reads the answer to `tasks/get`.
    pub(super) fn read(answer: &Bytes) -> Result<TaskState> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Parts<'a> {
            #[serde(borrow, default)]
            input_requests: Option<&'a RawValue>,
            #[serde(borrow, default)]
            result: Option<&'a RawValue>,
            #[serde(borrow, default)]
            error: Option<&'a RawValue>,
        }
        let text = object_in(answer).ok_or_else(unreadable)?;
        let task: Task = serde_json::from_str(text).map_err(|_| unreadable())?;
        let parts: Parts<'_> = serde_json::from_str(text).map_err(|_| unreadable())?;
        let task = checked(task)?;
        let questions = parts.input_requests.filter(|_| task.status == TaskStatus::InputRequired);
        let questions = questions.map(InputRequests::of_task).transpose()?;
        let result = parts.result.filter(|result| result.get().starts_with('{'));
        let outcome = match task.status {
            TaskStatus::Completed => {
                result.map(|result| TaskOutcome::Result(answer.slice_ref(result.get().as_bytes())))
            }
            TaskStatus::Failed => parts.error.map(|error| TaskOutcome::Error(error.get().into())),
            _ => None,
        };
        Ok(TaskState { task, questions, outcome })
    }

    /// How long the server is left alone.
    pub(super) fn interval(&self) -> Duration {
        let wanted = self.task.poll_interval_ms.map_or(INTERVAL, Duration::from_millis);
        wanted.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
    }
}

/// The object at the start of an answer, as text.
pub(super) fn object_in(answer: &[u8]) -> Option<&str> {
    let mut reader = serde_json::Deserializer::from_slice(answer);
    let object = <&RawValue>::deserialize(&mut reader).ok()?.get();
    object.starts_with('{').then_some(object)
}

fn checked(task: Task) -> Result<Task> {
    if task.task_id.is_empty() || task.task_id.len() > LONGEST_ID {
        let text = format!("The id of the server's task must have 1 to {LONGEST_ID} bytes");
        let error = Error::new(ErrorKind::ProtocolError, text);
        return Err(error.with_executed(Executed::Unknown));
    }
    Ok(task)
}

pub(super) fn unreadable() -> Error {
    Error::new(ErrorKind::ProtocolError, "The server says of a task what cannot be read")
        .with_executed(Executed::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Result<TaskState> {
        TaskState::read(&Bytes::copy_from_slice(answer.as_bytes()))
    }

    #[test]
    fn a_finished_task_has_its_result_as_it_was_written() {
        let state = read(r#"{"taskId":"a","status":"completed","result":{"content": [ ]}} "#);
        let Some(TaskOutcome::Result(result)) = state.unwrap().outcome else { panic!("no result") };
        assert_eq!(&*result, br#"{"content": [ ]}"#);
        let state = read(r#"{"taskId":"a","status":"working","result":{"content":[]}}"#).unwrap();
        assert!(state.outcome.is_none());
    }

    #[test]
    fn a_state_that_cannot_be_read_is_an_error() {
        let long = format!(r#"{{"taskId":"{}","status":"working"}}"#, "x".repeat(LONGEST_ID + 1));
        for answer in [
            "[]",
            "{}",
            r#"{"taskId":"a"}"#,
            r#"{"taskId":"","status":"working"}"#,
            r#"{"taskId":"a","status":"sleeping"}"#,
            r#"{"taskId":"a","status":"input_required","inputRequests":7}"#,
            &long,
        ] {
            let error = read(answer).err().unwrap_or_else(|| panic!("{answer} was read"));
            assert_eq!(error.kind(), ErrorKind::ProtocolError, "{answer}");
        }
    }

    #[test]
    fn a_server_is_asked_neither_all_the_time_nor_never() {
        let interval = |ms: &str| {
            let state = format!(r#"{{"taskId":"a","status":"working","pollIntervalMs":{ms}}}"#);
            read(&state).unwrap().interval()
        };
        assert_eq!(interval("0"), SHORTEST_INTERVAL);
        assert_eq!(interval("2500"), Duration::from_millis(2500));
        assert_eq!(interval("9007199254740991"), LONGEST_INTERVAL);
        assert_eq!(interval("null"), INTERVAL);
    }

    #[test]
    fn only_an_answer_with_a_task_is_one() {
        let created = |answer: &str| TaskState::created(&Bytes::copy_from_slice(answer.as_bytes()));
        assert!(created(r#"{"content":[{"type":"text","text":"taskId"}]}"#).is_none());
        assert!(created(r#"{"content":[],"structuredContent":{"taskId":"a"}}"#).is_none());
        let task = created(r#"{"resultType":"task","taskId":"a","status":"working"}"#);
        assert_eq!(task.unwrap().unwrap().task.task_id, "a");
    }
}
