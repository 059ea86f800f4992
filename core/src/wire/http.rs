//! Owns Streamable HTTP: every message is one POST on a kept-alive connection, answered as JSON or as an event stream;
//! a standing GET carries what the server says on its own account.
//! Invariant: a request whose answer cannot come is told so at once, no credential leaves the configured origin, every
//! request of a link goes by its own client, and the client's sockets end with the link.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use url::Url;

use super::transport::{Endpoint, Transport};
use super::{Flush, Inbound, Loss};
use crate::config::Limits;
use crate::error::{Error, ErrorKind, Executed, Result, Stage};
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
mod listen;
mod refusal;
mod resume;
mod room;
mod sockets;
mod status;
mod sweep;
#[cfg(test)]
mod tests;

use body::Body;
use client::{Dial, Request, Response, client};
use refusal::Failure;
use room::Room;
use sockets::{Sockets, Withdrawn};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const GOODBYE: Duration = Duration::from_secs(1);
/// How long a server may take to accept what it need not answer.
const ASIDE: Duration = Duration::from_secs(10);

pub(crate) struct Link {
    server: Arc<str>,
    url: Url,
    /// Gone when the link is closed: nothing is dialled any more, and its idle sockets are closed.
    client: ProcessLocal<Mutex<Option<Arc<dyn Dial>>>>,
    shown: String,
    mask: Mask,
    /// Sent along with each message: the configured ones, and what is agreed on with the server.
    headers: Mutex<HeaderMap>,
    message_limit: usize,
    room: Room,
    inbound: OnceLock<Weak<dyn Inbound>>,
    sockets: Sockets,
    under_way: Mutex<HashMap<u64, AbortHandle>>,
    sweeping: AtomicBool,
    replies: Arc<Semaphore>,
    listener: OnceLock<AbortHandle>,
    /// Whether the owner knows that this link will not recover.
    over: AtomicBool,
    closed: watch::Sender<bool>,
    made_in: ForkGeneration,
    me: Weak<Link>,
}

/// What was sent, as far as its answer depends on it.
#[derive(Clone, Copy)]
struct Sent {
    /// Set when an answer is expected.
    id: Option<u64>,
    /// The server's 404 then speaks of the session, not of the URL.
    with_session: bool,
    /// It is the first word of a handshake.
    opening: bool,
}

/// Whose request it is.
#[derive(Clone, Copy)]
enum Sending {
    Call,
    Control,
}

/// A request that can be sent without holding the link.
struct Outgoing {
    request: Request,
    with_session: bool,
    opening: bool,
}

impl Transport for Link {
    type Target = Target;
    const STARTS_PROGRAM: bool = false;
    const OPENING: Stage = Stage::Dial;
    const REPORTS_UNSENT_LATER: bool = true;
    // Every call is an exchange of its own.
    const CALLS_END_ALONE: bool = true;

