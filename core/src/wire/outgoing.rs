//! Owns the form in which a message is passed to a transport.

use bytes::Bytes;
use http::header::HeaderMap;

use crate::caller::CallerHeaders;

/// One JSON-RPC message. It is written with the newline that ends it on a pipe, because appending that later could move
/// a long message.
#[derive(Clone)]
pub(crate) struct OutgoingMessage {
    line: Vec<u8>,
    /// Of the caller, for transports that send a request for each message.
    headers: Option<CallerHeaders>,
    /// Those that repeat parts of the message.
    mirrored: Option<Box<HeaderMap>>,
}

/// A message for a transport that sends a request for each.
#[derive(Clone, Default)]
pub(super) struct RequestParts {
    /// Without a newline.
    pub(super) body: Bytes,
    /// Headers of the caller.
    pub(super) caller: Option<CallerHeaders>,
    /// Headers that repeat parts of the body, where the protocol has no handshake.
    pub(super) mirrored: Option<Box<HeaderMap>>,
}

impl From<Bytes> for RequestParts {
    fn from(body: Bytes) -> Self {
        RequestParts { body, ..RequestParts::default() }
    }
}

impl OutgoingMessage {
    /// Takes one line of JSON with its newline.
    pub(crate) fn from_line(line: Vec<u8>) -> Self {
        debug_assert!(line.ends_with(b"\n"), "a message without its newline");
        OutgoingMessage { line, headers: None, mirrored: None }
    }

    /// The same message with headers of its caller.
    pub(crate) fn with_headers(self, headers: Option<CallerHeaders>) -> Self {
        OutgoingMessage { headers, ..self }
    }

    /// The same message with headers that repeat parts of it.
    pub(crate) fn with_mirrored(self, headers: HeaderMap) -> Self {
        OutgoingMessage { mirrored: Some(Box::new(headers)), ..self }
    }

    /// The same message with another line.
    pub(crate) fn rewritten(self, rewrite: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        OutgoingMessage { line: rewrite(&self.line), ..self }
    }

    /// The message with its newline.
    pub(crate) fn into_line(self) -> Vec<u8> {
        self.line
    }

    /// The message without its newline, for transports that frame it otherwise.
    pub(super) fn into_json(self) -> Bytes {
        self.into_parts().body
    }

    /// Same, with its headers.
    pub(super) fn into_parts(mut self) -> RequestParts {
        self.line.pop();
        RequestParts { body: self.line.into(), caller: self.headers, mirrored: self.mirrored }
    }
}
