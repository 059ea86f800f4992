//! Owns the HTTP client of a link, whose sockets end with the link, and which redirects it follows.
//! Invariant: a request is sent once, except for redirects within its origin and if the server has not processed it;
//! endless informational responses are not waited out.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use http::uri::Scheme;
use http::{Method, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_util::client::legacy;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::Notify;
use tokio::task::coop;
use url::Url;

use super::connector::{BoxError, Connector, Names, READ_UNIT, Resolver};
use crate::error::{Error, ErrorKind, Result};
use crate::fork::PerProcess;
use crate::resolve::Addresses;
use crate::sync::lock;

const REDIRECTS: usize = 3;
/// The limit of informational responses to one request.
const INFORMATIONAL: usize = 10_000;
/// Without this header, a server may choose any encoding for its answers.
const NOT_ENCODED: HeaderValue = HeaderValue::from_static("identity");
const OURS: HeaderValue = HeaderValue::from_static(concat!("mcpool/", env!("CARGO_PKG_VERSION")));
/// How many idle sockets a link keeps for its next calls, and for how long. With fewer sockets than concurrent calls,
/// sockets would be reopened again and again.
const IDLE_SOCKETS: usize = super::sockets::CALLS;
const IDLE: Duration = Duration::from_secs(30);
/// A link has one host, and possibly a proxy.
const TLS_SESSIONS: usize = 8;

type Sending = Pin<Box<dyn Future<Output = Result<Response, SendError>> + Send>>;

/// A type-erased client: otherwise a `Send` check of a manager makes the compiler recurse through the whole HTTP
/// library, beyond its limit.
pub(super) trait Dial: Send + Sync {
    fn send(self: Arc<Self>, request: http::Request<Full<Bytes>>) -> Sending;
    fn addresses(&self) -> Addresses;
}

/// A request and its client.
pub(super) struct Request {
    client: Arc<dyn Dial>,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
    followed: usize,
}

impl Request {
    pub(super) fn new(client: Arc<dyn Dial>, method: Method, mut url: Url) -> Self {
        let login = take_login(&mut url).map(|login| (AUTHORIZATION, login));
        let headers = login.into_iter().collect();
        Request { client, method, url, headers, body: Bytes::new(), followed: 0 }
    }

    pub(super) fn headers(mut self, mut headers: HeaderMap) -> Self {
        if let Some(login) = self.headers.remove(AUTHORIZATION) {
            headers.entry(AUTHORIZATION).or_insert(login);
        }
        Request { headers, ..self }
    }

    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(super) fn body(self, body: Bytes) -> Self {
        Request { body, ..self }
    }

    /// Sends it and follows redirects.
    pub(super) async fn send(mut self) -> Result<Response, SendError> {
        loop {
            let response = self.send_once().await?;
            if !self.turn_to_target_of(&response)? {
                return Ok(response);
            }
        }
    }

    pub(super) async fn send_once(&self) -> Result<Response, SendError> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.url.as_str().parse().map_err(SendError::unsent)?;
        *request.headers_mut() = self.headers.clone();
        self.client.clone().send(request).await
    }

    /// Switches to the redirect target of a response, if it may be followed unchanged; returns whether there is one.
    pub(super) fn turn_to_target_of(&mut self, response: &Response) -> Result<bool, SendError> {
        let Some(next) = target(response, &self.url).filter(|_| self.followed < REDIRECTS) else {
            return Ok(false);
        };
        self.client.addresses().check(&next).map_err(SendError::broken)?;
        let is_same_origin = next.origin() == self.url.origin();
        if is_same_origin {
            (self.url, self.followed) = (next, self.followed + 1);
        }
        Ok(is_same_origin)
    }
}

/// A response whose body is not read yet.
#[derive(Debug)]
pub(super) struct Response(http::Response<Incoming>);

impl Response {
    pub(super) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    pub(super) fn version(&self) -> Version {
        self.0.version()
    }

