//! Owns a call as it was sent, to be sent again under another id and with more members.

use memchr::memmem;

use crate::wire::OutgoingMessage;

#[derive(Clone)]
pub(super) struct RepeatedCall {
    sent: OutgoingMessage,
    id: u64,
    /// Further members of the parameters, each after a comma.
    members: String,
}

impl RepeatedCall {
    pub(super) fn new(sent: &OutgoingMessage, id: u64) -> Box<Self> {
        Box::new(RepeatedCall { sent: sent.clone(), id, members: String::new() })
    }

    pub(super) fn with_members(self, members: &str) -> Self {
        RepeatedCall { members: members.to_owned(), ..self }
    }

    /// The message. Its progress token stays that of the first one.
    pub(super) fn message(self, next: u64) -> OutgoingMessage {
        const END: &[u8] = b"}}\n";
        let RepeatedCall { sent, id, members } = self;
        sent.rewritten(|line| {
            let old = format!("\"id\":{id},");
            let at = memmem::find(line, old.as_bytes()).unwrap_or_default();
            let rest = line[at + old.len()..].strip_suffix(END).unwrap_or_default();
            let new = format!("\"id\":{next},");
            [&line[..at], new.as_bytes(), rest, members.as_bytes(), END].concat()
        })
    }
}
