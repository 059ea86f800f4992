//! Owns one exchange: it posts a message and delivers the response, as JSON or as an event stream (`resume`). The
//! meaning of an error status is in `status`.
//! Invariant: a response is delivered or becomes a failure, and the loss of a link is reported once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue,
};
use http::{Method, StatusCode};

use super::HttpLink;
use super::body::Body;
use super::failure::ExchangeFailure;
use super::login::{authorize, settle};
use crate::caller::{CallerHeaders, overlay};
use crate::error::{Error, ErrorKind, Executed, Message, Result};
use crate::http_client::{Request, Response};
use crate::oauth::{Login, Settled};
use crate::sync::lock;
use crate::wire::Loss;
use crate::wire::outgoing::RequestParts;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const BOTH_KINDS: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// The properties of a sent message that its response depends on.
#[derive(Clone, Copy)]
pub(super) struct SentMessage {
    /// Set when an answer is expected.
    pub(super) id: Option<u64>,
    /// A 404 is then about the session, not about the URL.
    pub(super) with_session: bool,
    /// It is the first message of a handshake.
    pub(super) opening: bool,
}

/// A request that can be sent without holding the link.
pub(super) struct OutgoingRequest {
    pub(super) request: Request,
    pub(super) login: Option<Arc<Login>>,
    pub(super) with_session: bool,
    pub(super) opening: bool,
}

impl HttpLink {
    pub(super) fn request(&self, method: Method) -> Result<Request> {
        match &*lock(&self.client) {
            Some(client) => Ok(Request::new(client.clone(), method, self.peer.url.clone())),
            None => {
                let text = "The connection was closed by us";
                Err(Error::new(ErrorKind::ConnectionLost, text).with_executed(Executed::No))
            }
        }
    }

    pub(super) fn outgoing(&self, method: Method, accept: HeaderValue) -> Result<OutgoingRequest> {
        self.outgoing_with(None, method, accept)
    }

    /// A request with the headers of the connection's identity and those of its caller.
    pub(super) fn outgoing_with(
        &self,
        caller: Option<&CallerHeaders>,
        method: Method,
        accept: HeaderValue,
    ) -> Result<OutgoingRequest> {
        let mut headers = lock(&self.headers).clone();
        for caller in [self.peer.caller.current().as_ref(), caller].into_iter().flatten() {
            overlay(&mut headers, caller.map());
        }
        headers.insert(ACCEPT, accept);
        let with_session = headers.contains_key(SESSION_ID);
        let opening = !headers.contains_key(PROTOCOL_VERSION);
        // A caller who says who calls needs no login of ours.
        let login = self.login.clone().filter(|_| !headers.contains_key(AUTHORIZATION));
        let request = self.request(method)?.headers(headers);
        Ok(OutgoingRequest { request, login, with_session, opening })
    }

    /// Posts one message and delivers everything in the response.
    pub(super) async fn post(&self, message: &RequestParts, id: Option<u64>) -> Result<()> {
        self.exchange(message, id).await.map_err(|failure| self.report(failure))
    }

    pub(super) async fn exchange(
        &self,
        message: &RequestParts,
        id: Option<u64>,
    ) -> Result<(), ExchangeFailure> {
        match self.take_silent_stream() {
            // Boxed, so that other exchanges do not pay for it.
            Some(stream) => Box::pin(self.exchange_or_endpoint(*stream, message, id)).await,
            None => self.exchange_message(message, id).await,
        }
    }

