//! Hazard: what a server does not read fills our memory, keeps its calls from ending, or blocks the calls of others.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/everywhere.rs"]
mod everywhere;
#[path = "raw/server.rs"]
mod server;

use std::io::Write;

use common::call;
use everywhere::{ALONE, beside, close, with_other};
use serde_json::{Value, json};
use server::{RawRequest, RawServer, accept, answer, open_events};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

const CALLS: usize = 32;
const ARGUMENT: usize = 256 << 10;
/// All arguments as they were given, as they are sent, and in the buffers of the system.
const COST: usize = 4 * CALLS * ARGUMENT + (24 << 20);
const ROUNDS: usize = 4;

/// Makes large calls, round after round; none is answered, and what they took is given back.
async fn calls_end(mut deaf: Value) {
    let _alone = ALONE.lock().await;
    deaf["toolTimeout"] = json!(400);
    deaf["restart"] = json!("never");
    let manager = with_other(deaf).await;
    let text = "x".repeat(ARGUMENT);
    let rounds = async {
        for _ in 0..ROUNDS {
            let calls = (0..CALLS).map(|_| call(&manager, "echo", json!({"text": text})));
            for end in futures_util::future::join_all(calls).await {
                let error = end.expect_err("no answer");
                let known = ["TOOL_TIMEOUT", "CONNECTION_LOST", "TOOL_UNAVAILABLE"];
                assert!(known.contains(&error.code()), "{error}");
            }
        }
    };
    beside(&manager, COST, rounds).await;
    close(&manager).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_program_that_reads_nothing_end() {
    let answer = |id: u32, result: &str| {
        format!(r#"printf '%s\n' '{{"jsonrpc":"2.0","id":{id},"result":{result}}}'"#)
    };
    let greeting = answer(1, r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}"#);
    let tools = answer(2, r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#);
    let script = format!("read a; {greeting}; read b; read c; {tools}; exec sleep 100");
    calls_end(json!({"command": "sh", "args": ["-c", script]})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_a_socket_that_is_not_read_end() {
    let server = RawServer::start(|request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        loop {
            let Ok(Message::Text(text)) = socket.read() else { return Ok(()) };
            let request = RawRequest { head: String::new(), body: text.to_string() };
            request.answer().map(|answer| socket.send(answer.into()));
            if text.contains("tools/list") {
                // The thread ends with the test.
                std::thread::sleep(common::PATIENCE);
            }
        }
    });
    calls_end(json!({"type": "websocket", "url": server.url("websocket")})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_http_whose_bodies_are_not_read_end() {
    for transport in ["http", "sse"] {
        let server = RawServer::start_reading(ARGUMENT as u64 / 2, move |request, stream| {
            if request.is_get() && transport == "sse" {
                return open_events(stream);
            }
            if request.is_get() {
                return stream.write_all(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n");
            }
            match request.answer() {
                Some(_) => answer(request, stream),
                None => accept(stream),
            }
        });
        calls_end(json!({"type": transport, "url": server.url(transport)})).await;
    }
}
