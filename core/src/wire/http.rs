//! Owns Streamable HTTP: every message is one POST on a kept-alive connection (`exchange`), answered as JSON or as an
//! event stream; a standing GET (`listen`) carries the server's own messages.
//! Invariant: a request that cannot be answered fails at once, no credential leaves the configured origin, every
//! request of a link uses the link's own client, and the client's sockets end with the link.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{HeaderMap, HeaderValue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use url::Url;

use super::transport::{Endpoint, Transport};
use super::{Flush, Inbound};
use crate::config::Limits;
use crate::error::{ErrorKind, Result, Stage};
use crate::fork::{ForkGeneration, ProcessLocal};
use crate::redact::Mask;
use crate::resolve::Target;
use crate::runtime;
use crate::sync::lock;

mod body;
mod catch_up;
mod client;
mod connector;
mod events;
mod exchange;
mod listen;
mod memory_budget;
mod reaper;
mod refusal;
mod resume;
mod sockets;
mod status;
#[cfg(test)]
mod tests;

use client::{Dial, client};
use exchange::{BOTH_KINDS, Outgoing, PROTOCOL_VERSION};
use memory_budget::MemoryBudget;
use refusal::Failure;
use sockets::{Sockets, Withdrawn};

const GOODBYE: Duration = Duration::from_secs(1);
/// How long a server may take to accept a message without an answer.
const ASIDE: Duration = Duration::from_secs(10);

pub(crate) struct HttpLink {
    server: Arc<str>,
    url: Url,
    /// Taken when the link is closed: nothing more is dialled, and idle sockets are closed.
    client: ProcessLocal<Mutex<Option<Arc<dyn Dial>>>>,
    shown: String,
    mask: Mask,
    /// Sent with each message: the configured headers, and what was negotiated with the server.
    headers: Mutex<HeaderMap>,
    message_limit: usize,
    memory: MemoryBudget,
    inbound: OnceLock<Weak<dyn Inbound>>,
    sockets: Sockets,
    under_way: Mutex<HashMap<u64, AbortHandle>>,
    is_reaping: AtomicBool,
    replies: Arc<Semaphore>,
    listener: OnceLock<AbortHandle>,
    /// Whether the owner knows that this link will not recover.
    over: AtomicBool,
    closed: watch::Sender<bool>,
    made_in: ForkGeneration,
    me: Weak<HttpLink>,
}

/// The kind of request.
#[derive(Clone, Copy)]
enum Sending {
    Call,
    Control,
}

impl Transport for HttpLink {
    type Target = Target;
    const STARTS_PROGRAM: bool = false;
    const OPENING: Stage = Stage::Dial;
    const REPORTS_UNSENT_LATER: bool = true;
    // Every call is an exchange of its own.
    const CALLS_END_ALONE: bool = true;

    fn open(target: Target, limits: &Limits) -> Result<Arc<HttpLink>> {
        target.addresses.check(&target.url).map_err(|refused| refused.told(&target.server))?;
        let client = client(target.addresses)?;
        Ok(Arc::new_cyclic(|me| HttpLink {
            server: target.server,
            url: target.url,
            client: ProcessLocal::new(Mutex::new(Some(client))),
            shown: target.shown,
            mask: target.mask,
            headers: Mutex::new(target.headers),
            message_limit: limits.message_bytes,
            memory: MemoryBudget::new(limits.message_bytes),
            inbound: OnceLock::new(),
            sockets: Sockets::new(),
            under_way: Mutex::default(),
            is_reaping: AtomicBool::new(false),
            replies: Arc::new(Semaphore::new(limits.server_requests)),
            listener: OnceLock::new(),
            over: AtomicBool::new(false),
            closed: watch::Sender::new(false),
            made_in: ForkGeneration::current(),
            me: me.clone(),
        }))
    }

    fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        let _ = self.inbound.set(inbound);
    }

    fn send(&self, mut message: Vec<u8>, id: Option<u64>, _flush: Flush) -> Result<()> {
        message.pop();
        match (self.me.upgrade(), id) {
            (Some(link), Some(id)) => self.ask(link, message.into(), id, Sending::Call),
            (Some(link), None) => send_aside(link, message.into(), None),
            (None, _) => {}
        }
        Ok(())
    }

    fn send_control(&self, mut message: Vec<u8>, id: u64) -> Result<()> {
        message.pop();
        if let Some(link) = self.me.upgrade() {
            self.ask(link, message.into(), id, Sending::Control);
        }
        Ok(())
    }

    /// Replies are limited; a server that sends requests faster than it accepts our replies loses some of them.
    fn send_reply(&self, mut message: Vec<u8>, _limits: &Limits) -> bool {
        message.pop();
        let place = self.replies.clone().try_acquire_owned().ok();
        let link = self.me.upgrade().filter(|_| place.is_some());
        let taken = link.is_some();
        if let Some(link) = link {
            send_aside(link, message.into(), place);
        }
        taken
    }

    /// A refusal by status does not lose the link: the answer to the next request has the real problem. Only a required
    /// sign-in is reported at once.
    async fn send_and_confirm(&self, mut message: Vec<u8>) -> Result<()> {
        message.pop();
        match self.exchange(message.into(), None).await {
            Err(Failure { error, by_status: true, .. })
                if error.kind() != ErrorKind::AuthRequired =>
            {
                tracing::warn!(server = &*self.server, "a notification was refused: {error}");
                Ok(())
            }
            outcome => outcome.map_err(|failure| self.report(failure)),
        }
    }

    fn abandon(&self, id: u64) -> bool {
        if self.made_in.is_inherited() {
            return true;
        }
        let left = !self.sockets.withdraw(id);
        if let Some(task) = lock(&self.under_way).remove(&id) {
            task.abort();
        }
        left
    }

    async fn read_arrived(&self, late: Duration) {
        catch_up::let_sockets_be_read(late).await;
    }

    fn announce_version(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            lock(&self.headers).insert(PROTOCOL_VERSION, version);
        }
    }

    fn listen(&self) {
        let task = runtime::spawn(listen::stand(self.me.clone(), self.message_limit));
        let _ = self.listener.set(task.abort_handle());
    }

    fn mask(&self) -> &Mask {
        &self.mask
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn endpoint(&self) -> Option<Endpoint<'_>> {
        Some(Endpoint { protocol: "http", url: &self.url })
    }

    async fn close(&self) {
        // The session belongs to the parent process.
        if self.made_in.is_inherited() {
            return;
        }
        self.stop_tasks();
        let goodbye = self.outgoing(Method::DELETE, BOTH_KINDS);
        self.closed.send_replace(true);
        drop(lock(&self.client).take());
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(Outgoing { request, with_session: true, .. }) = goodbye {
            let _ = timeout(GOODBYE, request.send()).await;
        }
    }
}

impl HttpLink {
    fn ask(&self, link: Arc<HttpLink>, message: Bytes, id: u64, sending: Sending) {
        // Locked while spawning, so that a fast answer cannot remove the entry before it is inserted.
        let mut under_way = lock(&self.under_way);
        let task = runtime::spawn(async move {
            let outcome = link.ask_in_turn(message, id, sending).await;
            lock(&link.under_way).remove(&id);
            // The exchange has ended, so a request that is still pending gets no answer.
            if let Some(inbound) = link.inbound().filter(|inbound| inbound.expects(id)) {
                let error =
                    outcome.err().unwrap_or_else(|| link.unexpected("answered some other request"));
                inbound.unanswered(id, error);
            }
        });
        under_way.insert(id, task.abort_handle());
        self.reap_soon();
    }

    async fn ask_in_turn(&self, message: Bytes, id: u64, sending: Sending) -> Result<()> {
        let _socket = match sending {
            Sending::Control => None,
            Sending::Call => match self.sockets.for_call(id).await {
                Ok(socket) => socket,
                // The call was cancelled.
                Err(Withdrawn) => return Ok(()),
            },
        };
        self.post(message, Some(id)).await
    }

    fn inbound(&self) -> Option<Arc<dyn Inbound>> {
        self.inbound.get().and_then(Weak::upgrade)
    }

    /// Resolves when the link has been closed for longer than the goodbye may take.
    async fn outlived(&self) {
        let mut closed = self.closed.subscribe();
        if closed.wait_for(|closed| *closed).await.is_ok() {
            sleep(GOODBYE).await;
        }
    }

    fn stop_tasks(&self) {
        // Their runtime does not exist in a forked child.
        if self.made_in.is_inherited() {
            return;
        }
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
        for (_, task) in lock(&self.under_way).drain() {
            task.abort();
        }
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.stop_tasks();
    }
}

/// Sends a message without an answer.
fn send_aside(link: Arc<HttpLink>, message: Bytes, place: Option<OwnedSemaphorePermit>) {
    runtime::spawn(async move {
        let sending = async {
            // Replies are limited by their own permits.
            let _socket = match place {
                Some(_) => None,
                None => link.sockets.for_notification().await,
            };
            link.post(message, None).await
        };
        tokio::select! {
            _ = timeout(ASIDE, sending) => {}
            () = link.outlived() => {}
        }
        drop(place);
    });
}
