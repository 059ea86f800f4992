//! Owns the transports to a server: bytes in, bytes out. It knows where a message begins and ends and which message
//! expects an answer, and nothing else of the protocol; `session` gives the bytes their meaning. What a transport does is
//! in `transport`; each has its own file and its line in the list below.
//! Invariant: after [`Inbound::closed`] nothing more is delivered; nobody outside of this module asks which transport a
//! wire is.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;

use crate::config::Limits;
use crate::error::{Error, Result, Stage};
use crate::mailbox::Mailbox;
use crate::redact::Mask;
use crate::resolve::Resolved;

pub(crate) mod http;
mod stdio;
mod transport;

pub(crate) use stdio::Unread;
pub(crate) use transport::Endpoint;
use transport::Transport;

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

/// A timer that fires so much later than it was due tells that the process did not run.
const LATE: Duration = Duration::from_millis(50);

/// Whether a limit that was noticed so long after its time passed while the process did not run.
pub(crate) fn was_stopped(late: Duration) -> bool {
    late >= LATE
}

/// Declares the wire from the list of transports. A transport has the name of what `resolve` makes for it.
macro_rules! transports {
    ($($name:ident($transport:ty),)*) => {
        /// One live link to a server, by one of the transports. An enum, so that a call costs no dynamic dispatch.
        pub(crate) enum Wire {
            $($name(Arc<$transport>),)*
        }

        impl Wire {
            /// Starts or dials the server.
            pub(crate) fn open(resolved: Resolved, limits: &Limits) -> Result<Wire> {
                Ok(match resolved {
                    $(Resolved::$name(target) => Wire::$name(<$transport>::open(target, limits)?),)*
                })
            }

            /// See [`Transport::STARTS_PROGRAM`].
            pub(crate) fn starts_program(resolved: &Resolved) -> bool {
                match resolved {
                    $(Resolved::$name(_) => <$transport>::STARTS_PROGRAM,)*
                }
            }

            /// See [`Transport::OPENING`].
            pub(crate) fn opening_stage(resolved: &Resolved) -> Stage {
                match resolved {
                    $(Resolved::$name(_) => <$transport>::OPENING,)*
                }
            }

            /// See [`Transport::REPORTS_UNSENT_LATER`].
            pub(crate) fn reports_unsent_later(&self) -> bool {
                match self {
                    $(Wire::$name(_) => <$transport>::REPORTS_UNSENT_LATER,)*
                }
            }

            /// See [`Transport::CALLS_END_ALONE`].
            pub(crate) fn calls_end_alone(&self) -> bool {
                match self {
                    $(Wire::$name(_) => <$transport>::CALLS_END_ALONE,)*
                }
            }
        }

        /// Evaluates `$call` for the transport of `$wire`.
        macro_rules! each {
            ($wire:expr, $link:ident => $call:expr) => {
                match $wire {
                    $(Wire::$name($link) => $call,)*
                }
            };
        }
    };
}

transports! {
    Stdio(stdio::Pipe),
    Http(http::HttpLink),
}

/// What every transport does; see [`Transport`].
impl Wire {
    pub(crate) fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        each!(self, link => link.deliver_to(inbound));
    }

    pub(crate) fn send(&self, message: Vec<u8>, id: Option<u64>, flush: Flush) -> Result<()> {
        each!(self, link => link.send(message, id, flush))
    }

    pub(crate) fn send_control(&self, message: Vec<u8>, id: u64) -> Result<()> {
        each!(self, link => link.send_control(message, id))
    }

    pub(crate) fn send_reply(&self, message: Vec<u8>, limits: &Limits) -> bool {
        each!(self, link => link.send_reply(message, limits))
    }

    pub(crate) async fn send_and_confirm(&self, message: Vec<u8>) -> Result<()> {
        each!(self, link => link.send_and_confirm(message).await)
    }

    pub(crate) fn flush(&self) {
        each!(self, link => link.flush());
    }

    pub(crate) fn abandon(&self, id: u64) -> bool {
        each!(self, link => link.abandon(id))
    }

    pub(crate) fn lend(&self, reader: Option<&Arc<Mailbox>>) {
        each!(self, link => link.lend(reader));
    }

    pub(crate) async fn read_arrived(&self, late: Duration) {
        each!(self, link => link.read_arrived(late).await);
    }

    pub(crate) fn announce_version(&self, version: &str) {
        each!(self, link => link.announce_version(version));
    }

    pub(crate) fn listen(&self) {
        each!(self, link => link.listen());
    }

    pub(crate) fn note_stray_line(&self, line: &[u8]) {
        each!(self, link => link.note_stray_line(line));
    }

    pub(crate) fn forget_stray_lines(&self) {
        each!(self, link => link.forget_stray_lines());
    }

    pub(crate) fn with_output(&self, error: Error) -> Error {
        each!(self, link => link.with_output(error))
    }

    pub(crate) fn mask(&self) -> &Mask {
        each!(self, link => link.mask())
    }

    pub(crate) fn is_over(&self) -> bool {
        each!(self, link => link.is_over())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        each!(self, link => link.pid())
    }

    pub(crate) fn endpoint(&self) -> Option<Endpoint<'_>> {
        each!(self, link => link.endpoint())
    }

    pub(crate) async fn close(&self) {
        each!(self, link => link.close().await);
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
