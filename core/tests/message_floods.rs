//! Hazard: very many messages of a server, none of which is wrong, take memory for each, delay the end of its own calls
//! for ever, or keep other servers from answering.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/everywhere.rs"]
mod everywhere;

use common::call;
use everywhere::{ALONE, STATELESS, TRANSPORTS, beside, close, serve, with_other};
use serde_json::json;

/// What is on its way, the events that a manager keeps, and the replies that a server may leave unread.
const COST: usize = 64 << 20;
const OWN: &str =
    r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"own"}]}}"#;

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#)
}

/// Calls a server that sends these messages `times` times before its answer, over each transport.
async fn flood(lines: &[String], times: usize, transports: &[&str]) {
    let _alone = ALONE.lock().await;
    for transport in transports {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("call");
        std::fs::write(&file, [lines, &[OWN.to_owned()]].concat().join("\n")).unwrap();
        let knob = format!("tools/call={}", file.display());
        let fixture = serve(transport, &["--say", &knob, "--say-times", &times.to_string()]);
        let manager = with_other(fixture.definition.clone()).await;
        let result = beside(&manager, COST, call(&manager, "echo", json!({"text": "x"}))).await;
        assert_eq!(result.expect("an answer").text(), "own", "{transport}");
        std::fs::remove_file(&file).unwrap();
        let result = beside(&manager, COST, call(&manager, "echo", json!({"text": "x"}))).await;
        assert_eq!(result.expect("an answer").text(), "x", "{transport}");
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_notifications_before_an_answer_cost_nothing() {
    let lines = [
        notification("message", r#"{"level":"info","data":"a line of a log"}"#),
        notification("progress", r#"{"progressToken":$id,"progress":1}"#),
        notification("progress", r#"{"progressToken":"nobody's","progress":1}"#),
        notification("cancelled", r#"{"requestId":$id,"reason":"no"}"#),
        notification("of/a/new/kind", "{}"),
    ];
    flood(&lines, 200_000, &["stdio"]).await;
    flood(&lines, 20_000, &TRANSPORTS[1..]).await;
    flood(&lines, 20_000, &STATELESS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_changed_lists_is_one_flag() {
    let lines = [
        notification("tools/list_changed", "{}"),
        notification("resources/list_changed", "{}"),
        notification("prompts/list_changed", "{}"),
    ];
    flood(&lines, 20_000, &TRANSPORTS).await;
    flood(&lines, 20_000, &STATELESS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_pings_and_requests_whose_replies_are_not_read_is_bounded() {
    let request = |id: &str, method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
    };
    let lines = [
        request("\"ping\"", "ping"),
        request("$id", "ping"),
        request("1", "sampling/createMessage"),
        request("\"x\"", "roots/list"),
    ];
    flood(&lines, 25_000, &["stdio", "websocket"]).await;
    // Over HTTP each reply is a request of its own.
    flood(&lines, 500, &["http", "http-events", "sse"]).await;
    flood(&lines, 500, &STATELESS).await;
}
