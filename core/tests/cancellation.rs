//! Hazard: a cancelled call continues at the server, leaks its entry, or affects other calls.

mod common;

use std::time::Duration;

use common::{Journal, call, manager, stdio, until};
use mcpool::{Arguments, CallOptions};
use serde_json::json;

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server_and_leaves_nothing() {
    let journal = Journal::new("cancel");
    let manager = manager(json!({"s": stdio(&["--journal", journal.path()])}));
    manager.connect_all().await.unwrap();
    let sleeping = call(&manager, "sleep", json!({"ms": 60_000}));
    assert!(tokio::time::timeout(Duration::from_millis(50), sleeping).await.is_err());
    until("the server's word", || {
        journal.entries().iter().any(|entry| entry["event"] == "cancelled")
    })
    .await;
    let calls = manager.status()[0].calls;
    assert_eq!((calls.in_flight, calls.error, calls.timeout), (0, 0, 0));
    assert_eq!(call(&manager, "echo", json!({"text": "on"})).await.unwrap().text(), "on");
    manager.close().await;
}

#[tokio::test]
async fn a_call_dropped_before_it_is_polled_is_cancelled_too() {
    let journal = Journal::new("unpolled");
    let manager = manager(json!({"s": stdio(&["--journal", journal.path()])}));
    manager.connect_all().await.unwrap();
    let arguments = Arguments::from_json(r#"{"ms": 60000}"#).unwrap();
    drop(manager.call_tool("s", "sleep", arguments, CallOptions::default()));
    until("the server's word", || {
        journal.entries().iter().any(|entry| entry["event"] == "cancelled")
    })
    .await;
    manager.close().await;
}

#[tokio::test]
async fn a_call_that_waits_for_its_server_can_be_dropped() {
    let journal = Journal::new("waiting");
    let knobs = ["--slow", "initialize=1000", "--journal", journal.path()];
    let manager = manager(json!({"s": stdio(&knobs)}));
    let connecting = tokio::spawn(manager.connect_all());
    until("connecting", || manager.status()[0].state == mcpool::State::Connecting).await;
    let waiting = call(&manager, "count", json!({}));
    assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
    connecting.await.unwrap().unwrap();
    assert_eq!(call(&manager, "count", json!({})).await.unwrap().text(), "1");
    manager.close().await;
}

#[tokio::test]
async fn a_timeout_tells_the_server_and_spares_the_neighbours() {
    let journal = Journal::new("timeout");
    let manager = manager(json!({"s": stdio(&["--journal", journal.path()])}));
    manager.connect_all().await.unwrap();
    let slow = CallOptions::default().timeout(Duration::from_millis(80));
    let arguments = Arguments::from_json(r#"{"ms": 60000}"#).unwrap();
    let (timed_out, neighbour) = tokio::join!(
        manager.call_tool("s", "sleep", arguments, slow),
        call(&manager, "sleep", json!({"ms": 160})),
    );
    assert_eq!(timed_out.unwrap_err().code(), "TOOL_TIMEOUT");
    assert_eq!(neighbour.unwrap().text(), "slept");
    until("the server's word", || {
        journal.entries().iter().any(|entry| entry["event"] == "cancelled")
    })
    .await;
    assert_eq!(manager.status()[0].calls.timeout, 1);
    manager.close().await;
}
