//! Owns control requests: handshake, tool list, ping. Each waits for its raw result.
//! Invariant: dropping a request before its answer leaves nothing behind.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::table::{self, PendingRequest};
use super::{Session, message};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::process::EXIT_REPORT;

impl Session {
    /// Sets the timeout of control requests. Until then, the connect has its own limit.
    pub(crate) fn bound_requests(&self, limit: Duration) {
        self.request_timeout_us.store(table::micros(limit), Ordering::Relaxed);
    }

    /// Sends a control request and waits for its raw result.
    pub(super) async fn request(&self, method: &str, params: &serde_json::Value) -> Result<Bytes> {
        let limit_us = self.request_timeout_us.load(Ordering::Relaxed);
        let deadline_us = match limit_us {
            table::NEVER => table::NEVER,
            limit_us => table::after(self.now_us(), limit_us),
        };
        self.request_until(deadline_us, method, params).await
    }

    async fn request_until(
        &self,
        deadline_us: u64,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<Bytes> {
        let (sender, answer) = oneshot::channel();
        let id = self.next_id();
        {
            let mut table = self.open_table()?;
            table.note_reader(0);
            if table.wants_waking(deadline_us) {
                self.deadline_moved.notify_one();
            }
            table.insert(id, PendingRequest::control(sender, deadline_us));
        }
        let _guard = ControlGuard { session: self, id };
        let wire = self.connected_wire()?;
        wire.lend(None);
        if let Err(error) = wire.send_control(message::request(id, method, params), id) {
            // The pipe broke; the end of the session follows and has the reason.
            let end = tokio::time::timeout(2 * EXIT_REPORT, self.end_error()).await;
            return Err(end.unwrap_or(error));
        }
        answer.await.unwrap_or_else(|_| Err(self.not_sent("is gone")))
    }

    /// Waits for the end of the session; returns its error.
    async fn end_error(&self) -> Error {
        let error = self.wait_for_table(|table| table.closed().cloned()).await;
        error.with_executed(Executed::No)
    }

    /// Pings the server; any answer means that it is alive. The caller limits the time.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.sign_of_life("ping").await
    }

    /// Same, with a request that every server with tools has to answer.
    pub(crate) async fn ask_for_tools(&self) -> Result<()> {
        self.sign_of_life("tools/list").await
    }

    async fn sign_of_life(&self, method: &str) -> Result<()> {
        match self.request_until(table::NEVER, method, &serde_json::json!({})).await {
            // A server that refuses is alive; a lost connection is not.
            Err(error) if error.kind() == ErrorKind::ConnectionLost => Err(error),
            _ => Ok(()),
        }
    }
}

/// Forgets a control request that is dropped before its answer.
struct ControlGuard<'a> {
    session: &'a Session,
    id: u64,
}

impl Drop for ControlGuard<'_> {
    fn drop(&mut self) {
        let unanswered = self.session.change_table(|table| table.remove(self.id)).is_some();
        if let (true, Some(wire)) = (unanswered, self.session.wire.get()) {
            wire.abandon(self.id);
        }
    }
}
