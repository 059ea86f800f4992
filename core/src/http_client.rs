//! Owns HTTP requests: the client, whose sockets end with it, and which redirects it follows. `connector` dials (lookup,
//! `proxy`, `tls`). It knows nothing of MCP.
//! Invariant: a socket is dialled only by a [`Connector`], which checks the address.
//! A request is sent once, except for redirects within its origin and if the server has not processed it;
//! endless informational responses are not waited out.

use std::error::Error as StdError;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{Method, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::upgrade::Upgraded;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpInfo;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use percent_encoding::percent_decode_str;
use tokio::sync::Notify;
use tokio::task::coop;
use url::Url;

use crate::error::Result;
use crate::resolve::{AllowedAddresses, Target, TlsFiles};

mod connector;
mod proxy;
mod tls;

pub(crate) use connector::HttpVersions;
use connector::{BoxError, Connector, READ_UNIT};
pub(crate) use proxy::{NoTunnel, UnreachableProxy};
pub(crate) use tls::may_want_certificate;

const REDIRECTS: usize = 3;
/// How many idle sockets the client of a sign-in keeps for each host.
const ENDPOINT_SOCKETS: usize = 1;
/// The limit of informational responses to one request.
const INFORMATIONAL: usize = 10_000;
/// Without this header, a server may choose any encoding for its answers.
const NOT_ENCODED: HeaderValue = HeaderValue::from_static("identity");
const OURS: HeaderValue = HeaderValue::from_static(concat!("mcpool/", env!("CARGO_PKG_VERSION")));
/// How long an idle socket is kept.
const IDLE: Duration = Duration::from_secs(30);

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, SendError>> + Send>>;

/// A type-erased client: otherwise a `Send` check of a manager makes the compiler recurse through the whole HTTP
/// library, beyond its limit.
pub(crate) trait HttpClient: Send + Sync {
    fn send(self: Arc<Self>, request: http::Request<Full<Bytes>>) -> ResponseFuture;
    fn addresses(&self) -> AllowedAddresses;
}

/// A request and its client.
pub(crate) struct Request {
    client: Arc<dyn HttpClient>,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
    followed: usize,
}

impl Request {
    pub(crate) fn new(client: Arc<dyn HttpClient>, method: Method, mut url: Url) -> Self {
        let login = take_login(&mut url).map(|login| (AUTHORIZATION, login));
        let headers = login.into_iter().collect();
        Request { client, method, url, headers, body: Bytes::new(), followed: 0 }
    }

    pub(crate) fn headers(mut self, mut headers: HeaderMap) -> Self {
        if let Some(login) = self.headers.remove(AUTHORIZATION) {
            headers.entry(AUTHORIZATION).or_insert(login);
        }
        Request { headers, ..self }
    }

    /// The same request to another address. A login in that URL is not used.
    pub(crate) fn to(self, mut url: Url) -> Self {
        take_login(&mut url);
        Request { url, followed: 0, ..self }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The headers, and what they are sent with.
    pub(crate) fn parts_mut(&mut self) -> (&mut HeaderMap, &Method, &Url) {
        (&mut self.headers, &self.method, &self.url)
    }

    pub(crate) fn body(self, body: Bytes) -> Self {
        Request { body, ..self }
    }

    /// Sends it and follows redirects.
    pub(crate) async fn send(&mut self) -> Result<Response, SendError> {
        loop {
            let response = self.send_once().await?;
            if !self.follow_redirect(&response)? {
                return Ok(response);
            }
        }
    }

    pub(crate) async fn send_once(&self) -> Result<Response, SendError> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.url.as_str().parse().map_err(SendError::unsent)?;
        *request.headers_mut() = self.headers.clone();
        self.client.clone().send(request).await
    }

    /// Switches to the redirect target of a response, if it may be followed unchanged; returns whether there is one.
    pub(crate) fn follow_redirect(&mut self, response: &Response) -> Result<bool, SendError> {
        let target = redirect_target(response, &self.method, &self.url);
        let Some(next) = target.filter(|_| self.followed < REDIRECTS) else { return Ok(false) };
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
pub(crate) struct Response(http::Response<Incoming>);

impl Response {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    pub(crate) fn version(&self) -> Version {
        self.0.version()
    }

    /// The address that answered; `None` if a proxy was dialled.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.0.extensions().get::<HttpInfo>().map(|info| info.remote_addr().ip())
    }

    /// The connection, after the server has switched protocols.
    pub(crate) async fn upgraded(self) -> Result<Upgraded, BodyError> {
        hyper::upgrade::on(self.0).await
    }

    /// How long the body is, where that is known.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.0.body().size_hint().exact()
    }

    /// The next chunk of the body.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
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

pub(crate) type BodyError = hyper::Error;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct SendError {
    /// Nothing was sent.
    unsent: bool,
    /// The server had asked for a certificate and got none.
    lacks_certificate: bool,
    cause: BoxError,
}

impl SendError {
    fn unsent(cause: impl Into<BoxError>) -> Self {
        SendError { unsent: true, lacks_certificate: false, cause: cause.into() }
    }

    fn broken(cause: impl Into<BoxError>) -> Self {
        SendError { unsent: false, lacks_certificate: false, cause: cause.into() }
    }

    pub(crate) fn is_unsent(&self) -> bool {
        self.unsent
    }

    pub(crate) fn lacks_certificate(&self) -> bool {
        self.lacks_certificate
    }

    pub(crate) fn is_flood(&self) -> bool {
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
    addresses: AllowedAddresses,
}

impl HttpClient for Client {
    fn send(self: Arc<Self>, request: http::Request<Full<Bytes>>) -> ResponseFuture {
        Box::pin(async move { self.exchange(request).await })
    }

    fn addresses(&self) -> AllowedAddresses {
        self.addresses
    }
}

impl Client {
    fn new(connector: Connector, addresses: AllowedAddresses, idle_sockets: usize) -> Client {
        let pool = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(idle_sockets)
            .build(connector.clone());
        Client { pool, connector, addresses }
    }

    async fn exchange(
        &self,
        mut request: http::Request<Full<Bytes>>,
    ) -> Result<Response, SendError> {
        let proxy = self.connector.forwarding_proxy_of(request.uri());
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
            // The server refuses after the handshake, which has succeeded for us, and may just hang up.
            false => SendError {
                lacks_certificate: self.connector.lacks_certificate(),
                ..SendError::broken(error)
            },
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
fn redirect_target(response: &Response, method: &Method, url: &Url) -> Option<Url> {
    let keeps_method = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        // These turn a POST into a GET.
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            method == Method::GET
        }
        _ => false,
    };
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

/// What the requests of a sign-in at one server have in common.
pub(crate) struct Endpoints {
    pub(crate) server: Arc<str>,
    /// The address of the server itself.
    pub(crate) url: Url,
    pub(crate) tls: Option<TlsFiles>,
    /// Which addresses may be dialled.
    pub(crate) addresses: AllowedAddresses,
}

/// The client of a sign-in.
pub(crate) fn endpoint_client(endpoints: &Endpoints) -> Result<Arc<dyn HttpClient>> {
    let connector = Connector::for_endpoints(endpoints)?;
    Ok(Arc::new(Client::new(connector, endpoints.addresses, ENDPOINT_SOCKETS)))
}

/// The client of one link. It keeps up to `idle_sockets` for the next calls; with fewer sockets than concurrent calls,
/// sockets would be reopened again and again.
pub(crate) fn client(
    target: &Target,
    versions: HttpVersions,
    idle_sockets: usize,
) -> Result<Arc<dyn HttpClient>> {
    let connector = Connector::for_target(target, versions)?;
    Ok(Arc::new(Client::new(connector, target.addresses, idle_sockets)))
}

#[cfg(test)]
mod tests;
