//! Owns the transports to a server: bytes in, bytes out. It knows where a message begins and ends and which message
//! expects an answer, and nothing else of the protocol; `session` interprets the bytes. The interface of a transport is
//! in `transport`, that of its session in `inbound`; each transport has its own file and its line in the list below.
//! Invariant: nothing is delivered after [`Inbound::closed`]; code outside of this module does not depend on the
//! transport of a wire.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::config::Limits;
use crate::error::{Error, Result, Stage};
use crate::mailbox::Mailbox;
use crate::oauth::Login;
use crate::redact::Mask;
use crate::resolve::Resolved;

mod http;
mod inbound;
mod network;
mod outgoing;
#[cfg(any(test, fuzzing))]
pub(crate) mod parsing;
#[cfg(test)]
pub(crate) mod scripted;
mod stdio;
mod transport;
mod websocket;

pub(crate) use inbound::{Inbound, Loss, UnreadRequests};
#[cfg(test)]
pub(crate) use network::peer::Peer;
pub(crate) use outgoing::OutgoingMessage;
pub(crate) use transport::Endpoint;
use transport::Transport;

/// A text without the byte order mark that some servers send first.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The number of one of our requests, as an id or a token, in the JSON of an answer. Some servers return it as a
/// string.
pub(crate) fn our_number(json: &str) -> Option<u64> {
    json.trim_matches('"').parse().ok()
}

/// When bytes are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Before the call returns, as far as the pipe accepts them.
    Now,
    /// With the caller's next [`Wire::flush`], together with other messages.
    Later,
}

/// A timer that fires this late means that the process was suspended.
const LATE: Duration = Duration::from_millis(50);

/// Whether a limit that was noticed this late expired while the process was suspended.
pub(crate) fn was_stopped(late: Duration) -> bool {
    late >= LATE
}

/// Declares the wire from the list of transports. A transport is named after its target type in `resolve`.
macro_rules! transports {
    ($($name:ident($transport:ty),)*) => {
        /// One live link to a server, by one of the transports. An enum, so that a call costs no dynamic dispatch.
        pub(crate) enum Wire {
            $($name(Arc<$transport>),)*
            /// A server that a simulation plays.
            #[cfg(test)]
            Scripted(Arc<scripted::ScriptedLink>),
        }

        impl Wire {
            /// Starts or dials the server.
            pub(crate) async fn open(
                resolved: Resolved,
                login: Option<Arc<Login>>,
                limits: &Limits,
            ) -> Result<Wire> {
                #[cfg(test)]
                if let Some(script) = scripted::script_for(&resolved) {
                    return Ok(Wire::Scripted(script.open_link().await?));
                }
                Ok(match resolved {
                    $(Resolved::$name(target) => {
                        Wire::$name(<$transport>::open(target, login, limits).await?)
                    })*
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
                    #[cfg(test)]
                    Wire::Scripted(link) => link.is_remote(),
                }
            }

            /// See [`Transport::CALLS_END_ALONE`].
            pub(crate) fn calls_end_alone(&self) -> bool {
                match self {
                    $(Wire::$name(_) => <$transport>::CALLS_END_ALONE,)*
                    #[cfg(test)]
                    Wire::Scripted(link) => link.is_remote(),
                }
            }
        }

        /// Evaluates `$call` for the transport of `$wire`.
        macro_rules! each {
            ($wire:expr, $link:ident => $call:expr) => {
                match $wire {
                    $(Wire::$name($link) => $call,)*
                    #[cfg(test)]
                    Wire::Scripted($link) => $call,
                }
            };
        }
    };
}

transports! {
    Stdio(stdio::StdioLink),
    Http(http::HttpLink),
    WebSocket(websocket::WebSocketLink),
}

/// What every transport does; see [`Transport`].
impl Wire {
    pub(crate) fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        each!(self, link => link.deliver_to(inbound));
    }

    pub(crate) fn send(
        &self,
        message: OutgoingMessage,
        id: Option<u64>,
        flush: Flush,
    ) -> Result<()> {
        each!(self, link => link.send(message, id, flush))
    }

    pub(crate) fn send_control(&self, message: OutgoingMessage, id: u64) -> Result<()> {
        each!(self, link => link.send_control(message, id))
    }

    pub(crate) fn send_reply(&self, message: OutgoingMessage, limits: &Limits) -> bool {
        each!(self, link => link.send_reply(message, limits))
    }

    pub(crate) async fn send_and_confirm(&self, message: OutgoingMessage) -> Result<()> {
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

    pub(crate) fn forget_session(&self) {
        each!(self, link => link.forget_session());
    }

    pub(crate) fn has_stream_per_request(&self) -> bool {
        each!(self, link => link.has_stream_per_request())
    }

    pub(crate) fn listen(&self) {
        each!(self, link => link.listen());
    }

    pub(crate) async fn listening(&self) {
        each!(self, link => link.listening().await);
    }

    pub(crate) fn has_standing_stream(&self) -> bool {
        each!(self, link => link.has_standing_stream())
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

    pub(crate) fn mask(&self) -> Mask {
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
