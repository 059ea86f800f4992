//! Hazard: a server over a network that never stops sending takes the memory of the process, blocks other servers, or
//! leaves sockets behind.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/server.rs"]
mod server;
#[path = "raw/sockets.rs"]
mod sockets;

use std::io::Write;
use std::net::TcpStream;

use common::{PATIENCE, Web, call, manager, resident, stdio, until};
use mcpool::{Arguments, CallOptions, Manager};
use serde_json::{Value, json};
use server::{RawRequest, RawServer, accept, answer, open_events, write_endlessly};
use sockets::sockets;

const LIMIT: usize = 1 << 20;
/// A message with its growing buffers, and what is on its way through the sockets.
const COST: usize = 5 * LIMIT + (24 << 20);
/// A text frame that is not the last of its message, without its length.
const FIRST_FRAGMENT: u8 = 0x01;
const PING: [u8; 127] = {
    let mut frame = [b'p'; 127];
    (frame[0], frame[1]) = (0x89, 125);
    frame
};

/// Memory is measured for the whole process, so these tests run one at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A manager with the hostile server `s` and the friendly server `other`.
fn with_other(mut hostile: Value) -> Manager {
    hostile["limits"] = json!({"messageBytes": LIMIT});
    manager(json!({"s": hostile, "other": stdio(&[])}))
}

/// Runs `work` while another server is called again and again; fails if that does not answer, or if memory grows.
async fn while_others_work<T>(manager: &Manager, work: impl Future<Output = T>) -> T {
    manager.connect("other").await.expect("the other server");
    let before = resident();
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let other = async || {
        let arguments = Arguments::new(&json!({"text": "x"})).expect("an object");
        let call = manager.call_tool("other", "echo", arguments, CallOptions::default());
        call.await.expect("other servers answer");
    };
    let calls = async {
        loop {
            other().await;
        }
    };
    let done = tokio::select! {
        done = tokio::time::timeout(PATIENCE, work) => done.expect("an end"),
        () = calls => unreachable!("it never ends"),
    };
    other().await;
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kib: usize = line.split_whitespace().nth(1).expect("a value").parse().expect("a number");
    let cost = (kib << 10).saturating_sub(before);
    assert!(cost < COST, "{} MiB of memory", cost >> 20);
    done
}

/// Closes the manager; no socket to `url` may stay.
async fn close(manager: &Manager, url: &str) {
    tokio::time::timeout(PATIENCE, manager.close()).await.expect("close ends");
    until("all sockets are closed", || sockets(url) == 0).await;
}

