//! Gives the readers of the transports to the properties in `fuzzing`: what a stream that arrives in chunks contains.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use bytes::Bytes;
use tokio_tungstenite::tungstenite::WebSocket;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::network::events::{Event, EventStream};
use super::stdio::{Frame, Frames};
use super::websocket::{messages_of, socket_config};
use crate::config::Limits;

/// The lines of a program's output; `None` is one over the limit.
pub(crate) fn lines(chunks: &[&[u8]], limit: usize) -> Vec<Option<Bytes>> {
    let (mut frames, mut found) = (Frames::new(limit), Vec::new());
    for chunk in chunks {
        frames.room(chunk.len()).extend_from_slice(chunk);
        while let Some(frame) = frames.next() {
            match frame {
                Frame::Line(line) => found.push(Some(line)),
                // Told when it begins, if that is known, and when it ends.
                Frame::Oversized { tail, .. } if tail.is_empty() => {}
                Frame::Oversized { .. } => found.push(None),
            }
        }
        assert!(frames.partial().len() <= limit, "more than the limit is kept");
    }
    found
}

/// What an event stream contains, with its last event id.
pub(crate) fn events(chunks: &[&[u8]], limit: usize) -> (Vec<Option<Bytes>>, Option<Bytes>, u64) {
    let (mut stream, mut found) = (EventStream::new(limit), Vec::new());
    for chunk in chunks {
        for event in stream.feed_events(chunk) {
            match event {
                Event::Message(data) | Event::Endpoint(data) => found.push(Some(data)),
                Event::Oversized { tail, .. } if tail.is_empty() => found.push(None),
                Event::Oversized { .. } => {}
            }
        }
        assert!(stream.kept() <= limit, "more than the limit is kept");
    }
    let id = stream.last_id().map(|id| Bytes::copy_from_slice(id.as_bytes()));
    (found, id, stream.count())
}

/// The messages in the frames of a server's WebSocket, up to the first that breaks the rules.
pub(crate) fn websocket(chunks: &[&[u8]], limit: usize) -> Vec<Bytes> {
    let limits = Limits { message_bytes: limit, ..Limits::default() };
    let chunks = Chunks(chunks.iter().map(|chunk| chunk.to_vec()).collect());
    let mut socket = WebSocket::from_raw_socket(chunks, Role::Client, Some(socket_config(&limits)));
    let mut found = Vec::new();
    while let Ok(message) = socket.read() {
        if !message.is_text() && !message.is_binary() {
            continue;
        }
        let frame = message.into_data();
        assert!(frame.len() <= limit, "a message over the limit");
        let messages = messages_of(frame.clone());
        assert_eq!(messages.concat(), frame, "a part of a frame was lost");
        found.extend(messages);
    }
    found
}

/// A socket on which these chunks arrive; what is written to it is dropped.
struct Chunks(VecDeque<Vec<u8>>);

impl Read for Chunks {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(chunk) = self.0.front_mut() else { return Ok(0) };
        let count = chunk.len().min(room.len());
        room[..count].copy_from_slice(&chunk[..count]);
        chunk.drain(..count);
        if chunk.is_empty() {
            self.0.pop_front();
        }
        Ok(count)
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
