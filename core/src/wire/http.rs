//! Owns Streamable HTTP: every message is one POST on a kept-alive connection, answered as JSON or as an event stream;
//! a standing GET carries what the server says on its own account.
//! Invariant: a request whose answer cannot come is told so at once, and no credential leaves the configured origin.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode, redirect};
use tokio::task::AbortHandle;
use url::Url;

use super::{Inbound, MESSAGE_LIMIT};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::redact;
use crate::runtime;
use crate::sync::lock;

mod events;

use events::EventStream;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const GOODBYE: Duration = Duration::from_secs(1);
const REDIRECTS: usize = 3;

/// Where a server is, ready to be asked.
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

pub(crate) struct Link {
    url: Url,
    /// Sent along with each message: the configured ones, and what is agreed on with the server.
    headers: Mutex<HeaderMap>,
    inbound: OnceLock<Weak<dyn Inbound>>,
    under_way: Mutex<HashMap<u64, AbortHandle>>,
    listener: OnceLock<AbortHandle>,
    me: Weak<Link>,
}

/// One client for all servers, so that connections are kept and shared.
fn client() -> Result<&'static Client> {
    static CLIENT: LazyLock<std::result::Result<Client, String>> = LazyLock::new(|| {
        // Another library of the process may have chosen a provider already; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .redirect(redirect::Policy::custom(|attempt| {
                let same_origin =
                    attempt.previous().last().map(Url::origin) == Some(attempt.url().origin());
                let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
                if same_origin && keeps_method && attempt.previous().len() <= REDIRECTS {
                    attempt.follow()
                } else {
                    attempt.stop()
                }
            }))
            .tcp_nodelay(true)
            .pool_max_idle_per_host(256)
            .build()
            .map_err(|error| error.to_string())
    });
    CLIENT.as_ref().map_err(|error| {
        Error::new(ErrorKind::ConnectFailed, format!("HTTP cannot be used here: {error}"))
    })
}

impl Link {
    pub(crate) fn open(target: Target) -> Result<Arc<Link>> {
        client()?;
        Ok(Arc::new_cyclic(|me| Link {
            url: target.url,
            headers: Mutex::new(target.headers),
            inbound: OnceLock::new(),
            under_way: Mutex::default(),
            listener: OnceLock::new(),
            me: me.clone(),
        }))
    }

