//! Owns Streamable HTTP: every message is one POST on a kept-alive connection (`exchange`), answered as JSON or as an
//! event stream; a standing GET (`listen`) carries the server's own messages. `legacy` has the older HTTP+SSE transport,
//! `fallback` tries the one after the other, and `upgrade` turns a connection into a WebSocket.
//! Invariant: a request that cannot be answered fails at once, no credential leaves the configured origin, every
//! request of a link uses the link's own client, and the client's sockets end with the link.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use http::Method;
use http::header::{HeaderMap, HeaderValue};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use url::Url;

use super::network::catch_up::let_sockets_be_read;
use super::network::peer::Peer;
use super::outgoing::RequestParts;
use super::transport::{Endpoint, Transport};
use super::{Flush, Inbound, OutgoingMessage};
use crate::config::Limits;
use crate::error::{ErrorKind, Result, Stage};
use crate::fork::{ForkGeneration, ProcessLocal};
use crate::http_client::HttpVersions;
use crate::http_client::{HttpClient, client};
use crate::oauth::Login;
use crate::redact::Mask;
use crate::resolve::{HttpDialect, SignIn, Target};
use crate::runtime;
use crate::sync::lock;

mod body;
mod exchange;
mod failure;
mod fallback;
mod legacy;
mod listen;
mod login;
mod memory_budget;
mod reaper;
mod resume;
mod sockets;
mod status;
#[cfg(test)]
mod tests;
mod upgrade;

use exchange::{BOTH_KINDS, PROTOCOL_VERSION, SESSION_ID};
use failure::ExchangeFailure;
use fallback::NoEndpoint;
use legacy::AnswerStream;
use memory_budget::MemoryBudget;
use sockets::{CALLS, Sockets, Withdrawn};

const GOODBYE: Duration = Duration::from_secs(1);
/// How long a server may take to accept a message without an answer.
const ASIDE: Duration = Duration::from_secs(10);

pub(crate) struct HttpLink {
    pub(super) peer: Peer,
    /// Whether the server may ask us to sign in, and with which login.
    sign_in: SignIn,
    login: Option<Arc<Login>>,
    /// Where messages are posted to a server of the older transport.
    legacy_endpoint: OnceLock<Url>,
    /// The open event stream of the older transport, until its messages are delivered.
    answer_stream: Mutex<Option<AnswerStream>>,
    /// Set while a link of the older transport has found no endpoint, until the server has answered.
    no_endpoint: Mutex<Option<NoEndpoint>>,
    /// Taken when the link is closed: nothing more is dialled, and idle sockets are closed.
    client: ProcessLocal<Mutex<Option<Arc<dyn HttpClient>>>>,
    /// Sent with each message: the configured headers, and what was negotiated with the server. The caller's headers
    /// replace them.
    headers: Mutex<HeaderMap>,
    message_limit: usize,
    memory: MemoryBudget,
    inbound: OnceLock<Weak<dyn Inbound>>,
    sockets: Sockets,
    under_way: Mutex<HashMap<u64, Exchange>>,
    is_reaping: AtomicBool,
    replies: Arc<Semaphore>,
    listener: OnceLock<AbortHandle>,
    /// Whether the standing GET is open, or about to be.
    is_listening: AtomicBool,
    /// Whether the first request for that stream has its answer.
    is_stream_answered: AtomicBool,
    stream_answered: Notify,
    /// Whether the protocol has sessions, and event streams that can be resumed.
    has_sessions: AtomicBool,
    /// Whether the owner knows that this link will not recover.
    over: AtomicBool,
    closed: watch::Sender<bool>,
    made_in: ForkGeneration,
    me: Weak<HttpLink>,
}

/// A request whose exchange is under way.
struct Exchange {
    task: AbortHandle,
    /// Whether it may have been sent.
    is_posted: bool,
}

/// The kind of request.
#[derive(Clone, Copy)]
enum RequestKind {
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

