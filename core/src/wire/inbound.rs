//! Owns the interface through which a transport delivers to its session.

use std::collections::HashSet;

use bytes::Bytes;

use crate::error::Error;

/// Where a wire delivers. Called from the reading thread; must not block.
pub(crate) trait Inbound: Send + Sync {
    /// One complete message.
    fn message(&self, message: Bytes);
    /// A message from the exchange of request `asked`: without an id, it belongs to that request.
    fn message_for(&self, asked: u64, message: Bytes);
    /// A message exceeded the limit; these are its first and last bytes.
    fn oversized(&self, head: &[u8], tail: &[u8]);
    /// Whether an answer to this request is still expected.
    fn expects(&self, id: u64) -> bool;
    /// This request will get no answer.
    fn unanswered(&self, id: u64, error: Error);
    /// The condition of the link as a whole. Requests in flight still end with their own outcome.
    fn lost(&self, error: Error, loss: Loss);
    /// Whether any request is pending.
    fn awaits_answers(&self) -> bool;
    /// The pending request, if there is exactly one.
    fn only_request(&self) -> Option<u64>;

    /// Fails the pending request, if there is exactly one: what broke the link was its answer.
    fn fail_only_request(&self, error: &Error) {
        if let Some(id) = self.only_request() {
            self.unanswered(id, error.clone());
        }
    }

    /// The wire has ended; `unread` tells which requests were never read, if that is known.
    fn closed(&self, error: Error, unread: Option<&UnreadRequests>);
}

/// What is known of a failed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The server cannot be reached.
    Gone,
    /// The server has forgotten our session.
    Expired,
    /// The server is reachable but does not work; only a probe can tell more.
    Doubtful,
}

/// The requests of an ended link that the server never read, as far as the transport can prove it.
pub(crate) enum UnreadRequests {
    /// Those after the newest that was certainly read, without these.
    After { newest_read: u64, read: Vec<u64> },
    /// These, which were never sent.
    Unsent(HashSet<u64>),
}

impl UnreadRequests {
    /// Whether request `id` was never read, and so did not run.
    pub(crate) fn proves(&self, id: u64) -> bool {
        match self {
            // An unknown id was read long ago, or was never written.
            UnreadRequests::After { newest_read, read } => id > *newest_read && !read.contains(&id),
            UnreadRequests::Unsent(unsent) => unsent.contains(&id),
        }
    }
}
