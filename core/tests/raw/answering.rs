//! Owns servers that do the handshake properly and write the answer to a call byte by byte as a test wants, over each
//! transport.
#![allow(dead_code)]

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use crate::server::{RawRequest, RawServer, accept, answer, open_events};

/// Writes the bytes of an answer, as its transport frames them.
pub(crate) type WriteAnswer = fn(&mut TcpStream, &[u8]) -> io::Result<()>;

/// A server over a network whose answers to calls are written by `write`; its definition.
pub(crate) fn start(transport: &'static str, write: WriteAnswer) -> (RawServer, Value) {
    let events: Arc<Mutex<Option<TcpStream>>> = Arc::default();
    let server = RawServer::start(move |request, stream| match transport {
        "websocket" => over_websocket(request, stream, write),
        "sse" => over_events(request, stream, &events, write),
        "http-events" if request.is_call() => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            write(stream, &event(request))?;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        "http" if request.is_call() => {
            let body = request.answer().expect("a call");
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
            write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", body.len())?;
            write(stream, body.as_bytes())
        }
        _ if request.is_get() => stream.write_all(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"),
        _ => answer(request, stream),
    });
    let kind = transport.trim_end_matches("-events");
    let definition = json!({"type": kind, "url": server.url(kind)});
    (server, definition)
}

fn event(request: &RawRequest) -> Vec<u8> {
    format!("event: message\ndata: {}\n\n", request.answer().expect("a request")).into_bytes()
}

fn over_events(
    request: &RawRequest,
    stream: &mut TcpStream,
    events: &Mutex<Option<TcpStream>>,
    write: WriteAnswer,
) -> io::Result<()> {
    if request.is_get() {
        // Locked before the client learns its endpoint, so that no answer finds the stream missing.
        let mut events = events.lock().unwrap();
        *events = Some(stream.try_clone()?);
        return open_events(stream);
    }
    accept(stream)?;
    let mut events = events.lock().unwrap();
    let Some(events) = events.as_mut() else { return Ok(()) };
    match request.answer() {
        Some(_) if request.is_call() => write(events, &event(request)),
        Some(_) => events.write_all(&event(request)),
        None => Ok(()),
    }
}

fn over_websocket(
    request: &RawRequest,
    stream: &mut TcpStream,
    write: WriteAnswer,
) -> io::Result<()> {
    stream.write_all(request.upgrade().as_bytes())?;
    let mut bytes = stream.try_clone()?;
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
    while let Ok(Message::Text(text)) = socket.read() {
        let request = RawRequest { head: String::new(), body: text.to_string() };
        let Some(answer) = request.answer() else { continue };
        if !request.is_call() {
            let _ = socket.send(answer.into());
            continue;
        }
        let length = u8::try_from(answer.len()).expect("a short answer");
        assert!(length < 126, "the length is in one byte");
        write(&mut bytes, &[&[0x81, length], answer.as_bytes()].concat())?;
    }
    Ok(())
}