    fn open(target: Target, limits: &Limits) -> Result<Arc<Link>> {
        target.addresses.check(&target.url).map_err(|refused| refused.told(&target.server))?;
        let client = client(target.addresses)?;
        Ok(Arc::new_cyclic(|me| Link {
            server: target.server,
            url: target.url,
            client: ProcessLocal::new(Mutex::new(Some(client))),
            shown: target.shown,
            mask: target.mask,
            headers: Mutex::new(target.headers),
            message_limit: limits.message_bytes,
            room: Room::new(limits.message_bytes),
            inbound: OnceLock::new(),
            sockets: Sockets::new(),
            under_way: Mutex::default(),
            sweeping: AtomicBool::new(false),
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

    /// Replies have places; a server that asks faster than it takes our replies finds none free.
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

    /// A server that refuses it by its status is not lost for that: what it really minds it says to the next request.
    /// Only a sign-in cannot wait.
    async fn send_and_confirm(&self, mut message: Vec<u8>) -> Result<()> {
        message.pop();
        match self.exchange(message.into(), None).await {
            Err(Failure { error, by_status: true, .. })
                if error.kind() != ErrorKind::AuthRequired =>
            {
                tracing::warn!(server = &*self.server, "a notification was refused: {error}");
                Ok(())
            }
            outcome => outcome.map_err(|failure| self.told(failure)),
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
        // The session is the parent's.
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

impl Link {
    fn ask(&self, link: Arc<Link>, message: Bytes, id: u64, sending: Sending) {
        // Held while spawning, so that a fast answer cannot be forgotten before it is remembered.
        let mut under_way = lock(&self.under_way);
        let task = runtime::spawn(async move {
            let outcome = link.ask_in_turn(message, id, sending).await;
            lock(&link.under_way).remove(&id);
            // The exchange is over: whoever still waits for its answer waits in vain.
            if let Some(inbound) = link.inbound().filter(|inbound| inbound.expects(id)) {
                let error =
                    outcome.err().unwrap_or_else(|| link.odd("answered some other request"));
                inbound.unanswered(id, error);
            }
        });
        under_way.insert(id, task.abort_handle());
        self.sweep_soon();
    }

    async fn ask_in_turn(&self, message: Bytes, id: u64, sending: Sending) -> Result<()> {
        let _socket = match sending {
            Sending::Control => None,
            Sending::Call => match self.sockets.for_call(id).await {
                Ok(socket) => socket,
                // Nobody waits for its answer any more.
                Err(Withdrawn) => return Ok(()),
            },
        };
        self.post(message, Some(id)).await
    }

    fn inbound(&self) -> Option<Arc<dyn Inbound>> {
        self.inbound.get().and_then(Weak::upgrade)
    }

    fn request(&self, method: Method) -> Result<Request> {
        match &*lock(&self.client) {
            Some(client) => Ok(Request::new(client.clone(), method, self.url.clone())),
            None => {
                let text = "The connection was closed by us";
                Err(Error::new(ErrorKind::ConnectionLost, text).with_executed(Executed::No))
            }
        }
    }

    fn outgoing(&self, method: Method, accept: HeaderValue) -> Result<Outgoing> {
        let mut headers = lock(&self.headers).clone();
        headers.insert(ACCEPT, accept);
        let with_session = headers.contains_key(SESSION_ID);
        let opening = !headers.contains_key(PROTOCOL_VERSION);
        let request = self.request(method)?.headers(headers);
        Ok(Outgoing { request, with_session, opening })
    }

    /// Posts one message and delivers everything that comes back for it.
    async fn post(&self, message: Bytes, id: Option<u64>) -> Result<()> {
        self.exchange(message, id).await.map_err(|failure| self.told(failure))
    }

    async fn exchange(&self, message: Bytes, id: Option<u64>) -> Result<(), Failure> {
        let Outgoing { request, with_session, opening } =
            self.outgoing(Method::POST, BOTH_KINDS)?;
        let sent = Sent { id, with_session, opening };
        let mut request = request.header(CONTENT_TYPE, JSON).body(message);
        let response = loop {
            let response = match request.send_once().await {
                Ok(response) => response,
                Err(error) => return Err(self.not_reached(&error).await),
            };
            self.sockets.note(response.version());
            if response.status().is_success() {
                break response;
            }
            // Boxed for the sake of the calls that go well.
            if !Box::pin(self.is_sent_on(&mut request, response, sent)).await? {
                return Ok(());
            }
        };
        let status = response.status();
        let Some(id) = id else { return Ok(()) };
        if opening && let Some(session) = response.headers().get(SESSION_ID) {
            lock(&self.headers).insert(SESSION_ID, session.clone());
        }
        if let Some(encoding) = content_encoding(&response) {
            let encoding = media_type(&String::from_utf8_lossy(encoding.as_bytes()));
            let what = format!("sent an answer that is encoded as \"{encoding}\", unasked");
            let hint = "let it answer without a Content-Encoding";
            return Err(self.odd(&what).with_hint(hint).quoting(&encoding).into());
        }
        let kind = content_type(&response);
        if kind.starts_with("text/event-stream") {
            self.deliver_events(response, id).await
        } else if kind.starts_with("application/json") && status != StatusCode::ACCEPTED {
            let body = self.body(response).await?;
            if let Some(inbound) = self.inbound() {
                inbound.message_for(id, body);
            }
            Ok(())
        } else {
            // Whatever it is called: an answer is an answer.
            let body = Box::pin(Body::read(response, Some(id), self.message_limit)).await;
            if let (Body::Answer(answer), Some(inbound)) = (body, self.inbound()) {
                inbound.message_for(id, answer);
                return Ok(());
            }
            if status == StatusCode::ACCEPTED {
                return Err(self.odd("accepted the request without an answer").into());
            }
            let kind = media_type(&kind);
            let what = format!("answered with \"{kind}\" instead of JSON");
            Err(self.odd(&what).quoting(&kind).into())
        }
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, Failure> {
        let mut share = self.room.share();
        let mut first: Option<Bytes> = None;
        let mut whole: Vec<u8> = Vec::new();
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(first.unwrap_or_else(|| whole.into())),
                Err(error) => return Err(self.cut_off(&error).await),
            };
            let so_far = first.as_ref().map_or(whole.len(), Bytes::len);
            if so_far + chunk.len() > self.message_limit {
                return Err(self.over_limit().into());
            }
            if !share.set(so_far + chunk.len()) {
                return Err(self.no_room().into());
            }
            if so_far == 0 {
                first = Some(chunk);
                continue;
            }
            if let Some(first) = first.take() {
                let length = response.content_length().unwrap_or(0);
                whole.reserve(length.min(self.message_limit as u64) as usize);
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&chunk);
        }
    }

    /// Tells the owner what a failure means for the whole link; gives the error for whoever asked.
    fn told(&self, failure: Failure) -> Error {
        let Failure { error, loss, .. } = failure;
        if let (Some(loss), Some(inbound)) = (loss, self.inbound()) {
            let told = match loss {
                Loss::Doubtful => self.over.load(Ordering::Relaxed),
                Loss::Gone | Loss::Expired => self.over.swap(true, Ordering::Relaxed),
            };
            if !told {
                inbound.lost(error.clone(), loss);
            }
        }
        error
    }

    /// Ends when the link has been closed for as long as a goodbye may take.
    async fn outlived(&self) {
        let mut closed = self.closed.subscribe();
        if closed.wait_for(|closed| *closed).await.is_ok() {
            sleep(GOODBYE).await;
        }
    }

    fn stop_tasks(&self) {
        // Their runtime did not come along in a fork.
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

impl Drop for Link {
    fn drop(&mut self) {
        self.stop_tasks();
    }
}

/// Sends what gets no answer.
fn send_aside(link: Arc<Link>, message: Bytes, place: Option<OwnedSemaphorePermit>) {
    runtime::spawn(async move {
        let sending = async {
            // Replies are limited by their places.
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

/// How the body is encoded, if it is.
fn content_encoding(response: &Response) -> Option<&HeaderValue> {
    response
        .headers()
        .get(CONTENT_ENCODING)
        .filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or("nothing").to_ascii_lowercase()
}

/// The part of a `Content-Type` that names the type, as far as it is worth telling.
fn media_type(kind: &str) -> String {
    const LONGEST: usize = 100;
    kind.split(';').next().unwrap_or_default().trim().chars().take(LONGEST).collect()
}
