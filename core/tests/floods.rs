//! Hazard: a server that never stops writing delays its own end, or blocks other servers.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{PATIENCE, Web, call, manager, stdio, until};
use mcpool::{Arguments, CallOptions, Manager, State};
use serde_json::{Map, Value, json};

/// A server that answers the handshake and then runs `rest`.
fn shell(rest: &str) -> Value {
    let answer = |id: u32, result: &str| {
        format!(r#"printf '%s\n' '{{"jsonrpc":"2.0","id":{id},"result":{result}}}'"#)
    };
    let greeting = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let tools = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
    let (greeting, tools) = (answer(1, greeting), answer(2, tools));
    let script = format!("read a; {greeting}; read b; read c; {tools}; {rest}");
    json!({"command": "sh", "args": ["-c", script]})
}

async fn close(manager: &Manager) {
    tokio::time::timeout(PATIENCE, manager.close()).await.expect("close ends");
}

#[tokio::test]
async fn programs_that_print_without_end_in_place_of_messages_fail_in_time() {
    let (_web, url) = Web::start([]);
    let line = "starting up, please wait ".repeat(20);
    let noisy = |n: usize| {
        (format!("noisy{n}"), json!({"command": "yes", "args": [line], "timeout": 1000}))
    };
    let mut servers: Map<_, _> = (0..8).map(noisy).collect();
    servers.insert("calm".to_owned(), json!({"url": url}));
    let manager = manager(servers.into());
    let report = tokio::time::timeout(PATIENCE, manager.connect_all()).await;
    let report = report.expect("connect_all ends").unwrap();
    assert_eq!(report.connected, ["calm"], "{report:?}");
    assert_eq!(report.failed.len(), 8, "{report:?}");
    assert!(report.failed.values().all(|error| error.code() == "CONNECT_TIMEOUT"), "{report:?}");
    close(&manager).await;
}

#[tokio::test]
async fn a_server_that_closes_its_input_and_writes_on_is_lost() {
    let manager = manager(json!({"a": shell("exec 0<&-; yes ''")}));
    manager.connect_all().await.unwrap();
    let restarted =
        || manager.status()[0].restarts > 0 || manager.status()[0].state != State::Connected;
    until("its loss", restarted).await;
    close(&manager).await;
}

#[tokio::test]
async fn what_a_dead_server_left_behind_may_write_on() {
    // The server exits; its child keeps the pipe open, in another session that we must not end.
    let manager = manager(json!({"a": shell("setsid yes '' & exit 3")}));
    manager.connect_all().await.unwrap();
    until("its loss", || manager.status()[0].state != State::Connected).await;
    close(&manager).await;
}

#[tokio::test]
async fn a_call_to_a_server_that_writes_without_end_ends_at_its_timeout() {
    let manager = manager(json!({"a": shell("read d; yes ''")}));
    manager.connect_all().await.unwrap();
    let timeout = Some(Duration::from_millis(300));
    let options = CallOptions::default().timeout(timeout);
    let calling = manager.call_tool("a", "t", Arguments::none(), options);
    let error = tokio::time::timeout(PATIENCE, calling).await.expect("the call ends").unwrap_err();
    assert_eq!(error.code(), "TOOL_TIMEOUT");
    close(&manager).await;
}

/// Reads the tools from several threads while calls are answered all the time.
async fn read_tools_during_calls(server: Value, tool: &'static str, arguments: Value) {
    const READERS: usize = 4;
    const READS: usize = 50;
    let manager = manager(json!({"s": server}));
    manager.connect_all().await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let (caller, over) = (manager.clone(), is_over.clone());
    let calls = tokio::spawn(async move {
        while !over.load(Ordering::Relaxed) {
            call(&caller, tool, arguments.clone()).await.unwrap();
        }
    });
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let manager = manager.clone();
            let read = move || (0..READS).for_each(|_| drop(manager.get_tools()));
            tokio::task::spawn_blocking(read)
        })
        .collect();
    let all = futures_util::future::join_all(readers);
    let read = tokio::time::timeout(PATIENCE / 3, all).await.expect("get_tools stays responsive");
    assert!(read.iter().all(Result::is_ok));
    is_over.store(true, Ordering::Relaxed);
    calls.await.unwrap();
    close(&manager).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_can_be_read_while_a_server_keeps_announcing_new_ones() {
    // Without a budget, each read would wait for a list that takes as long as this.
    let knobs = ["--slow", "tools/list=400", "--announcements", "20"];
    read_tools_during_calls(stdio(&knobs), "change_tools", json!({"name": "new"})).await;
    let (_web, url) = Web::start(knobs);
    read_tools_during_calls(json!({"url": url}), "change_tools", json!({"name": "new"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_can_be_read_while_calls_are_answered_over_http() {
    let (_web, url) = Web::start([]);
    read_tools_during_calls(json!({"url": url}), "echo", json!({"text": "hi"})).await;
}
