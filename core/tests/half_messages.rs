//! Hazard: an answer that stops halfway, or that drips in byte by byte, keeps its call waiting for ever, loses it, or
//! keeps other servers from answering.
#![cfg(target_os = "linux")]

#[path = "raw/answering.rs"]
mod answering;
mod common;
#[path = "raw/everywhere.rs"]
mod everywhere;
#[path = "raw/server.rs"]
mod server;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use answering::WriteAnswer;
use common::call;
use everywhere::{ALONE, TRANSPORTS, beside, close, with_other};
use serde_json::{Value, json};
use server::RawServer;

const COST: usize = 32 << 20;
const PAUSE: Duration = Duration::from_millis(2);
/// The answer to a call over stdio.
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#;

fn write_half(stream: &mut TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.write_all(&answer[..answer.len() / 2])?;
    // Longer than any limit here; the thread ends with the test.
    std::thread::sleep(common::PATIENCE);
    Ok(())
}

fn drip(stream: &mut TcpStream, answer: &[u8]) -> std::io::Result<()> {
    for byte in answer {
        stream.write_all(&[*byte])?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// A program that does the handshake and runs `script` at each call.
fn program(script: &str) -> Value {
    let answer = |id: u32, result: &str| {
        format!(r#"printf '%s\n' '{{"jsonrpc":"2.0","id":{id},"result":{result}}}'"#)
    };
    let greeting = answer(1, r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}"#);
    let tools = answer(2, r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#);
    let script = format!("read a; {greeting}; read b; read c; {tools}; read d; {script}; read e");
    json!({"command": "sh", "args": ["-c", script]})
}

/// The definition of a server over this transport that answers so.
fn server(transport: &'static str, script: &str, write: WriteAnswer) -> (Option<RawServer>, Value) {
    if transport == "stdio" {
        return (None, program(script));
    }
    let (server, definition) = answering::start(transport, write);
    (Some(server), definition)
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_and_then_silence_ends_with_the_call() {
    let _alone = ALONE.lock().await;
    let half = format!("printf '%s' '{}'; sleep 60", &ANSWER[..ANSWER.len() / 2]);
    for transport in TRANSPORTS {
        let (_server, mut definition) = server(transport, &half, write_half);
        definition["toolTimeout"] = json!(500);
        definition["restart"] = json!("never");
        let manager = with_other(definition).await;
        let error = beside(&manager, COST, call(&manager, "echo", json!({}))).await.unwrap_err();
        assert_eq!(error.code(), "TOOL_TIMEOUT", "{transport}: {error}");
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_drips_in_arrives_whole() {
    let _alone = ALONE.lock().await;
    let letters: Vec<String> = ANSWER.chars().map(|letter| format!("'{letter}'")).collect();
    let drips =
        format!("for c in {}; do printf %s \"$c\"; sleep 0.002; done; echo", letters.join(" "));
    for transport in TRANSPORTS {
        let (_server, definition) = server(transport, &drips, drip);
        let manager = with_other(definition).await;
        let result = beside(&manager, COST, call(&manager, "echo", json!({}))).await;
        assert_eq!(result.expect("an answer").json(), r#"{"content":[]}"#, "{transport}");
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_drips_in_without_end_ends_with_the_call() {
    let _alone = ALONE.lock().await;
    let endless: WriteAnswer = |stream, answer| {
        let (last, first) = answer.split_last().expect("an answer");
        stream.write_all(&first[..first.len() / 2])?;
        loop {
            // White space, until the client is gone.
            stream.write_all(if *last == b'\n' { b"x" } else { b" " })?;
            std::thread::sleep(PAUSE);
        }
    };
    let drips = format!("printf '%s' '{}'; while printf x; do sleep 0.002; done", &ANSWER[..20]);
    for transport in ["stdio", "http-events", "sse"] {
        let (_server, mut definition) = server(transport, &drips, endless);
        definition["toolTimeout"] = json!(500);
        definition["restart"] = json!("never");
        let manager = with_other(definition).await;
        let error = beside(&manager, COST, call(&manager, "echo", json!({}))).await.unwrap_err();
        assert_eq!(error.code(), "TOOL_TIMEOUT", "{transport}: {error}");
        close(&manager).await;
    }
}
