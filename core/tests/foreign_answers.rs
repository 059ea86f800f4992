//! Hazard: an answer under a wrong, foreign, repeated or future id reaches a caller, or an answer that comes before its
//! question does.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/everywhere.rs"]
mod everywhere;
#[path = "raw/server.rs"]
mod server;

use std::io::Write;

use common::{call, stdio};
use everywhere::{STATELESS, TRANSPORTS, call_other, close, serve, with_other};
use mcpool::{Manager, State};
use serde_json::json;
use server::{RawRequest, RawServer};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

/// Ids that no pending call has: those of the handshake, of later calls, and some that are no numbers of ours.
const FOREIGN: [&str; 14] = [
    "0",
    "1",
    "2",
    "\"1\"",
    "-3",
    "3.5",
    "1e3",
    "18446744073709551615",
    "99999999999999999999999",
    "\"x\"",
    "\"\"",
    "null",
    "true",
    "[3]",
];
/// Ids of calls that are made later.
const LATER: std::ops::Range<u64> = 10..40;

fn answer(id: &str, text: &str) -> String {
    let result = json!({"content": [{"type": "text", "text": text}], "tools": [{"name": text}]});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Answers that nobody asked for.
fn stolen() -> Vec<String> {
    let later: Vec<String> = LATER.map(|id| id.to_string()).collect();
    let ids = FOREIGN.into_iter().chain(later.iter().map(String::as_str));
    ids.map(|id| answer(id, "stolen")).collect()
}

/// Makes more calls than there are ids to steal; each gets its own answer.
async fn every_call_gets_its_own_answer(manager: &Manager) {
    for number in 0..LATER.end {
        let text = format!("call {number}");
        let result = call(manager, "echo", json!({"text": text})).await.expect("an answer");
        assert_eq!(result.text(), text);
    }
    call_other(manager).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_under_foreign_ids_reach_nobody() {
    for transport in TRANSPORTS.into_iter().chain(STATELESS) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("call");
        let knob = format!("tools/call={}", file.display());
        let fixture = serve(transport, &["--say", &knob]);
        let manager = with_other(fixture.definition.clone()).await;
        let lines = [stolen(), vec![answer("$id", "own")]].concat();
        std::fs::write(&file, lines.join("\n")).unwrap();
        let result = call(&manager, "echo", json!({"text": "x"})).await.unwrap();
        assert_eq!(result.text(), "own", "{transport}");
        std::fs::remove_file(&file).unwrap();
        every_call_gets_its_own_answer(&manager).await;
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_answers_to_one_call_one_counts() {
    for transport in TRANSPORTS.into_iter().chain(STATELESS) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("call");
        let knob = format!("tools/call={}", file.display());
        let fixture = serve(transport, &["--say", &knob]);
        let manager = with_other(fixture.definition.clone()).await;
        let lines: Vec<_> = (0..20).map(|turn| answer("$id", &format!("answer {turn}"))).collect();
        std::fs::write(&file, lines.join("\n")).unwrap();
        let result = call(&manager, "echo", json!({"text": "x"})).await.unwrap();
        // With two streams, the last answer may overtake the others.
        let texts =
            if transport == "http" { vec!["answer 0", "answer 19"] } else { vec!["answer 0"] };
        assert!(texts.contains(&result.text().as_str()), "{transport}: {}", result.text());
        std::fs::remove_file(&file).unwrap();
        every_call_gets_its_own_answer(&manager).await;
        let status = manager.status().into_iter().find(|status| status.name == "s").unwrap();
        assert_eq!(status.calls.ok, 1 + LATER.end, "{transport}: each call is counted once");
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_before_the_handshake_answer_nothing_later() {
    // Over HTTP without events they travel over the standing stream, and may arrive when their ids are in use: nobody can
    // tell them from answers then.
    for transport in TRANSPORTS.into_iter().filter(|transport| *transport != "http") {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("initialize");
        let greeting = r#"{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#;
        let early = stolen().into_iter().filter(|line| !line.contains(r#""id":1,"#));
        let early = early.filter(|line| !line.contains(r#""id":"1","#));
        let lines: Vec<String> = early.chain([greeting.to_owned()]).collect();
        std::fs::write(&file, lines.join("\n")).unwrap();
        let fixture = serve(transport, &["--say", &format!("initialize={}", file.display())]);
        let manager = with_other(fixture.definition.clone()).await;
        let tools = manager.get_tools();
        assert!(tools.tools().iter().all(|tool| tool.definition.raw_name() != "stolen"));
        every_call_gets_its_own_answer(&manager).await;
        close(&manager).await;
    }
}

/// The handshake itself may be answered too early: nobody can tell. Then it is the answer, or it is dropped; the second
/// one is.
#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_is_answered_before_it_is_asked_ends() {
    let greeting = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#;
    let pushy = RawServer::start(move |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        let _ = socket.send(greeting.into());
        while let Ok(Message::Text(text)) = socket.read() {
            let request = RawRequest { head: String::new(), body: text.to_string() };
            request.answer().map(|answer| socket.send(answer.into()));
        }
        Ok(())
    });
    let over_websocket = json!({"type": "websocket", "url": pushy.url("websocket")});
    for definition in [stdio(&["--print", greeting]), over_websocket] {
        for _ in 0..10 {
            let manager = with_other(definition.clone()).await;
            let status = manager.status().into_iter().find(|status| status.name == "s").unwrap();
            assert_eq!(status.state, State::Connected, "{:?}", status.error);
            call(&manager, "echo", json!({"text": "x"})).await.unwrap();
            close(&manager).await;
        }
    }
}