    async fn open(
        target: Target,
        login: Option<Arc<Login>>,
        limits: &Limits,
    ) -> Result<Arc<HttpLink>> {
        let dialect = target.dialect;
        let link = HttpLink::new(target, login, limits, HttpVersions::All)?;
        if dialect == HttpDialect::Legacy {
            link.open_legacy().await.map_err(|failure| failure.error)?;
        }
        Ok(link)
    }

    fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        let _ = self.inbound.set(inbound);
        self.deliver_answers();
    }

    fn send(&self, message: OutgoingMessage, id: Option<u64>, _flush: Flush) -> Result<()> {
        match (self.me.upgrade(), id) {
            (Some(link), Some(id)) => {
                self.spawn_request(link, message.into_parts(), id, RequestKind::Call)
            }
            (Some(link), None) => send_aside(link, message.into_parts(), None),
            (None, _) => {}
        }
        Ok(())
    }

    fn send_control(&self, message: OutgoingMessage, id: u64) -> Result<()> {
        if let Some(link) = self.me.upgrade() {
            self.spawn_request(link, message.into_parts(), id, RequestKind::Control);
        }
        Ok(())
    }

    /// Replies are limited; a server that sends requests faster than it accepts our replies loses some of them.
    fn send_reply(&self, message: OutgoingMessage, _limits: &Limits) -> bool {
        let permit = self.replies.clone().try_acquire_owned().ok();
        let link = self.me.upgrade().filter(|_| permit.is_some());
        let taken = link.is_some();
        if let Some(link) = link {
            send_aside(link, message.into_parts(), permit);
        }
        taken
    }

    /// A refusal by status does not lose the link: the answer to the next request has the real problem. Only a required
    /// sign-in is reported at once.
    async fn send_and_confirm(&self, message: OutgoingMessage) -> Result<()> {
        match self.exchange(&message.into_parts(), None).await {
            Err(ExchangeFailure { error, by_status: true, .. })
                if error.kind() != ErrorKind::AuthRequired =>
            {
                tracing::warn!(server = &*self.peer.server, "a notification was refused: {error}");
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
        if let Some(exchange) = lock(&self.under_way).remove(&id) {
            exchange.task.abort();
        }
        left
    }

    async fn read_arrived(&self, late: Duration) {
        let_sockets_be_read(late).await;
    }

    fn announce_version(&self, version: &str) {
        self.settle_transport();
        if let Ok(version) = HeaderValue::from_str(version) {
            lock(&self.headers).insert(PROTOCOL_VERSION, version);
        }
    }

    fn forget_session(&self) {
        self.has_sessions.store(false, Ordering::Relaxed);
        lock(&self.headers).remove(SESSION_ID);
    }

    fn has_stream_per_request(&self) -> bool {
        !self.is_legacy()
    }

    fn listen(&self) {
        if self.is_legacy() {
            return;
        }
        self.is_listening.store(true, Ordering::Relaxed);
        let task = runtime::spawn(listen::keep_listening(self.me.clone(), self.message_limit));
        let _ = self.listener.set(task.abort_handle());
    }

    async fn listening(&self) {
        let answered = self.stream_answered.notified();
        if self.has_standing_stream() && !self.is_stream_answered.load(Ordering::Acquire) {
            answered.await;
        }
    }

    fn has_standing_stream(&self) -> bool {
        self.is_listening.load(Ordering::Relaxed)
    }

    fn mask(&self) -> Mask {
        self.peer.mask()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn endpoint(&self) -> Option<Endpoint<'_>> {
        Some(Endpoint { protocol: "http", url: &self.peer.url })
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
        if let Ok(goodbye) = goodbye
            && goodbye.with_session
        {
            let _ = timeout(GOODBYE, goodbye.send_once()).await;
        }
    }
}

impl HttpLink {
    fn new(
        target: Target,
        login: Option<Arc<Login>>,
        limits: &Limits,
        versions: HttpVersions,
    ) -> Result<Arc<HttpLink>> {
        let client = client(&target, versions, CALLS)?;
        let Target { server, url, headers, caller, sign_in, shown, mask, .. } = target;
        Ok(Arc::new_cyclic(|me| HttpLink {
            peer: Peer { server, url, shown, definition_mask: mask, caller },
            sign_in,
            login,
            legacy_endpoint: OnceLock::new(),
            answer_stream: Mutex::default(),
            no_endpoint: Mutex::default(),
            client: ProcessLocal::new(Mutex::new(Some(client))),
            headers: Mutex::new(headers),
            message_limit: limits.message_bytes,
            memory: MemoryBudget::new(limits.message_bytes),
            inbound: OnceLock::new(),
            sockets: Sockets::new(),
            under_way: Mutex::default(),
            is_reaping: AtomicBool::new(false),
            replies: Arc::new(Semaphore::new(limits.server_requests)),
            listener: OnceLock::new(),
            is_listening: AtomicBool::new(false),
            is_stream_answered: AtomicBool::new(false),
            stream_answered: Notify::new(),
            has_sessions: AtomicBool::new(true),
            over: AtomicBool::new(false),
            closed: watch::Sender::new(false),
            made_in: ForkGeneration::current(),
            me: me.clone(),
        }))
    }

    /// A link whose connection becomes a WebSocket.
    pub(super) fn for_upgrade(
        mut target: Target,
        login: Option<Arc<Login>>,
        limits: &Limits,
    ) -> Result<Arc<HttpLink>> {
        let scheme = if target.url.scheme() == "wss" { "https" } else { "http" };
        // A change between special schemes does not fail.
        let _ = target.url.set_scheme(scheme);
        HttpLink::new(target, login, limits, HttpVersions::OnlyHttp1)
    }

    fn spawn_request(
        &self,
        link: Arc<HttpLink>,
        message: RequestParts,
        id: u64,
        kind: RequestKind,
    ) {
        // Locked while spawning, so that a fast answer cannot remove the entry before it is inserted.
        let mut under_way = lock(&self.under_way);
        let task = runtime::spawn(async move {
            let outcome = link.post_in_turn(message, id, kind).await;
            lock(&link.under_way).remove(&id);
            // The exchange has ended, so a request that is still pending gets no answer, unless answers arrive over the
            // event stream.
            let has_ended = outcome.is_err() || !link.is_legacy();
            let inbound = link.inbound().filter(|inbound| has_ended && inbound.expects(id));
            if let Some(inbound) = inbound {
                let error =
                    outcome.err().unwrap_or_else(|| link.unexpected("answered some other request"));
                inbound.unanswered(id, error);
            }
        });
        under_way.insert(id, Exchange { task: task.abort_handle(), is_posted: false });
        self.reap_soon();
    }

    async fn post_in_turn(&self, message: RequestParts, id: u64, kind: RequestKind) -> Result<()> {
        let _socket = match kind {
            RequestKind::Control => None,
            RequestKind::Call => match self.sockets.for_call(id).await {
                Ok(socket) => socket,
                // The call was cancelled.
                Err(Withdrawn) => return Ok(()),
            },
        };
        match lock(&self.under_way).get_mut(&id) {
            Some(exchange) => exchange.is_posted = true,
            // It was given up before it was sent.
            None => return Ok(()),
        }
        self.post(&message, Some(id)).await
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
        for (_, exchange) in lock(&self.under_way).drain() {
            exchange.task.abort();
        }
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.stop_tasks();
    }
}

/// Sends a message without an answer.
fn send_aside(link: Arc<HttpLink>, message: RequestParts, permit: Option<OwnedSemaphorePermit>) {
    runtime::spawn(async move {
        let sending = async {
            // Replies are limited by their own permits.
            let _socket = match permit {
                Some(_) => None,
                None => link.sockets.for_notification().await,
            };
            link.post(&message, None).await
        };
        tokio::select! {
            _ = timeout(ASIDE, sending) => {}
            () = link.outlived() => {}
        }
        drop(permit);
    });
}
