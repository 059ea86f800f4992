//! Owns the form in which a message is passed to a transport.

use bytes::Bytes;

use crate::caller::CallerHeaders;

/// One JSON-RPC message. It is written with the newline that ends it on a pipe, because appending that later could move
/// a long message.
pub(crate) struct OutgoingMessage {
    line: Vec<u8>,
    /// Of the caller, for transports that send a request for each message.
    headers: Option<CallerHeaders>,
}

impl OutgoingMessage {
    /// Takes one line of JSON with its newline.
    pub(crate) fn from_line(line: Vec<u8>) -> Self {
        debug_assert!(line.ends_with(b"\n"), "a message without its newline");
        OutgoingMessage { line, headers: None }
    }

    /// The same message with headers of its caller.
    pub(crate) fn with_headers(self, headers: Option<CallerHeaders>) -> Self {
        OutgoingMessage { headers, ..self }
    }

    /// The message with its newline.
    pub(crate) fn into_line(self) -> Vec<u8> {
        self.line
    }

    /// The message without its newline, for transports that frame it otherwise.
    pub(super) fn into_json(self) -> Bytes {
        self.into_parts().0
    }

    /// Same, with the headers of its caller.
    pub(super) fn into_parts(mut self) -> (Bytes, Option<CallerHeaders>) {
        self.line.pop();
        (self.line.into(), self.headers)
    }
}
