//! Owns what is known of a task: work of a server that goes on after its call was answered. Waiting for one is up to
//! `session/tasks`.
//! Invariant: both eras of the protocol give the same members; what is not known is kept.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::json_string::{LossyString, unescape};
use crate::options::{Language, OptionKind, OptionValue};

/// The longest id of a task. It travels in headers.
pub(crate) const LONGEST_ID: usize = 1024;

/// The id of a task at its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskId(pub(crate) Box<str>);

impl TaskId {
    /// An id of 1 to 1024 bytes.
    pub fn new(id: &str) -> Result<TaskId> {
        if id.is_empty() || id.len() > LONGEST_ID {
            let text = format!("The id of a task must have 1 to {LONGEST_ID} bytes");
            return Err(Error::new(ErrorKind::InvalidArguments, text));
        }
        Ok(TaskId(id.into()))
    }
}

impl OptionValue for TaskId {
    fn kind() -> OptionKind {
        OptionKind::Text("the id of a task, a text of 1 to 1024 bytes")
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        TaskId::new(value.as_str()?).ok()
    }
}

/// Work of a server that goes on after its call was answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id at its server. With it, another process can wait for the result.
    pub task_id: String,
    /// How far it is.
    pub status: TaskStatus,
    /// What the server says about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// How long the server keeps it, from its creation; without a value it sets no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How often the server wants to be asked about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// Everything else: `createdAt`, `lastUpdatedAt`, `_meta` and what is not known. Not its result.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// It goes on.
    Working,
    /// It waits for an answer of the client.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Whether the task has ended.
    pub fn is_over(self) -> bool {
        matches!(self, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
    }
}

/// The members of a JSON object, as written.
pub(crate) type Members<'a> = IndexMap<LossyString<'a>, &'a RawValue>;

/// Members that belong to the answer about a task, and not to the task.
const OF_THE_ANSWER: [&str; 4] = ["resultType", "inputRequests", "result", "error"];

impl Task {
    /// The task in the answer to a call; `None` if the answer is something else, an error if the task in it cannot be
    /// read.
    pub(crate) fn in_answer(answer: &str) -> Option<Result<Task>> {
        let members: Members<'_> = serde_json::from_str(answer).ok()?;
        let member = |name: &'static str| members.get(&LossyString(name.into())).map(|it| it.get());
        if member("resultType") == Some("\"task\"") {
            return Some(Task::from_members(&members));
        }
        let task = member("task").filter(|_| member("content").is_none())?;
        Some(match serde_json::from_str::<Members<'_>>(task) {
            Ok(members) => Task::from_members(&members),
            Err(_) => Err(unreadable()),
        })
    }

    /// Reads the answer to the question how far this task is.
    pub(crate) fn read(answer: &str, task_id: &str) -> Result<Task> {
        let members: Members<'_> = serde_json::from_str(answer).map_err(|_| unreadable())?;
        let task = Task::from_members(&members)?;
        match task.task_id == task_id {
            true => Ok(task),
            false => Err(other_task()),
        }
    }

    /// Reads a task. It needs an id and a status; another member that cannot be read counts as missing.
    pub(crate) fn from_members(members: &Members<'_>) -> Result<Task> {
        let member = |name: &'static str| members.get(&LossyString(name.into())).map(|it| it.get());
        let text = |name: &'static str| unescape(member(name)?).map(Cow::into_owned);
        let number = |name: &'static str| {
            let number: f64 = serde_json::from_str(member(name)?).ok()?;
            (number >= 0.0).then_some(number as u64)
        };
        let task_id = text("taskId").ok_or_else(unreadable)?;
        if task_id.is_empty() || task_id.len() > LONGEST_ID {
            let text = format!("The id of the server's task must have 1 to {LONGEST_ID} bytes");
            return Err(Error::new(ErrorKind::ProtocolError, text));
        }
        let status = member("status").and_then(|status| serde_json::from_str(status).ok());
        let status = status.ok_or_else(|| unreadable().with_task_id(&task_id))?;
        let known =
            ["taskId", "status", "statusMessage", "ttlMs", "ttl", "pollIntervalMs", "pollInterval"];
        let more = members.iter().filter(|(LossyString(name), _)| {
            !known.contains(&&**name) && !OF_THE_ANSWER.contains(&&**name)
        });
        let more = more.filter_map(|(LossyString(name), value)| {
            let value = serde_json::from_str(value.get()).ok()?;
            Some((name.clone().into_owned(), value))
        });
        Ok(Task {
            status,
            status_message: text("statusMessage"),
            ttl_ms: number("ttlMs").or_else(|| number("ttl")),
            poll_interval_ms: number("pollIntervalMs").or_else(|| number("pollInterval")),
            more: more.collect(),
            task_id,
        })
    }
}

pub(crate) fn other_task() -> Error {
    let text = "The server answers with another task than it was asked about";
    Error::new(ErrorKind::ProtocolError, text)
}

pub(crate) fn unreadable() -> Error {
    Error::new(ErrorKind::ProtocolError, "The server says of a task what cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_eras_give_the_same_task() {
        let newer = r#"{"resultType":"task","taskId":"a","status":"working","ttlMs":5,"pollIntervalMs":7,"createdAt":"t"}"#;
        let older = r#"{"task":{"taskId":"a","status":"working","ttl":5,"pollInterval":7,"createdAt":"t"}}"#;
        for answer in [newer, older] {
            let task = Task::in_answer(answer).unwrap().unwrap();
            assert_eq!((&*task.task_id, task.status), ("a", TaskStatus::Working), "{answer}");
            assert_eq!((task.ttl_ms, task.poll_interval_ms), (Some(5), Some(7)), "{answer}");
            assert_eq!(task.more["createdAt"], "t", "{answer}");
        }
    }

    #[test]
    fn a_result_is_no_task() {
        for answer in [
            r#"{"content":[],"task":{"taskId":"a","status":"working"}}"#,
            r#"{"taskId":"a","status":"working"}"#,
            "[]",
        ] {
            assert!(Task::in_answer(answer).is_none(), "{answer}");
        }
    }

    #[test]
    fn a_task_needs_an_id_and_a_status_and_nothing_else() {
        for answer in [
            r#"{"resultType":"task","taskId":5,"status":"working"}"#,
            r#"{"resultType":"task","taskId":"a","status":"zzz"}"#,
            r#"{"task":5}"#,
            r#"{"task":{"taskId":"a"}}"#,
        ] {
            let error = Task::in_answer(answer).unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ProtocolError, "{answer}");
        }
        let odd = r#"{"task":{"taskId":"a","status":"working","statusMessage":{},"ttl":60000.0,"pollInterval":-1,"x":1e999}}"#;
        let task = Task::in_answer(odd).unwrap().unwrap();
        assert_eq!((task.status_message, task.ttl_ms), (None, Some(60_000)));
        assert_eq!(task.poll_interval_ms, None);
    }
}