    pub(crate) fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        let _ = self.inbound.set(inbound);
    }

    /// The protocol version that further messages announce.
    pub(crate) fn speak(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            lock(&self.headers).insert(PROTOCOL_VERSION, version);
        }
    }

    pub(super) fn send(&self, mut message: Vec<u8>, id: Option<u64>) {
        message.pop();
        let Some(link) = self.me.upgrade() else { return };
        // Held while spawning, so that a fast answer cannot be forgotten before it is remembered.
        let mut under_way = lock(&self.under_way);
        let task = runtime::spawn(async move {
            let outcome = link.post(message.into(), id).await;
            let Some(id) = id else { return };
            lock(&link.under_way).remove(&id);
            // The exchange is over: whoever still waits for its answer waits in vain.
            if let Some(inbound) = link.inbound().filter(|inbound| inbound.expects(id)) {
                let error =
                    outcome.err().unwrap_or_else(|| link.odd("answered some other request"));
                inbound.unanswered(id, error);
            }
        });
        if let Some(id) = id {
            under_way.insert(id, task.abort_handle());
        }
    }

    /// Sends a message that expects no answer; returns when the server has taken it.
    pub(crate) async fn deliver(&self, mut message: Vec<u8>) -> Result<()> {
        message.pop();
        self.post(message.into(), None).await
    }

    pub(super) fn abandon(&self, id: u64) {
        if let Some(task) = lock(&self.under_way).remove(&id) {
            task.abort();
        }
    }

    fn inbound(&self) -> Option<Arc<dyn Inbound>> {
        self.inbound.get().and_then(Weak::upgrade)
    }

    fn request(&self, method: Method, accept: HeaderValue) -> Result<reqwest::RequestBuilder> {
        let mut headers = lock(&self.headers).clone();
        headers.insert(ACCEPT, accept);
        Ok(client()?.request(method, self.url.clone()).headers(headers))
    }

    /// Posts one message and delivers everything that comes back for it.
    async fn post(&self, message: Bytes, id: Option<u64>) -> Result<()> {
        let request =
            self.request(Method::POST, BOTH_KINDS)?.header(CONTENT_TYPE, JSON).body(message);
        let response = request.send().await.map_err(|error| self.not_reached(&error))?;
        if let Some(session) = response.headers().get(SESSION_ID) {
            lock(&self.headers).insert(SESSION_ID, session.clone());
        }
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        if status == StatusCode::ACCEPTED || id.is_none() {
            return if id.is_some() {
                Err(self.odd("accepted the request without an answer"))
            } else {
                Ok(())
            };
        }
        let kind = content_type(&response);
        if kind.starts_with("text/event-stream") {
            self.deliver_events(response).await
        } else if kind.starts_with("application/json") {
            let body = self.body(response).await?;
            if let Some(inbound) = self.inbound() {
                inbound.message(body);
            }
            Ok(())
        } else {
            Err(self.odd(&format!("answered with \"{kind}\" instead of JSON")))
        }
    }

    async fn body(&self, mut response: Response) -> Result<Bytes> {
        let mut first: Option<Bytes> = None;
        let mut whole: Vec<u8> = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.cut_off(&error))? {
            if first.is_none() && whole.is_empty() {
                first = Some(chunk);
                continue;
            }
            if let Some(first) = first.take() {
                whole.reserve(
                    response.content_length().unwrap_or(0).min(MESSAGE_LIMIT as u64) as usize
                );
                whole.extend_from_slice(&first);
            }
            if whole.len() + chunk.len() > MESSAGE_LIMIT {
                return Err(self.over_limit());
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(first.unwrap_or_else(|| whole.into()))
    }

    async fn deliver_events(&self, mut response: Response) -> Result<()> {
        let mut events = EventStream::new(MESSAGE_LIMIT);
        while let Some(chunk) = response.chunk().await.map_err(|error| self.cut_off(&error))? {
            for data in events.feed(&chunk) {
                let Some(inbound) = self.inbound() else { return Ok(()) };
                inbound.message(data.ok_or_else(|| self.over_limit())?);
            }
        }
        Err(self.lost("The server ended its answer early").with_executed(Executed::Unknown))
    }

    /// Opens the standing GET, where the server offers one.
    pub(crate) fn listen(&self) {
        let weak = self.me.clone();
        let task = runtime::spawn(async move {
            let request = weak.upgrade().and_then(|link| link.request(Method::GET, EVENTS).ok());
            let Some(request) = request else { return };
            let Ok(mut response) = request.send().await else { return };
            let offered = response.status().is_success()
                && content_type(&response).starts_with("text/event-stream");
            if !offered {
                return;
            }
            let mut events = EventStream::new(MESSAGE_LIMIT);
            while let Ok(Some(chunk)) = response.chunk().await {
                let Some(inbound) = weak.upgrade().and_then(|link| link.inbound()) else { return };
                for data in events.feed(&chunk).into_iter().flatten() {
                    inbound.message(data);
                }
            }
        });
        let _ = self.listener.set(task.abort_handle());
    }

    pub(super) async fn close(&self) {
        self.stop_tasks();
        let has_session = lock(&self.headers).contains_key(SESSION_ID);
        if let (true, Ok(request)) = (has_session, self.request(Method::DELETE, BOTH_KINDS)) {
            let _ = tokio::time::timeout(GOODBYE, request.send()).await;
        }
    }

    fn stop_tasks(&self) {
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

/// What is said when it does not work.
impl Link {
    fn shown(&self) -> String {
        redact::url(&self.url)
    }

    fn lost(&self, what: &str) -> Error {
        Error::new(ErrorKind::ConnectionLost, format!("{what} ({})", self.shown()))
    }

    fn not_reached(&self, error: &reqwest::Error) -> Error {
        let executed = if error.is_connect() { Executed::No } else { Executed::Unknown };
        self.lost(&format!("The server cannot be reached: {}", root_cause(error)))
            .with_executed(executed)
            .with_hint("is it running, and is the URL right?")
    }

    fn cut_off(&self, error: &reqwest::Error) -> Error {
        self.lost(&format!("The answer was cut off: {}", root_cause(error)))
            .with_executed(Executed::Unknown)
    }

    fn odd(&self, what: &str) -> Error {
        let text = format!("The server {what} ({})", self.shown());
        Error::new(ErrorKind::ProtocolError, text)
            .with_executed(Executed::Unknown)
            .with_hint("is this the URL of an MCP server?")
    }

    fn over_limit(&self) -> Error {
        let text = format!("The server's answer is over {} MiB", MESSAGE_LIMIT >> 20);
        Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::Yes)
    }

    async fn refused(&self, response: Response) -> Error {
        let status = response.status();
        let elsewhere = status.is_redirection().then(|| {
            let location = response.headers().get("location").and_then(|value| value.to_str().ok());
            location.and_then(|location| self.url.join(location).ok())
        });
        if let Some(elsewhere) = elsewhere {
            let place =
                elsewhere.map_or("nowhere".into(), |url| url.origin().ascii_serialization());
            return self
                .lost(&format!("The server redirects to {place}, which is not followed"))
                .with_executed(Executed::No)
                .with_hint("set \"url\" to the final address if you trust it");
        }
        let text = format!("The server answered {status} ({})", self.shown());
        match status {
            StatusCode::UNAUTHORIZED => Error::new(ErrorKind::AuthRequired, text)
                .with_executed(Executed::No)
                .with_hint("put a token into \"headers\""),
            StatusCode::FORBIDDEN => {
                Error::new(ErrorKind::AuthFailed, text).with_executed(Executed::No)
            }
            StatusCode::NOT_FOUND if lock(&self.headers).contains_key(SESSION_ID) => {
                self.lost("The server has forgotten our session").with_executed(Executed::No)
            }
            _ => Error::new(ErrorKind::ConnectionLost, text).with_executed(Executed::Unknown),
        }
    }
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or("nothing").to_ascii_lowercase()
}

/// The innermost words, without the URL, which may hold secrets.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
