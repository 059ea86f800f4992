//! Owns what is known of a task: work of a server that goes on after its call was answered. Waiting for one is up to
//! `session/tasks`.
//! Invariant: both eras of the protocol give the same members; what is not known is kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id at its server. With it, another process can wait for the result.
    pub task_id: String,
    /// How far it is.
    pub status: TaskStatus,
    /// What the server says about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// How long the server keeps it, from its creation; without a value it sets no limit.
    #[serde(default, alias = "ttl", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How often the server wants to be asked about it.
    #[serde(default, alias = "pollInterval", skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// Everything else: `createdAt`, `lastUpdatedAt`, `_meta` and what is not known.
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

impl Task {
    /// The task in the answer to a call, if the answer is one.
    pub(crate) fn in_answer(answer: &str) -> Option<Task> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            #[serde(default)]
            result_type: Option<Value>,
            #[serde(default)]
            content: Option<serde::de::IgnoredAny>,
            #[serde(default)]
            task: Option<Task>,
        }
        let read: Answer = serde_json::from_str(answer).ok()?;
        match read.result_type {
            Some(kind) if kind == "task" => serde_json::from_str(answer).ok(),
            _ => read.task.filter(|_| read.content.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_eras_give_the_same_task() {
        let newer = r#"{"resultType":"task","taskId":"a","status":"working","ttlMs":5,"pollIntervalMs":7,"createdAt":"t"}"#;
        let older = r#"{"task":{"taskId":"a","status":"working","ttl":5,"pollInterval":7,"createdAt":"t"}}"#;
        for answer in [newer, older] {
            let task = Task::in_answer(answer).unwrap();
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
            r#"{"resultType":"task","taskId":5,"status":"working"}"#,
            r#"{"resultType":"task","taskId":"a","status":"zzz"}"#,
        ] {
            assert_eq!(Task::in_answer(answer), None, "{answer}");
        }
    }
}