    pub(super) async fn exchange_message(
        &self,
        message: &RequestParts,
        id: Option<u64>,
    ) -> Result<(), ExchangeFailure> {
        let caller = message.caller.as_ref();
        // A refusal leads to a handshake, which finds out about the transport and opens a session.
        let is_stateless = message.mirrored.is_some();
        let endpoint = self.legacy_endpoint.get();
        let OutgoingRequest { request, login, with_session, opening } =
            self.outgoing_with(caller, Method::POST, BOTH_KINDS)?;
        // The endpoint of the older transport names the session.
        let with_session = with_session || (endpoint.is_some() && !opening);
        let sent = SentMessage { id, with_session, opening };
        let mut request = request.header(CONTENT_TYPE, JSON).body(message.body.clone());
        for (name, value) in message.mirrored.iter().flat_map(|headers| headers.iter()) {
            request = request.header(name.clone(), value.clone());
        }
        if let Some(endpoint) = endpoint {
            request = request.to(endpoint.clone());
        }
        let mut before = Settled::default();
        let response = loop {
            let sent_token = match &login {
                Some(login) => authorize(Some(login), &mut request).await?,
                None => None,
            };
            let response = match request.send_once().await {
                Ok(response) => response,
                Err(error) => return Err(self.not_reached(&error).await),
            };
            self.sockets.note_version(response.version());
            if let (Some(login), Some(token)) = (&login, &sent_token) {
                login.note_answer(token, request.url(), response.headers());
            }
            if response.status().is_success() {
                break response;
            }
            // Boxed, so that successful calls do not pay for it.
            match Box::pin(self.deliver_or_redirect(&mut request, response, sent)).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(ExchangeFailure { refusal: Some(refusal), .. }) if let Some(login) = &login => {
                    let settled = settle(login, &refusal, &request, sent_token, before);
                    before = Box::pin(settled).await?;
                }
                Err(failure) if opening && !is_stateless && !self.is_legacy() => {
                    request = request.to(Box::pin(self.fall_back(failure)).await?);
                }
                Err(failure) => return Err(failure),
            }
        };
        let status = response.status();
        let Some(id) = id else { return Ok(()) };
        if self.is_legacy() {
            Box::pin(self.accept_legacy(response, id)).await;
            return Ok(());
        }
        if opening
            && !is_stateless
            && self.has_sessions.load(Ordering::Relaxed)
            && let Some(session) = response.headers().get(SESSION_ID)
        {
            lock(&self.headers).insert(SESSION_ID, session.clone());
        }
        self.refuse_encoded(&response)?;
        let kind = content_type(&response);
        if kind.starts_with("text/event-stream") {
            self.deliver_events(response, caller, id).await
        } else if kind.starts_with("application/json") && status != StatusCode::ACCEPTED {
            let body = self.read_body(response).await?;
            if let Some(inbound) = self.inbound() {
                inbound.message_for(id, body);
            }
            Ok(())
        } else {
            // An answer is accepted with any content type.
            let body = Box::pin(self.possible_answer(response, Some(id))).await;
            if let (Body::Answer(answer), Some(inbound)) = (body, self.inbound()) {
                inbound.message_for(id, answer);
                return Ok(());
            }
            if status == StatusCode::ACCEPTED {
                return Err(self.unexpected("accepted the request without an answer").into());
            }
            let kind = media_type(&kind);
            let what = Message::new("answered with \"").others(&kind);
            Err(self.unexpected(what.text("\" instead of JSON")).into())
        }
    }

    /// Fails if the body is encoded: it would have to be decompressed, to a size that nobody knows.
    pub(super) fn refuse_encoded(&self, response: &Response) -> Result<()> {
        let Some(encoding) = content_encoding(response) else { return Ok(()) };
        let encoding = media_type(&String::from_utf8_lossy(encoding.as_bytes()));
        let what = Message::new("sent an answer that is encoded as \"").others(&encoding);
        let hint = "let it answer without a Content-Encoding";
        Err(self.unexpected(what.text("\", unasked")).with_hint(hint))
    }

    /// Reads a body that may be the answer to request `id`, within the limits of a message and of the link.
    pub(super) async fn possible_answer(&self, response: Response, id: Option<u64>) -> Body {
        Body::read(response, id, self.message_limit, &self.memory).await
    }

    /// Reads the whole body of an answer, within the limits of a message and of the link.
    async fn read_body(&self, mut response: Response) -> Result<Bytes, ExchangeFailure> {
        let mut reservation = self.memory.reserve();
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
            if !reservation.resize(so_far + chunk.len()) {
                return Err(self.over_memory().into());
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

    /// Reports what a failure means for the whole link; returns the error of the request.
    pub(super) fn report(&self, failure: ExchangeFailure) -> Error {
        let ExchangeFailure { error, loss, .. } = self.after_both(failure);
        if let (Some(loss), Some(inbound)) = (loss, self.inbound()) {
            let is_known = match loss {
                Loss::Doubtful => self.over.load(Ordering::Relaxed),
                Loss::Gone | Loss::Expired => self.over.swap(true, Ordering::Relaxed),
            };
            if !is_known {
                inbound.lost(error.clone(), loss);
            }
        }
        error
    }
}

/// The encoding of the body, if there is one.
pub(super) fn content_encoding(response: &Response) -> Option<&HeaderValue> {
    response
        .headers()
        .get(CONTENT_ENCODING)
        .filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

pub(super) fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or("nothing").to_ascii_lowercase()
}

/// The media type of a `Content-Type`, cut for messages.
pub(super) fn media_type(kind: &str) -> String {
    const LONGEST: usize = 100;
    kind.split(';').next().unwrap_or_default().trim().chars().take(LONGEST).collect()
}
