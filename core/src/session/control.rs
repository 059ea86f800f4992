//! Owns control requests: handshake, tool list, ping. Each waits for its raw result.
//! Invariant: dropping a request before its answer leaves nothing behind.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::stateless::RequestMetadata;
use super::table::{self, PendingRequest};
use super::{GAVE_UP, Session, message};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::process::EXIT_REPORT;
use crate::wire::{OutgoingMessage, Wire};

impl Session {
    /// Sets the timeout of control requests. Until then, the connect has its own limit.
    pub(crate) fn bound_requests(&self, limit: Duration) {
        self.request_timeout_us.store(table::micros(limit), Ordering::Relaxed);
    }

    /// Sends a control request and waits for its raw result.
    pub(super) async fn request(&self, method: &str, params: &serde_json::Value) -> Result<Bytes> {
        let terms = Terms { deadline_us: self.request_deadline_us(), ..self.terms() };
        self.request_by(terms, method, params).await
    }

    /// Same, with the metadata of a protocol that may not be settled yet, and within the time limit of the connect.
    pub(super) async fn request_with(
        &self,
        metadata: Option<&RequestMetadata>,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<Bytes> {
        self.request_by(Terms { metadata, ..self.terms() }, method, params).await
    }

    /// Same for a caller: the server is told if the caller gives up.
    pub(super) async fn request_for_caller(
        &self,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<Bytes> {
        let deadline_us = self.request_deadline_us();
        self.request_by(Terms { deadline_us, notifies: true, ..self.terms() }, method, params).await
    }

    /// Same, for an answer that may take as long as the work of a tool.
    pub(super) async fn request_without_limit(
        &self,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<Bytes> {
        self.request_by(Terms { notifies: true, ..self.terms() }, method, params).await
    }

    /// The terms of a request without a deadline of its own.
    fn terms(&self) -> Terms<'_> {
        Terms { deadline_us: table::NEVER, metadata: self.stateless.get(), notifies: false }
    }

    fn request_deadline_us(&self) -> u64 {
        match self.request_timeout_us.load(Ordering::Relaxed) {
            table::NEVER => table::NEVER,
            limit_us => table::after(self.now_us(), limit_us),
        }
    }

    async fn request_by(
        &self,
        terms: Terms<'_>,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<Bytes> {
        let Terms { deadline_us, metadata, notifies } = terms;
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
        let _guard = ControlGuard { session: self, id, notifies };
        let wire = self.connected_wire()?;
        wire.lend(None);
        if let Err(error) = wire.send_control(wire_request(wire, metadata, id, method, params), id)
        {
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

    /// Pings the server; any answer means that it is alive. The caller limits the time. The stateless protocol has no
    /// ping, so the tools are asked for.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.sign_of_life(if self.is_stateless() { "tools/list" } else { "ping" }).await
    }

    /// Same, with a request that every server with tools has to answer.
    pub(crate) async fn ask_for_tools(&self) -> Result<()> {
        self.sign_of_life("tools/list").await
    }

    async fn sign_of_life(&self, method: &str) -> Result<()> {
        match self.request_by(self.terms(), method, &serde_json::json!({})).await {
            // A server that refuses is alive; a lost connection is not.
            Err(error) if error.kind() == ErrorKind::ConnectionLost => Err(error),
            _ => Ok(()),
        }
    }
}

/// How a control request is sent.
struct Terms<'a> {
    deadline_us: u64,
    /// What it carries where the protocol has no handshake.
    metadata: Option<&'a RequestMetadata>,
    /// Whether the server is told if nobody waits for the answer any more.
    notifies: bool,
}

/// A request as this wire sends it.
pub(super) fn wire_request(
    wire: &Wire,
    metadata: Option<&RequestMetadata>,
    id: u64,
    method: &str,
    params: &serde_json::Value,
) -> OutgoingMessage {
    let Some(metadata) = metadata else { return message::request(id, method, params, b"") };
    let request = message::request(id, method, params, &metadata.entries());
    match wire.has_stream_per_request() {
        true => request.with_mirrored(metadata.headers(method, name_in(method, params))),
        false => request,
    }
}

/// The parameter that names what a request is about, if its method has one.
fn name_in<'a>(method: &str, params: &'a serde_json::Value) -> Option<&'a str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(key)?.as_str()
}

/// Forgets a control request that is dropped before its answer.
struct ControlGuard<'a> {
    session: &'a Session,
    id: u64,
    /// Whether the server is told.
    notifies: bool,
}

impl Drop for ControlGuard<'_> {
    fn drop(&mut self) {
        let unanswered = self.session.change_table(|table| table.remove(self.id)).is_some();
        match unanswered {
            true if self.notifies => drop(self.session.send_cancelled(self.id, GAVE_UP)),
            true => drop(self.session.wire.get().map(|wire| wire.abandon(self.id))),
            false => {}
        }
    }
}
