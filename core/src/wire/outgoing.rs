//! Owns the form in which a message is passed to a transport.

use bytes::Bytes;

/// One JSON-RPC message. It is written with the newline that ends it on a pipe, because appending that later could move
/// a long message.
pub(crate) struct OutgoingMessage(Vec<u8>);

impl OutgoingMessage {
    /// Takes one line of JSON with its newline.
    pub(crate) fn from_line(line: Vec<u8>) -> Self {
        debug_assert!(line.ends_with(b"\n"), "a message without its newline");
        OutgoingMessage(line)
    }

    /// The message with its newline.
    pub(crate) fn into_line(self) -> Vec<u8> {
        self.0
    }

    /// The message without its newline, for transports that frame it otherwise.
    pub(super) fn into_json(mut self) -> Bytes {
        self.0.pop();
        self.0.into()
    }
}
