//! Owns the interface of a transport, and how the transports differ.
//! Invariant: each default suits a transport that has nothing to do there.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use url::Url;

use super::{Flush, Inbound, OutgoingMessage};
use crate::config::Limits;
use crate::error::{Error, Result, Stage};
use crate::mailbox::Mailbox;
use crate::oauth::Login;
use crate::redact::Mask;

/// A transport. [`super::Wire`] passes every call to its transport.
pub(super) trait Transport: Send + Sync + Sized {
    /// Its target, made by `resolve`.
    type Target;
    /// Opening it starts a program on this machine.
    const STARTS_PROGRAM: bool;
    /// The stage of [`Transport::open`].
    const OPENING: Stage;
    /// A call that was accepted may still turn out to be unsent.
    const REPORTS_UNSENT_LATER: bool;
    /// Calls in flight end by themselves when the link is lost, so the next link need not wait for them.
    const CALLS_END_ALONE: bool;

    /// Starts or dials the server. Dropping the future ends what it has started. The login is for a server on the
    /// network that may ask for one.
    fn open(
        target: Self::Target,
        login: Option<Arc<Login>>,
        limits: &Limits,
    ) -> impl Future<Output = Result<Arc<Self>>> + Send;

    /// Starts delivering to `inbound`; what arrived before is delivered now.
    fn deliver_to(&self, inbound: Weak<dyn Inbound>);

    /// Sends one message; `id` is set when an answer is expected.
    fn send(&self, message: OutgoingMessage, id: Option<u64>, flush: Flush) -> Result<()>;

    /// Sends a control request, which must get through however many calls are in flight.
    fn send_control(&self, message: OutgoingMessage, id: u64) -> Result<()>;

    /// Sends the reply to a request of the server. A server that does not accept our replies loses some of them;
    /// returns whether this one was accepted.
    fn send_reply(&self, message: OutgoingMessage, limits: &Limits) -> bool;

    /// Sends a notification that the server must accept before anything else is sent.
    fn send_and_confirm(&self, message: OutgoingMessage)
    -> impl Future<Output = Result<()>> + Send;

    /// Sends the messages held back by [`Flush::Later`].
    fn flush(&self) {}

    /// Drops interest in this answer; returns whether the request was sent, as far as is known.
    fn abandon(&self, _id: u64) -> bool {
        true
    }

    /// Lets `reader` read the wire on its own thread while it is the only waiter; `None` ends that.
    fn lend(&self, _reader: Option<&Arc<Mailbox>>) {}

    /// Reads what has arrived, after a limit that was noticed `late`.
    fn read_arrived(&self, late: Duration) -> impl Future<Output = ()> + Send;

    /// Sets the protocol version named in later messages.
    fn announce_version(&self, _version: &str) {}

    /// The protocol has no sessions: forgets one that the server has opened.
    fn forget_session(&self) {}

    /// Whether each request has a response stream of its own. Its end cancels the request, messages of different streams
    /// may overtake each other, and a request can carry headers.
    fn has_stream_per_request(&self) -> bool {
        false
    }

    /// Listens for the server's own messages, if that needs a separate stream.
    fn listen(&self) {}

    /// Resolves when that stream is open, or known not to open.
    fn listening(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Whether the server's own messages arrive over a separate stream that is open or about to be, so that one that was
    /// sent before an answer may be read after it.
    fn has_standing_stream(&self) -> bool {
        false
    }

    /// Records an incoming line that is not a message.
    fn note_stray_line(&self, _line: &[u8]) {}

    /// The server has connected: earlier lines do not explain its end.
    fn forget_stray_lines(&self) {}

    /// Attaches the server's output so far, for errors of a server that still runs.
    fn with_output(&self, error: Error) -> Error {
        error
    }

    /// The mask for the values that the server was given.
    fn mask(&self) -> Mask;

    /// Whether the wire's owner knows that the wire will not recover.
    fn is_over(&self) -> bool {
        false
    }

    /// The process started for it.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// The network address of its peer.
    fn endpoint(&self) -> Option<Endpoint<'_>> {
        None
    }

    /// Ends the link and its process; bounded.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// The network location of a server.
pub(crate) struct Endpoint<'a> {
    /// OpenTelemetry's name of the protocol.
    pub(crate) protocol: &'static str,
    pub(crate) url: &'a Url,
}
