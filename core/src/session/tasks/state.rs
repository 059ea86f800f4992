//! Owns reading what a server says of a task, in both eras of the protocol.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::rounds::InputRequests;
use crate::error::{Error, Executed, Result};
use crate::json_string::LossyString;
use crate::task::{self, Members, Task, TaskStatus};

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
        memchr::memmem::find(answer, b"\"task\"")?;
        let task = Task::in_answer(object_in(answer)?)?;
        Some(match task {
            Ok(task) => Ok(TaskState { task, questions: None, outcome: None }),
            Err(error) => Err(error.with_executed(Executed::Unknown)),
        })
    }

    /// Reads the answer to `tasks/get` about this task.
    pub(super) fn read(answer: &Bytes, task_id: &str) -> Result<TaskState> {
        let unknown = |error: Error| error.with_executed(Executed::Unknown);
        let text = object_in(answer).ok_or_else(unreadable)?;
        let members: Members<'_> = serde_json::from_str(text).map_err(|_| unreadable())?;
        let task = Task::from_members(&members).map_err(unknown)?;
        if task.task_id != task_id {
            return Err(unknown(task::other_task()));
        }
        let member = |name: &'static str| members.get(&LossyString(name.into())).copied();
        let questions =
            member("inputRequests").filter(|_| task.status == TaskStatus::InputRequired);
        let questions = questions.map(InputRequests::of_task).transpose()?;
        let result = member("result").filter(|result| result.get().starts_with('{'));
        let outcome = match task.status {
            TaskStatus::Completed => {
                result.map(|result| TaskOutcome::Result(answer.slice_ref(result.get().as_bytes())))
            }
            TaskStatus::Failed => {
                member("error").map(|error| TaskOutcome::Error(error.get().into()))
            }
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

pub(super) fn unreadable() -> Error {
    task::unreadable().with_executed(Executed::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn read(answer: &str) -> Result<TaskState> {
        TaskState::read(&Bytes::copy_from_slice(answer.as_bytes()), "a")
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
    fn a_result_may_hold_whatever_an_answer_may() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for value in [deep.as_str(), "1e999", r#""\ud83d""#] {
            let answer = format!(
                r#"{{"taskId":"a","status":"completed","result":{{"structuredContent":{value}}}}}"#
            );
            let state = read(&answer).unwrap_or_else(|error| panic!("{value}: {error}"));
            assert!(matches!(state.outcome, Some(TaskOutcome::Result(_))), "{value}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_read_is_an_error() {
        let long = format!(r#"{{"taskId":"{}","status":"working"}}"#, "x".repeat(1025));
        for answer in [
            "[]",
            "{}",
            r#"{"taskId":"a"}"#,
            r#"{"taskId":"","status":"working"}"#,
            r#"{"taskId":"a","status":"sleeping"}"#,
            r#"{"taskId":"b","status":"working"}"#,
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
