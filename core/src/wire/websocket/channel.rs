//! Owns what a WebSocket link shares with its task: the queue of messages to send, and the delivery of those that arrive.
//! Invariant: a message that is still queued at the end was never sent.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use serde::de::IgnoredAny;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::error::{Error, ErrorKind, Executed, Result};
use crate::sync::lock;
use crate::wire::{Inbound, UnreadRequests};

/// How much a server may leave unread before calls are refused.
pub(super) const BACKLOG_LIMIT: usize = 64 << 20;

/// What the link shares with its task.
pub(super) struct Channel {
    pub(super) queue: Mutex<Queue>,
    /// Wakes the task for queued messages.
    pub(super) waker: AtomicWaker,
    pub(super) inbound: OnceLock<Weak<dyn Inbound>>,
    pub(super) is_closing: AtomicBool,
    pub(super) has_ended: watch::Sender<bool>,
}

/// Messages that are not handed to the socket yet.
#[derive(Default)]
pub(super) struct Queue {
    messages: VecDeque<Queued>,
    pub(super) bytes: usize,
    pub(super) has_ended: bool,
}

struct Queued {
    text: Utf8Bytes,
    id: Option<u64>,
}

impl Channel {
    pub(super) fn enqueue(&self, message: Bytes, id: Option<u64>) -> Result<()> {
        let mut queue = lock(&self.queue);
        if queue.has_ended {
            return Err(ended());
        }
        if queue.bytes + message.len() > BACKLOG_LIMIT {
            let text = format!("The server has not read {} MiB of messages", BACKLOG_LIMIT >> 20);
            return Err(Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::No));
        }
        let text = Utf8Bytes::try_from(message).map_err(|_| {
            Error::new(ErrorKind::InvalidArguments, "The message is not valid UTF-8")
                .with_executed(Executed::No)
        })?;
        queue.bytes += text.len();
        queue.messages.push_back(Queued { text, id });
        Ok(())
    }

    pub(super) fn next(&self) -> Option<Utf8Bytes> {
        let mut queue = lock(&self.queue);
        let next = queue.messages.pop_front()?.text;
        queue.bytes -= next.len();
        Some(next)
    }

    /// Removes a queued request; returns whether it was still queued.
    pub(super) fn withdraw(&self, id: u64) -> bool {
        let mut queue = lock(&self.queue);
        let Some(at) = queue.messages.iter().position(|queued| queued.id == Some(id)) else {
            return false;
        };
        if let Some(removed) = queue.messages.remove(at) {
            queue.bytes -= removed.text.len();
        }
        true
    }

    pub(super) fn inbound(&self) -> Option<Arc<dyn Inbound>> {
        self.inbound.get().and_then(Weak::upgrade)
    }

    pub(super) fn deliver(&self, frame: Bytes) {
        let Some(inbound) = self.inbound() else { return };
        each_message(frame, |message| inbound.message(message));
    }

    pub(super) fn fail_only_request(&self, error: &Error) {
        if let Some(inbound) = self.inbound() {
            inbound.fail_only_request(error);
        }
    }

    /// Refuses new messages; returns the requests that were never sent.
    pub(super) fn end(&self) -> UnreadRequests {
        let mut queue = lock(&self.queue);
        queue.has_ended = true;
        queue.bytes = 0;
        let unsent = std::mem::take(&mut queue.messages).into_iter().filter_map(|it| it.id);
        let unsent = UnreadRequests::Unsent(unsent.collect());
        self.has_ended.send_replace(true);
        unsent
    }

    pub(super) fn fail(&self, error: Error) {
        let unsent = self.end();
        if let Some(inbound) = self.inbound() {
            inbound.closed(error, Some(&unsent));
        }
    }
}

/// Calls `deliver` with each message of a frame.
pub(super) fn each_message(frame: Bytes, mut deliver: impl FnMut(Bytes)) {
    let mut rest = frame;
    if memchr::memchr(b'\n', &rest).is_some() {
        while let Some(end) = end_of_first(&rest) {
            deliver(rest.split_to(end));
        }
    }
    deliver(rest);
}

/// Where the first message of a frame ends, if another one follows. A frame should be one message, but a server that
/// writes lines may put several into one frame.
fn end_of_first(frame: &[u8]) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_slice(frame).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let end = values.byte_offset();
    (!frame[end..].trim_ascii_start().is_empty()).then_some(end)
}

pub(super) fn ended() -> Error {
    Error::new(ErrorKind::ConnectionLost, "The connection has ended").with_executed(Executed::No)
}

#[cfg(test)]
mod tests {
    use super::end_of_first;

    #[test]
    fn a_frame_of_several_messages_is_cut_between_them() {
        let (first, second) = ("{\"a\":\"}\\n{\"}", "{\"b\":[1,2]}");
        for between in ["\n", "\r\n", " ", ""] {
            let frame = format!("{first}{between}{second}\n");
            assert_eq!(end_of_first(frame.as_bytes()), Some(first.len()), "{between:?}");
        }
    }

    #[test]
    fn a_frame_of_one_message_is_left_whole() {
        for frame in ["{\n  \"a\": 1\n}", "{\"a\":1}\r\n", "[{},\n{}]", "", "\n", "not JSON\n{}"] {
            assert_eq!(end_of_first(frame.as_bytes()), None, "{frame:?}");
        }
        assert_eq!(end_of_first(b"{\"a\":1\n"), None, "it is cut off");
    }
}
