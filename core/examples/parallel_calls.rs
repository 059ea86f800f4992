//! Many calls at the same time on one connection, each with a timeout.
//! `cargo run -p mcpool --example parallel_calls` starts the demo server with the `mcpool` command; the first argument names
//! another program.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use mcpool::{Arguments, CallOptions, Config, Manager, ManagerOptions, ToolResult};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> mcpool::Result<()> {
    let program = std::env::args().nth(1).unwrap_or_else(|| "mcpool".to_owned());
    for sum in sums(&program).await? {
        println!("{sum}");
    }
    Ok(())
}

/// Adds ten pairs of numbers with the demo server's tool.
pub(crate) async fn sums(program: &str) -> mcpool::Result<Vec<String>> {
    let server = json!({"command": program, "args": ["demo-server"]});
    let config = Config::from_value(json!({"mcpServers": {"demo": server}}))?;
    let manager = Manager::new(config, ManagerOptions::default());
    let report = manager.connect_all().await?;
    if let Some(error) = report.failed.get("demo") {
        return Err(error.clone());
    }
    let calls = (0..10).map(|n| {
        let options = CallOptions::default().timeout(Duration::from_secs(5));
        let arguments = Arguments::new(&json!({"a": n, "b": 40})).expect("an object");
        manager.call_tool("demo", "add", arguments, options)
    });
    let results = futures_util::future::try_join_all(calls).await;
    manager.close().await;
    let sum = |result: &ToolResult| result.structured().map(|data| data["sum"].to_string());
    Ok(results?.iter().filter_map(sum).collect())
}
