//! Owns trying the other transport over HTTP when a server does not speak the one of its definition: HTTP+SSE after a
//! refused first POST, and Streamable HTTP after a GET that opens no event stream with an endpoint.
//! Invariant: each is tried at most once for a link, at the same URL and with the same login. An event stream that is
//! open may name its endpoint as long as the server has not answered a POST. If a link of the older transport fails
//! both ways, the error tells both. No session that the server opened for a GET is left behind.

use std::time::Duration;

use http::header::HeaderMap;
use http::{Method, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::exchange::{BOTH_KINDS, OutgoingRequest, SESSION_ID};
use super::failure::ExchangeFailure;
use super::legacy::AnswerStream;
use super::{GOODBYE, HttpLink};
use crate::error::ErrorKind;
use crate::fork::ForkGeneration;
use crate::runtime;
use crate::sync::lock;
use crate::wire::outgoing::RequestParts;

/// How long an event stream may take to name its endpoint before the other transport is tried.
const ENDPOINT_TIMEOUT: Duration = Duration::from_millis(1500);

/// Why a link of the older transport has no endpoint. It is then used for Streamable HTTP, as far as that works.
pub(super) enum NoEndpoint {
    /// The event stream is open, and has not named an endpoint yet.
    Silent(Box<AnswerStream>),
    /// The first POST and the endpoint of that stream are waited for.
    Racing,
    Failed(ExchangeFailure),
}

/// Whether a refusal with this status may be about the transport. The excluded ones are about the caller or the moment.
fn is_about_transport(status: StatusCode) -> bool {
    let excluded = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !excluded.contains(&status)
}

impl ExchangeFailure {
    /// Whether the server may speak the other transport: it refuses the request, or answers with something else.
    fn suggests_other_transport(&self) -> bool {
        let status = self.error.http_status().and_then(|code| StatusCode::from_u16(code).ok());
        match status {
            Some(status) => self.by_status && is_about_transport(status),
            None => self.error.kind() == ErrorKind::ProtocolError,
        }
    }
}

impl HttpLink {
    /// Opens a link whose definition names the older transport.
    pub(super) async fn open_legacy(&self) -> Result<(), ExchangeFailure> {
        let no_endpoint = match self.open_event_stream().await {
            Ok(mut stream) => {
                match timeout(ENDPOINT_TIMEOUT, self.endpoint_of(&mut stream)).await {
                    Ok(Ok(endpoint)) => {
                        self.use_answer_stream(endpoint, stream);
                        return Ok(());
                    }
                    Ok(Err(failure)) if stream.has_ended() => NoEndpoint::Failed(failure),
                    Ok(Err(failure)) => return Err(failure),
                    Err(_) => NoEndpoint::Silent(Box::new(stream)),
                }
            }
            Err(failure) if failure.suggests_other_transport() => NoEndpoint::Failed(failure),
            Err(failure) => return Err(failure),
        };
        *lock(&self.no_endpoint) = Some(no_endpoint);
        Ok(())
    }

    /// The event stream that is open without an endpoint. The caller waits for it: [`HttpLink::exchange_or_endpoint`].
    pub(super) fn take_silent_stream(&self) -> Option<Box<AnswerStream>> {
        let mut no_endpoint = lock(&self.no_endpoint);
        match no_endpoint.take_if(|found| matches!(found, NoEndpoint::Silent(_))) {
            Some(NoEndpoint::Silent(stream)) => {
                *no_endpoint = Some(NoEndpoint::Racing);
                Some(stream)
            }
            _ => None,
        }
    }

    /// Posts the first message as Streamable HTTP while the event stream may still name its endpoint. Unless the POST is
    /// answered, the endpoint is waited for, and the message is posted there.
    pub(super) async fn exchange_or_endpoint(
        &self,
        mut stream: AnswerStream,
        message: &RequestParts,
        id: Option<u64>,
    ) -> Result<(), ExchangeFailure> {
        let is_answered = || id.is_none_or(|id| self.inbound().is_none_or(|it| !it.expects(id)));
        let mut post = Box::pin(self.exchange_message(message, id));
        let endpoint = tokio::select! {
            posted = &mut post => {
                if is_answered() {
                    return posted;
                }
                let other = || self.unexpected("answered some other request").into();
                let refusal = posted.err().unwrap_or_else(other);
                // The same login would be needed for the endpoint.
                if refusal.error.kind() == ErrorKind::AuthRequired {
                    return Err(refusal);
                }
                tracing::warn!(
                    server = &*self.peer.server,
                    "the server has named no endpoint yet, and does not speak Streamable HTTP: {}",
                    refusal.error
                );
                match self.endpoint_of(&mut stream).await {
                    Ok(endpoint) => endpoint,
                    Err(failure) => {
                        *lock(&self.no_endpoint) = Some(NoEndpoint::Failed(failure));
                        return Err(refusal);
                    }
                }
            }
            named = self.endpoint_of(&mut stream) => match named {
                _ if is_answered() => return post.await,
                Ok(endpoint) => endpoint,
                Err(failure) => {
                    *lock(&self.no_endpoint) = Some(NoEndpoint::Failed(failure));
                    return post.await;
                }
            },
        };
        drop(post);
        *lock(&self.no_endpoint) = None;
        self.use_answer_stream(endpoint, stream);
        self.deliver_answers();
        self.exchange_message(message, id).await
    }

    /// After a refusal of the first POST of a link that is not of the older transport: switches to that one, if the
    /// server speaks it. Returns where to post the message again.
    pub(super) async fn fall_back(&self, refusal: ExchangeFailure) -> Result<Url, ExchangeFailure> {
        let is_tried = lock(&self.no_endpoint).is_some();
        if is_tried || !refusal.suggests_other_transport() {
            return Err(refusal);
        }
        let opened = timeout(ENDPOINT_TIMEOUT, self.open_answer_stream()).await;
        let Ok(Ok((endpoint, stream))) = opened else { return Err(refusal) };
        tracing::warn!(
            server = &*self.peer.server,
            "the server speaks only the older HTTP+SSE transport: set \"type\" to \"sse\""
        );
        self.use_answer_stream(endpoint.clone(), stream);
        self.deliver_answers();
        Ok(endpoint)
    }

    /// The server has answered: the transport is the right one.
    pub(super) fn settle_transport(&self) {
        if lock(&self.no_endpoint).take().is_some() {
            tracing::warn!(
                server = &*self.peer.server,
                "the server speaks Streamable HTTP, not the older HTTP+SSE transport: set \"type\" to \"http\""
            );
        }
    }

    /// The failure of a link that has tried both transports: the more telling error, and the other one after it.
    pub(super) fn after_both(&self, second: ExchangeFailure) -> ExchangeFailure {
        let failed = |found: &mut NoEndpoint| matches!(found, NoEndpoint::Failed(_));
        let first = lock(&self.no_endpoint).take_if(failed);
        let Some(NoEndpoint::Failed(first)) = first else { return second };
        let error = match second.suggests_other_transport() {
            true => first.error.and_also("as Streamable HTTP", second.error),
            false => second.error.and_also("as HTTP+SSE", first.error),
        };
        ExchangeFailure { error, ..second }
    }

    /// The session that the response to a GET of the older transport has opened, if any.
    pub(super) fn session_of_get(&self, headers: &HeaderMap) -> SessionOfGet {
        let goodbye = headers.get(SESSION_ID).cloned().and_then(|session| {
            let mut goodbye = self.outgoing(Method::DELETE, BOTH_KINDS).ok()?;
            goodbye.request = goodbye.request.header(SESSION_ID, session);
            Some(goodbye)
        });
        SessionOfGet { goodbye, made_in: ForkGeneration::current() }
    }
}

/// A session that a server has opened for a GET of the older transport. Dropping it ends the session.
pub(super) struct SessionOfGet {
    goodbye: Option<OutgoingRequest>,
    made_in: ForkGeneration,
}

impl SessionOfGet {
    /// The session is used, and ends with its event stream.
    pub(super) fn keep(&mut self) {
        self.goodbye = None;
    }
}

impl Drop for SessionOfGet {
    fn drop(&mut self) {
        match self.goodbye.take() {
            // The session belongs to the parent process.
            Some(goodbye) if self.made_in.is_inherited() => std::mem::forget(goodbye),
            Some(goodbye) => {
                runtime::spawn(async move { drop(timeout(GOODBYE, goodbye.send_once()).await) });
            }
            None => {}
        }
    }
}