    /// How long the body is, where that is known.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.0.body().size_hint().exact()
    }

    /// The next chunk of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        while let Some(frame) = self.0.body_mut().frame().await {
            // Trailers are ignored.
            if let Ok(data) = frame?.into_data() {
                // As with the socket: a constant reader must yield to other tasks, and to its own time limit.
                for _ in 0..=data.len() / READ_UNIT {
                    coop::consume_budget().await;
                }
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

pub(super) type BodyError = hyper::Error;

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct SendError {
    /// Nothing was sent.
    unsent: bool,
    cause: BoxError,
}

impl SendError {
    fn unsent(cause: impl Into<BoxError>) -> Self {
        SendError { unsent: true, cause: cause.into() }
    }

    fn broken(cause: impl Into<BoxError>) -> Self {
        SendError { unsent: false, cause: cause.into() }
    }

    pub(super) fn is_unsent(&self) -> bool {
        self.unsent
    }

    pub(super) fn is_flood(&self) -> bool {
        self.cause.is::<Flood>()
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl StdError for SendError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

#[derive(Debug)]
struct Flood;

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {INFORMATIONAL} informational answers")
    }
}

impl StdError for Flood {}

struct Client {
    pool: legacy::Client<Connector, Full<Bytes>>,
    connector: Connector,
    addresses: Addresses,
}

impl Dial for Client {
    fn send(self: Arc<Self>, request: http::Request<Full<Bytes>>) -> Sending {
        Box::pin(async move { self.exchange(request).await })
    }

    fn addresses(&self) -> Addresses {
        self.addresses
    }
}

impl Client {
    async fn exchange(
        &self,
        mut request: http::Request<Full<Bytes>>,
    ) -> Result<Response, SendError> {
        // Through a tunnel, the tunnel has the login.
        let proxy = (request.uri().scheme() == Some(&Scheme::HTTP))
            .then(|| self.connector.proxy_of(request.uri()))
            .flatten();
        let headers = request.headers_mut();
        headers.entry(ACCEPT_ENCODING).or_insert(NOT_ENCODED);
        headers.entry(USER_AGENT).or_insert(OURS);
        if let Some(login) = proxy.as_ref().and_then(|proxy| proxy.basic_auth()) {
            headers.entry(PROXY_AUTHORIZATION).or_insert(login.clone());
        }
        let flood = count_informational(&mut request);
        let answer = tokio::select! {
            answer = self.pool.request(request) => answer,
            () = flood.notified() => return Err(SendError::broken(Flood)),
        };
        answer.map(Response).map_err(|error| match error.is_connect() {
            true => SendError::unsent(error),
            false => SendError::broken(error),
        })
    }
}

/// Notifies when there are too many informational responses to a request.
fn count_informational(request: &mut http::Request<Full<Bytes>>) -> Arc<Notify> {
    let flood = Arc::new(Notify::new());
    let (told, count) = (flood.clone(), AtomicUsize::new(0));
    hyper::ext::on_informational(request, move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == INFORMATIONAL {
            told.notify_one();
        }
    });
    flood
}

/// The redirect target of a response, if the request may be sent there unchanged.
fn target(response: &Response, url: &Url) -> Option<Url> {
    let keeps_method = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
        .contains(&response.status());
    let location = response.headers().get(LOCATION).filter(|_| keeps_method)?;
    url.join(std::str::from_utf8(location.as_bytes()).ok()?).ok()
}

/// The name and password of a URL, as a header.
fn take_login(url: &mut Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let login = [decoded(url.username()), decoded(url.password().unwrap_or_default())].join(&b':');
    url.set_username("").and_then(|()| url.set_password(None)).ok()?;
    let mut header = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(login))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// A client for one link.
pub(super) fn client(addresses: Addresses) -> Result<Arc<dyn Dial>> {
    let proxies = match addresses {
        Addresses::Any => Some(Matcher::from_system()),
        Addresses::PublicOnly => None,
    };
    let client = built(Resolver { addresses, names: Names::System }, proxies);
    match client {
        Ok(client) => Ok(Arc::new(client)),
        Err(error) => {
            let text = format!("HTTP cannot be used here: {error}");
            Err(Error::new(ErrorKind::ConnectFailed, text))
        }
    }
}

fn built(resolver: Resolver, proxies: Option<Matcher>) -> Result<Client, rustls::Error> {
    let addresses = resolver.addresses;
    let connector = Connector::new(tls()?, resolver, proxies);
    let pool = legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_SOCKETS)
        .build(connector.clone());
    Ok(Client { pool, connector, addresses })
}

/// Shared by all clients: reading the system's certificates is the most expensive part of a client.
fn tls() -> Result<ClientConfig, rustls::Error> {
    static SHARED: PerProcess<Mutex<Option<ClientConfig>>> = PerProcess::new(Mutex::default);
    let mut shared = lock(SHARED.get());
    let mut tls = match &*shared {
        Some(tls) => tls.clone(),
        // A failure is not cached: the certificates may be readable the next time.
        None => shared.insert(system_tls()?).clone(),
    };
    // TLS sessions are per link: otherwise a server could tell that two links belong to one process.
    tls.resumption = Resumption::in_memory_sessions(TLS_SESSIONS);
    Ok(tls)
}

fn system_tls() -> Result<ClientConfig, rustls::Error> {
    // Another library in the process may have installed a provider already; either works.
    let _ = ring::default_provider().install_default();
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| ring::default_provider().into());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

#[cfg(test)]
mod tests;