/// Connects to a server that floods in place of a handshake; returns the code of the failure.
async fn connect_fails(
    transport: &str,
    answer: impl Fn(&RawRequest, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> String {
    let _alone = ALONE.lock().await;
    let server = RawServer::start(answer);
    let url = server.url(transport);
    let manager =
        with_other(json!({"type": transport, "url": url, "timeout": 2000, "restart": "never"}));
    let error = while_others_work(&manager, manager.connect("s")).await.expect_err("no handshake");
    until("the sockets of the attempt are closed", || sockets(&url) == 0).await;
    close(&manager, &url).await;
    error.code().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_without_end_cost_nothing() {
    let _alone = ALONE.lock().await;
    let (_web, url) = Web::start_over("sse", ["--event-flood"]);
    let manager = with_other(json!({"type": "sse", "url": url}));
    let work = async {
        manager.connect("s").await.expect("connected");
        for _ in 0..20 {
            assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
        }
    };
    while_others_work(&manager, work).await;
    close(&manager, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_without_end_end_with_the_attempt() {
    const LOG: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n\n";
    let code = connect_fails("sse", |request, stream| {
        if !request.is_get() {
            return accept(stream);
        }
        open_events(stream)?;
        write_endlessly(stream, LOG)
    });
    assert_eq!(code.await, "CONNECT_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_without_an_endpoint_end_with_the_attempt() {
    let code = connect_fails("sse", |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        write_endlessly(stream, b"event: message\ndata: {}\n\n")
    });
    assert_eq!(code.await, "CONNECT_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_without_end_ends_with_the_attempt() {
    let code = connect_fails("sse", |request, stream| {
        if !request.is_get() {
            return stream.write_all(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n");
        }
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /",
        )?;
        write_endlessly(stream, b"x")
    });
    assert_eq!(code.await, "CONNECT_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_without_end_fails_its_call_and_is_left() {
    let _alone = ALONE.lock().await;
    let (_web, url) = Web::start_over("sse", ["--endless-event", "tools/call"]);
    let manager = with_other(json!({"type": "sse", "url": url, "toolTimeout": 3_600_000}));
    manager.connect("s").await.expect("connected");
    let calling = call(&manager, "echo", json!({"text": "x"}));
    let error = while_others_work(&manager, calling).await.expect_err("no answer");
    assert_eq!(error.code(), "LIMIT_EXCEEDED");
    close(&manager, &url).await;
}

/// Calls a server that never completes its answers to calls; they must not be kept all at once.
async fn incomplete_answers_are_bounded(transport: &str, status: &'static str) {
    const CALLS: usize = 90;
    let _alone = ALONE.lock().await;
    let server = RawServer::start(move |request, stream| {
        if request.is_get() {
            return open_events(stream);
        }
        if request.is_call() {
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json");
            write!(stream, "{head}\r\nContent-Length: {LIMIT}\r\n\r\n")?;
            return (1..LIMIT >> 12).try_for_each(|_| stream.write_all(&[b' '; 1 << 12]));
        }
        answer(request, stream)
    });
    let url = server.url(transport);
    let manager = with_other(json!({"type": transport, "url": url, "toolTimeout": 3000}));
    manager.connect("s").await.expect("connected");
    let calls = (0..CALLS).map(|_| call(&manager, "echo", json!({"text": "x"})));
    let ends = while_others_work(&manager, futures_util::future::join_all(calls)).await;
    assert!(ends.iter().all(Result::is_err));
    close(&manager, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_answers_to_posts_are_bounded() {
    incomplete_answers_are_bounded("sse", "200 OK").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_answers_with_an_error_status_are_bounded() {
    incomplete_answers_are_bounded("http", "400 Bad Request").await;
}

/// Calls a WebSocket server that answers with too much; it must be restarted.
async fn call_is_over_the_limit(knobs: &[&str]) {
    let _alone = ALONE.lock().await;
    let (_web, url) = Web::start_over("websocket", knobs.iter().copied());
    let manager = with_other(json!({"type": "websocket", "url": url, "toolTimeout": 3_600_000}));
    manager.connect("s").await.expect("connected");
    for restarts in 1..=2 {
        let calling = call(&manager, "echo", json!({"text": "x"}));
        let error = while_others_work(&manager, calling).await.expect_err("no answer");
        assert_eq!(error.code(), "LIMIT_EXCEEDED");
        let restarted = || manager.status().iter().any(|status| status.restarts >= restarts);
        until("the server is restarted", restarted).await;
    }
    close(&manager, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_100_megabytes_fails_its_call() {
    call_is_over_the_limit(&["--huge-frame", "104857600"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_without_end_fail_their_call() {
    call_is_over_the_limit(&["--endless-fragments", "tools/call"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tiny_fragments_without_end_are_over_the_limit() {
    let code = connect_fails("websocket", |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        stream.write_all(&[FIRST_FRAGMENT, 1, b'['])?;
        write_endlessly(stream, &[0x00, 1, b'0'])
    });
    assert_eq!(code.await, "LIMIT_EXCEEDED");
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_fragments_without_end_end_with_the_attempt() {
    let code = connect_fails("websocket", |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        stream.write_all(&[FIRST_FRAGMENT, 1, b'['])?;
        write_endlessly(stream, &[0x00, 0])
    });
    assert_eq!(code.await, "CONNECT_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_without_end_end_with_the_attempt() {
    let code = connect_fails("websocket", |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        write_endlessly(stream, &[0x81, 2, b'{', b'}'])
    });
    assert_eq!(code.await, "CONNECT_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_of_a_server_that_reads_no_pong_are_a_loss() {
    let code = connect_fails("websocket", |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        write_endlessly(stream, &PING)
    });
    assert_eq!(code.await, "CONNECT_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoded_answer_is_refused_unread() {
    for (transport, kind) in [("http", "application/json"), ("sse", "text/event-stream")] {
        let code = connect_fails(transport, move |_, stream| {
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip";
            write!(stream, "{head}\r\nContent-Type: {kind}\r\n\r\n\x1f")?;
            write_endlessly(stream, &[0])
        });
        assert_eq!(code.await, "HANDSHAKE_FAILED", "{transport}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn informational_answers_without_end_are_over_the_limit() {
    for transport in ["http", "sse", "websocket"] {
        let code = connect_fails(transport, |_, stream| {
            write_endlessly(stream, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        });
        assert_eq!(code.await, "LIMIT_EXCEEDED", "{transport}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_end_are_refused() {
    for transport in ["http", "sse", "websocket"] {
        let code = connect_fails(transport, |_, stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            write_endlessly(stream, b"X-More: and more\r\n")
        });
        assert_eq!(code.await, "CONNECT_FAILED", "{transport}");
    }
}
