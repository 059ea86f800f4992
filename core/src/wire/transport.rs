//! Owns what a transport has to do, and how the transports differ.
//! Invariant: a default here is what holds for a transport that has nothing to do for it.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use url::Url;

use super::{Flush, Inbound};
use crate::config::Limits;
use crate::error::{Error, Result, Stage};
use crate::mailbox::Mailbox;
use crate::redact::Mask;

/// One way to a server. [`super::Wire`] passes every call on to the transport that it is.
pub(super) trait Transport: Send + Sync + Sized {
    /// What `resolve` makes for it.
    type Target;
    /// Opening it starts a program on this machine.
    const STARTS_PROGRAM: bool;
    /// The step that [`Transport::open`] is.
    const OPENING: Stage;
    /// A call that was handed over may still turn out not to have been sent.
    const REPORTS_UNSENT_LATER: bool;
    /// Calls under way end by themselves when the link is lost, so that the next link need not wait for them.
    const CALLS_END_ALONE: bool;

    /// Starts or dials the server.
    fn open(target: Self::Target, limits: &Limits) -> Result<Arc<Self>>;

    /// Starts delivering to `inbound`.
    fn deliver_to(&self, inbound: Weak<dyn Inbound>);

    /// Sends one message that ends in a line feed; `id` is set when an answer is expected.
    fn send(&self, message: Vec<u8>, id: Option<u64>, flush: Flush) -> Result<()>;

    /// Sends a request of our own, which must get through however many calls are under way.
    fn send_control(&self, message: Vec<u8>, id: u64) -> Result<()>;

    /// Sends the reply to a request of the server. A server that does not take our replies loses some of them; tells
    /// whether this one was taken.
    fn send_reply(&self, message: Vec<u8>, limits: &Limits) -> bool;

    /// Sends a notification that the server has to take in before anything else is sent.
    fn send_and_confirm(&self, message: Vec<u8>) -> impl Future<Output = Result<()>> + Send;

    /// Sends what was kept back by [`Flush::Later`].
    fn flush(&self) {}

    /// Nobody waits for this answer any more; tells whether the request had left, as far as is known.
    fn abandon(&self, _id: u64) -> bool {
        true
    }

    /// Lets `reader` read the wire on its own thread while it alone waits for answers; `None` ends that.
    fn lend(&self, _reader: Option<&Arc<Mailbox>>) {}

    /// Takes in what has arrived, after a limit that was noticed `late`.
    fn read_arrived(&self, late: Duration) -> impl Future<Output = ()> + Send;

    /// Later messages name this protocol version.
    fn announce_version(&self, _version: &str) {}

    /// Listens for what the server says on its own account, where that takes a stream of its own.
    fn listen(&self) {}

    /// This line came in and is no message.
    fn note_stray_line(&self, _line: &[u8]) {}

    /// The server has connected: lines before that say nothing of its end.
    fn forget_stray_lines(&self) {}

    /// Attaches what the server has written so far, for errors of a server that still runs.
    fn with_output(&self, error: Error) -> Error {
        error
    }

    /// Hides the values that the server was given, in what it says.
    fn mask(&self) -> &Mask;

    /// Whether the wire's owner was told that it will not recover.
    fn is_over(&self) -> bool {
        false
    }

    /// The process that was started for it.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// The address that it is connected to, on a network.
    fn endpoint(&self) -> Option<Endpoint<'_>> {
        None
    }

    /// Ends the link and what was started for it; bounded.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// Where on the network a server is.
pub(crate) struct Endpoint<'a> {
    /// OpenTelemetry's name of the protocol.
    pub(crate) protocol: &'static str,
    pub(crate) url: &'a Url,
}
