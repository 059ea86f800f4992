//! Owns the ways to a server: bytes in, bytes out. It knows where a message begins and ends and which message
//! expects an answer, and nothing else of the protocol; `session` gives the bytes their meaning.
//! Invariant: after [`Inbound::closed`] nothing more is delivered.

use std::sync::Arc;

use bytes::Bytes;

use crate::config::Limits;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::redact::Mask;

mod frame;
pub(crate) mod http;
mod io;
pub(crate) mod stdio;
mod unread;

pub(crate) use unread::Unread;

/// Where a wire delivers. Called from whatever thread reads; must not block.
pub(crate) trait Inbound: Send + Sync {
    /// One complete message.
    fn message(&self, message: Bytes);
    /// One that came in the exchange of request `asked`: what names no request is meant for that one.
    fn message_for(&self, asked: u64, message: Bytes);
    /// A message over the limit went by; these are its first and last bytes.
    fn oversized(&self, head: &[u8], tail: &[u8]);
    /// Whether an answer to this request is still waited for.
    fn expects(&self, id: u64) -> bool;
    /// This request will get no answer.
    fn unanswered(&self, id: u64, error: Error);
    /// The link as a whole is in this condition. Requests under way still end each by its own outcome.
    fn lost(&self, error: Error, loss: Loss);
    /// Whether anybody waits for an answer.
    fn awaits_answers(&self) -> bool;
    /// The wire has ended; `unread` tells which requests were never read, where that can be known.
    fn closed(&self, error: Error, unread: Option<&Unread>);
}

/// A text without the byte order mark that some servers begin with.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The number that we gave a request, as an id or as a token, in the JSON of an answer. Some servers write it back as a
/// string.
pub(crate) fn our_number(json: &str) -> Option<u64> {
    json.trim_matches('"').parse().ok()
}

/// What is known of a link that failed us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The server cannot be reached.
    Gone,
    /// The server has forgotten our session.
    Expired,
    /// The server is there and does not do its work; only asking it can tell more.
    Doubtful,
}

/// When bytes leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Before the call returns, as far as the pipe takes them.
    Now,
    /// With the caller's next [`Wire::flush`], together with others.
    Later,
}

/// One live link to a server.
pub(crate) enum Wire {
    Stdio(Arc<stdio::Pipe>),
    Http(Arc<http::Link>),
}

impl Wire {
    /// Sends one message that ends in a line feed; `id` is set when an answer is expected.
    pub(crate) fn send(&self, message: Vec<u8>, id: Option<u64>, flush: Flush) -> Result<()> {
        match self {
            Wire::Stdio(pipe) => pipe.send(message, id, flush),
            Wire::Http(link) => {
                link.send(message, id);
                Ok(())
            }
        }
    }

    /// Sends a request of our own, which must get through however many calls are under way.
    pub(crate) fn control(&self, message: Vec<u8>, id: u64) -> Result<()> {
        match self {
            Wire::Stdio(pipe) => pipe.send(message, Some(id), Flush::Now),
            Wire::Http(link) => {
                link.control(message, id);
                Ok(())
            }
        }
    }

    /// Sends the reply to a request of the server; a server that does not take our replies loses some of them.
    pub(crate) fn reply(&self, message: Vec<u8>, limits: &Limits) -> bool {
        match self {
            Wire::Stdio(pipe) => pipe.reply(message, limits.reply_bytes),
            Wire::Http(link) => link.reply(message),
        }
    }

    /// Sends what was kept back by [`Flush::Later`].
    pub(crate) fn flush(&self) {
        if let Wire::Stdio(pipe) = self {
            pipe.flush();
        }
    }

    /// Nobody waits for this answer any more; tells whether the request had left, as far as is known.
    pub(crate) fn abandon(&self, id: u64) -> bool {
        match self {
            Wire::Stdio(_) => true,
            Wire::Http(link) => link.abandon(id),
        }
    }

    /// Lets `reader` read the wire on its own thread while it alone waits for answers; `None` ends that.
    pub(crate) fn lend(&self, reader: Option<&Arc<Mailbox>>) {
        if let Wire::Stdio(pipe) = self {
            match reader {
                Some(mailbox) => pipe.lend(mailbox),
                None => pipe.reclaim(),
            }
        }
    }

    /// This came in and is no message.
    pub(crate) fn printed(&self, line: &[u8]) {
        if let Wire::Stdio(pipe) = self {
            pipe.process().printed(line);
        }
    }

    /// The server speaks as it should: what it printed before says nothing of its end.
    pub(crate) fn forget_printed(&self) {
        if let Wire::Stdio(pipe) = self {
            pipe.process().forget_printed();
        }
    }

    /// What hides the values that the server was given, in what it says.
    pub(crate) fn mask(&self) -> &Mask {
        match self {
            Wire::Stdio(pipe) => pipe.process().mask(),
            Wire::Http(link) => link.mask(),
        }
    }

    /// Whether the wire's owner was told that it will not recover.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            // A pipe's end closes the session.
            Wire::Stdio(_) => false,
            Wire::Http(link) => link.is_over(),
        }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Wire::Stdio(pipe) => Some(pipe.process().pid()),
            Wire::Http(_) => None,
        }
    }

    /// Ends the link and what was started for it; bounded.
    pub(crate) async fn close(&self) {
        match self {
            Wire::Stdio(pipe) => pipe.close().await,
            Wire::Http(link) => link.close().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_ours_may_come_back_as_a_string() {
        assert_eq!((our_number("7"), our_number("\"7\"")), (Some(7), Some(7)));
        for other in ["null", "\"\"", "\"a7\"", "-7", "7.5", "[7]", "99999999999999999999"] {
            assert_eq!(our_number(other), None, "{other}");
        }
    }
}
