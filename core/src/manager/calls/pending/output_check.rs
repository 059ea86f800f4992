//! Owns when results are compared with output schemas: off the runtime's workers, few at a time, one of a server, and
//! within the time of their calls.
//! Invariant: the comparisons of one server never keep those of another from beginning.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::PerProcess;
use crate::result::ToolResult;
use crate::runtime;
use crate::tool::ServerTool;

/// How many run at the same time: fewer than there are threads for work that blocks.
static RUNNING: PerProcess<Semaphore> = PerProcess::new(|| Semaphore::new(4));

/// The result, if it matches the output schema of its tool.
pub(super) async fn checked(
    connection: &Connection,
    tool: Arc<ServerTool>,
    result: ToolResult,
    deadline: Instant,
) -> Result<ToolResult> {
    let task_id = result.task_id().map(str::to_owned);
    let compare = async {
        // Held until the comparison has ended, also if nobody waits for it any more.
        let own = connection.output_checks().clone().acquire_owned().await;
        let turn = RUNNING.get().acquire().await;
        let compare = move || {
            let _turns = (own, turn);
            tool.check_output(&result).map(|()| result)
        };
        runtime::spawn_blocking(compare).await
    };
    let checked = match timeout_at(deadline, compare).await {
        Ok(Ok(checked)) => checked,
        Ok(Err(_)) => Err(Error::closed()),
        Err(_) => {
            let text = "The result was not compared with the tool's output schema in time";
            Err(Error::new(ErrorKind::ToolTimeout, text).with_executed(Executed::Yes))
        }
    };
    checked.map_err(|error| {
        let error = error.with_server(connection.server());
        task_id.iter().fold(error, |error, task_id| error.with_task_id(task_id))
    })
}
