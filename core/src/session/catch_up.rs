//! Owns reading the server's own messages up to its last answer, where they arrive over another stream than the answers.
//! A server that announces new tools and then answers a call has sent both, and either may be read first.
//! Invariant: it is done once for an answer, and bounded; a transport whose messages keep their order does not need it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Session, SessionEvent};
use crate::runtime;
use crate::sync::lock;
use crate::wire::Wire;

/// How much later than an answer a message may arrive that was sent before it.
const LAG: Duration = Duration::from_millis(20);

impl Session {
    /// Whether messages that the server sent before its last answer may still be unread.
    pub(crate) fn may_have_unread_messages(&self) -> bool {
        self.unread_until_us() > 0
    }

    /// Starts reading them, if they may be unread. Returns the time of that answer, for
    /// [`Session::wait_for_announced_tools`]; 0 if there is nothing to read.
    pub(crate) fn catch_up(self: &Arc<Self>) -> u64 {
        let answered_us = self.unread_until_us();
        if answered_us > 0 && self.announcements.start_reading(answered_us) {
            let session = self.clone();
            let until = Instant::from_std(self.started) + Duration::from_micros(answered_us) + LAG;
            runtime::spawn(async move {
                session.read_arrived(Duration::ZERO).await;
                sleep_until(until).await;
                session.announcements.finish_reading(answered_us);
            });
        }
        answered_us
    }

    /// Blocks until the tools announced before the answer at `answered_us` are known, within bounds.
    pub(crate) fn wait_for_announced_tools(&self, answered_us: u64, limit: std::time::Instant) {
        self.announcements.wait(answered_us, limit, || self.emit(SessionEvent::ToolsAwaited));
    }

    /// The time of the last answer, if messages from before it may be unread; otherwise 0.
    fn unread_until_us(&self) -> u64 {
        let is_apart = |wire: &Wire| {
            wire.has_standing_stream()
                || wire.has_stream_per_request() && self.subscription.is_open()
        };
        if !self.wire.get().is_some_and(is_apart) {
            return 0;
        }
        let answered_us = lock(&self.table).answered_us();
        if self.announcements.is_read_until(answered_us) { 0 } else { answered_us }
    }
}
