//! Hazard: a server that breaks the rules of HTTP or WebSocket hangs an attempt, is taken for a server, gets
//! credentials that are not for it, or leaves sockets behind.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/server.rs"]
mod server;
#[path = "raw/sockets.rs"]
mod sockets;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use common::{PATIENCE, Web, call, manager, stdio, until};
use serde_json::{Value, json};
use server::{RawRequest, RawServer, accept, answer, open_events};
use sockets::sockets;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

const TRANSPORTS: [&str; 3] = ["http", "sse", "websocket"];

/// Connects to `url`, which must fail; another server of the manager works on. Returns the code.
async fn connect_fails(mut server: Value) -> String {
    let url = server["url"].as_str().expect("a URL").to_owned();
    server["restart"] = json!("never");
    let manager = manager(json!({"bad": server, "s": stdio(&[])}));
    let report = tokio::time::timeout(PATIENCE, manager.connect_all()).await;
    let report = report.expect("connect_all ends").expect("a report");
    assert_eq!(report.connected, ["s"], "{report:?}");
    until("the sockets of the attempt are closed", || sockets(&url) == 0).await;
    assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
    manager.close().await;
    report.failed["bad"].code().to_owned()
}

/// Same, with the WebSocket server that answers the upgrade so.
async fn upgrade_fails(
    answer: impl Fn(&RawRequest, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> String {
    let server = RawServer::start(answer);
    let url = server.url("websocket");
    connect_fails(json!({"type": "websocket", "url": url, "timeout": 30_000})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_come_byte_by_byte_end_with_the_attempt() {
    for transport in TRANSPORTS {
        let server = RawServer::start(|_, stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nX-Slow: ")?;
            loop {
                stream.write_all(b"x")?;
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let slow = json!({"type": transport, "url": server.url(transport), "timeout": 700});
        assert_eq!(connect_fails(slow).await, "CONNECT_TIMEOUT", "{transport}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_ends_with_the_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // The handshake of TLS hangs, too.
    for (transport, scheme) in
        [("http", "http"), ("http", "https"), ("sse", "https"), ("websocket", "wss")]
    {
        let url = format!("{scheme}://127.0.0.1:{port}/mcp");
        let mute = json!({"type": transport, "url": url, "timeout": 700});
        assert_eq!(connect_fails(mute).await, "CONNECT_TIMEOUT", "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_up_or_talks_nonsense_is_refused_at_once() {
    for transport in TRANSPORTS {
        for nonsense in [&b""[..], b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x03\x00\x02\x02\x46"] {
            let server = RawServer::start(|_, stream| {
                stream.write_all(nonsense)?;
                Err(std::io::ErrorKind::ConnectionAborted.into())
            });
            let url = server.url(transport);
            let code = connect_fails(json!({"type": transport, "url": url})).await;
            assert_eq!(code, "CONNECT_FAILED", "{transport} {nonsense:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_proves_nothing_is_refused() {
    let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n";
    for rest in [
        // The example of the specification: it belongs to another key.
        "Upgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "Upgrade: websocket\r\n\r\n",
        "Upgrade: h2c\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    ] {
        let code = upgrade_fails(move |_, stream| write!(stream, "{head}{rest}"));
        assert_eq!(code.await, "HANDSHAKE_FAILED", "{rest}");
    }
    let without_upgrade = |request: &RawRequest, stream: &mut TcpStream| {
        stream.write_all(request.upgrade().replace("Upgrade: websocket\r\n", "").as_bytes())
    };
    assert_eq!(upgrade_fails(without_upgrade).await, "HANDSHAKE_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_break_the_rules_lose_the_connection_at_once() {
    let long = [&[0x89, 126, 0, 200][..], &[b'p'; 200]].concat();
    let frames: [(&str, &[u8]); 9] = [
        ("masked", &[0x81, 0x82, 1, 2, 3, 4, b'{' ^ 1, b'}' ^ 2]),
        ("a reserved bit", &[0xC1, 2, b'{', b'}']),
        ("a reserved opcode", &[0x83, 2, b'{', b'}']),
        ("a reserved control opcode", &[0x8B, 0]),
        ("a control frame in fragments", &[0x09, 0]),
        ("a long control frame", &long),
        ("a continuation of nothing", &[0x80, 2, b'{', b'}']),
        ("a message within a message", &[0x01, 1, b'{', 0x81, 1, b'}']),
        ("a length of 63 bits", &[0x81, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
    ];
    for (name, bytes) in frames {
        let bytes = bytes.to_vec();
        let code = upgrade_fails(move |request, stream| {
            stream.write_all(request.upgrade().as_bytes())?;
            stream.write_all(&bytes)?;
            stream.read_to_end(&mut Vec::new()).map(drop)
        });
        let expected =
            if name == "a length of 63 bits" { "LIMIT_EXCEEDED" } else { "CONNECT_FAILED" };
        assert_eq!(code.await, expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_closes_without_a_frame_is_a_loss() {
    let code = upgrade_fails(|request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        Err(std::io::ErrorKind::ConnectionAborted.into())
    });
    assert_eq!(code.await, "CONNECT_FAILED");
    // In the middle of a frame.
    let code = upgrade_fails(|request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        stream.write_all(&[0x81, 100, b'{'])?;
        Err(std::io::ErrorKind::ConnectionAborted.into())
    });
    assert_eq!(code.await, "CONNECT_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_frame_is_a_loss_although_the_socket_stays_open() {
    let (reply, replies) = std::sync::mpsc::channel();
    let reply = Mutex::new(reply);
    let code = upgrade_fails(move |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        stream.write_all(&[0x88, 2, 0x03, 0xE9])?;
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest)?;
        let _ = reply.lock().unwrap().send(rest);
        Ok(())
    });
    assert_eq!(code.await, "CONNECT_FAILED");
    let reply = replies.recv_timeout(PATIENCE).expect("the socket is closed");
    let close = [0x88, 0x82];
    assert!(reply.windows(2).any(|bytes| bytes == close), "the close is answered: {reply:02x?}");
}

/// The most sockets that the calls of a link may use.
const CALL_SOCKETS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waited_for_a_socket_when_the_events_ended_is_sent_again() {
    const WAITING: usize = 20;
    let (held, all_held) = (Mutex::new(0), Condvar::new());
    let server = RawServer::start(move |request, stream| {
        if request.is_get() {
            open_events(stream)?;
            let mut held = held.lock().unwrap();
            if *held < CALL_SOCKETS {
                while *held < CALL_SOCKETS {
                    held = all_held.wait(held).unwrap();
                }
                return Err(std::io::ErrorKind::ConnectionAborted.into());
            }
            return Ok(());
        }
        let mut held = held.lock().unwrap();
        if request.is_call() && *held < CALL_SOCKETS {
            *held += 1;
            all_held.notify_all();
            return Ok(());
        }
        answer(request, stream)
    });
    let manager = manager(json!({"s": {"type": "sse", "url": server.url("sse")}}));
    manager.connect("s").await.expect("connected");
    let calls = (0..CALL_SOCKETS + WAITING).map(|_| call(&manager, "echo", json!({})));
    let ends = tokio::time::timeout(PATIENCE, futures_util::future::join_all(calls)).await;
    let ends = ends.expect("all calls end");
    let lost: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
    assert_eq!(lost.len(), CALL_SOCKETS, "{:?}", lost.last());
    let is_unknown = |error: &&&mcpool::Error| error.executed() == Some(mcpool::Executed::Unknown);
    assert_eq!(lost.iter().filter(is_unknown).count(), CALL_SOCKETS, "{lost:?}");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_without_an_endpoint_do_not_hide_why_a_post_was_refused() {
    let server = RawServer::start(|request, stream| match request.is_get() {
        true => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n")
        }
        false => stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    });
    let bad = json!({"type": "http", "url": server.url("http"), "timeout": 2500});
    assert_eq!(connect_fails(bad).await, "CONNECT_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_deaf_server_never_got_was_not_sent_in_time() {
    let (_deaf, end) = std::sync::mpsc::channel::<()>();
    let end = Mutex::new(end);
    let server = RawServer::start(move |request, stream| {
        stream.write_all(request.upgrade().as_bytes())?;
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        let mut listed = false;
        while !listed {
            let Ok(Message::Text(text)) = socket.read() else { return Ok(()) };
            let request = RawRequest { head: String::new(), body: text.to_string() };
            listed = text.contains("tools/list");
            request.answer().map(|answer| socket.send(answer.into()));
        }
        // Until the test ends.
        let _ = end.lock().unwrap().recv();
        Ok(())
    });
    let url = server.url("websocket");
    let manager = manager(json!({"s": {"type": "websocket", "url": url, "toolTimeout": 500}}));
    manager.connect("s").await.expect("connected");
    let long = "x".repeat(16 << 20);
    let calls = (0..3).map(|_| call(&manager, "echo", json!({"text": long})));
    let ends = futures_util::future::join_all(calls).await;
    let errors: Vec<_> = ends.into_iter().map(|end| end.expect_err("no answer")).collect();
    let is_unsent = |error: &&mcpool::Error| error.executed() == Some(mcpool::Executed::No);
    let unsent: Vec<_> = errors.iter().filter(is_unsent).map(ToString::to_string).collect();
    let words = "The call could not be sent in time";
    assert!(!unsent.is_empty() && unsent.iter().all(|it| it.contains(words)), "{errors:?}");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_carries_a_credential_to_another_origin() {
    for transport in TRANSPORTS {
        for status in [301, 302, 303, 307, 308] {
            let other = RawServer::start(|_, stream| accept(stream));
            let place = other.url(transport);
            let server = RawServer::start(move |_, stream| {
                let head = format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {place}");
                write!(stream, "{head}\r\nContent-Length: 0\r\n\r\n")
            });
            let url = server.url(transport);
            let headers = json!({"Authorization": "Bearer secret"});
            let code =
                connect_fails(json!({"type": transport, "url": url, "headers": headers})).await;
            assert_eq!(code, "CONNECT_FAILED", "{transport} {status}");
            assert!(server.heads()[0].contains("Bearer secret"), "the server itself is asked");
            assert!(other.heads().is_empty(), "{transport} {status}: {:?}", other.heads());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_of_an_endpoint_carries_a_credential_to_another_origin() {
    let other = RawServer::start(|_, stream| accept(stream));
    let place = other.url("http");
    let server = RawServer::start(move |request, stream| match request.is_get() {
        true => open_events(stream),
        false => {
            let head = format!("HTTP/1.1 307 Elsewhere\r\nLocation: {place}");
            write!(stream, "{head}\r\nContent-Length: 0\r\n\r\n")
        }
    });
    let headers = json!({"Authorization": "Bearer secret"});
    let url = server.url("sse");
    let code = connect_fails(json!({"type": "sse", "url": url, "headers": headers})).await;
    assert_eq!(code, "CONNECT_FAILED");
    assert!(other.heads().is_empty(), "{:?}", other.heads());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_in_an_endpoint_is_not_used() {
    let server = RawServer::start(|request, stream| {
        if !request.is_get() {
            return accept(stream);
        }
        let place = request.head.lines().find_map(|line| line.strip_prefix("host: "));
        let place = place.expect("a host");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        write!(stream, "{head}event: endpoint\ndata: http://their:own@{place}/message\n\n")
    });
    let (_, place) =
        server.url("sse").split_once("://").map(|(a, b)| (a.len(), b.to_owned())).unwrap();
    let ours = format!("http://our:login@{place}");
    let slow =
        manager(json!({"bad": {"type": "sse", "url": ours, "timeout": 1000, "restart": "never"}}));
    let error = slow.connect("bad").await.expect_err("nothing is answered");
    assert_eq!(error.code(), "CONNECT_TIMEOUT");
    let heads = server.heads();
    let logins: Vec<_> = heads
        .iter()
        .flat_map(|head| head.lines())
        .filter(|line| line.starts_with("authorization: "))
        .collect();
    assert_eq!(heads.len(), 2, "{heads:?}");
    assert_eq!(logins, ["authorization: Basic b3VyOmxvZ2lu"; 2], "{heads:?}");
    slow.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_socket_outlives_its_link_over_any_transport() {
    for transport in TRANSPORTS {
        let (_web, url) = Web::start_over(transport, []);
        let manager = manager(json!({"s": {"type": transport, "url": url}}));
        for _ in 0..3 {
            manager.connect("s").await.expect("connected");
            call(&manager, "echo", json!({"text": "x"})).await.expect("an answer");
            assert!(sockets(&url) > 0, "{transport}");
            manager.disconnect("s").await.expect("disconnected");
            until("all sockets are closed", || sockets(&url) == 0).await;
        }
        manager.connect("s").await.expect("connected");
        manager.close().await;
        until("all sockets are closed", || sockets(&url) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_leaves_its_socket_to_the_next_one() {
    let events = Mutex::new(None);
    let server = RawServer::start(move |request, stream| {
        if request.is_get() {
            *events.lock().unwrap() = Some(stream.try_clone()?);
            return open_events(stream);
        }
        // In two writes, so that the body is not there together with the head.
        stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\n")?;
        stream.write_all(b"Accepted")?;
        match (request.answer(), &mut *events.lock().unwrap()) {
            (Some(answer), Some(events)) => write!(events, "data: {answer}\n\n"),
            _ => Ok(()),
        }
    });
    let manager = manager(json!({"s": {"type": "sse", "url": server.url("sse")}}));
    manager.connect("s").await.expect("connected");
    for _ in 0..200 {
        call(&manager, "echo", json!({})).await.expect("an answer");
    }
    let connections = server.connections();
    assert!(connections < 20, "{connections} connections for 200 calls");
    manager.close().await;
}
