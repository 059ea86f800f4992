//! Owns asking for a task by its id, and cancelling it. Waiting for its result is a call.

use std::future::Future;

use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::Manager;
use crate::error::Result;
use crate::task::{Task, TaskId};

impl Manager {
    /// How far a task of a server is. [`crate::CallOptions::resume_task`] waits for its result.
    pub fn get_task(
        &self,
        server: &str,
        task_id: &str,
    ) -> impl Future<Output = Result<Task>> + Send + use<> {
        let task_id = TaskId::new(task_id);
        let (manager, server) = (self.clone(), server.to_owned());
        async move {
            let TaskId(id) = task_id?;
            let params = json!({"taskId": id});
            let answer = manager.read::<Box<RawValue>>(&server, "tasks/get", params, None).await?;
            Task::read(answer.get(), &id).map_err(|error| error.with_server(&server))
        }
    }

    /// Asks a server to end a task. It may still finish.
    pub fn cancel_task(
        &self,
        server: &str,
        task_id: &str,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let task_id = TaskId::new(task_id);
        let (manager, server) = (self.clone(), server.to_owned());
        async move {
            let params = json!({"taskId": task_id?.0});
            // Cancelling twice is the same as once.
            manager.read(&server, "tasks/cancel", params, None).await.map(|IgnoredAny| ())
        }
    }
}
