//! Sends requests with the login of the connection, and asks it about refusals.
//! Invariant: a refused request is sent again only if the login has changed, a bounded number of times.

use std::net::IpAddr;
use std::sync::Arc;

use http::StatusCode;
use http::header::{HeaderMap, WWW_AUTHENTICATE};

use super::HttpLink;
use super::exchange::OutgoingRequest;
use super::failure::ExchangeFailure;
use crate::error::{Error, ErrorKind, Result};
use crate::http_client::{Request, Response, SendError};
use crate::oauth::{Challenge, Login, Refusal, Settled, Token};
use crate::resolve::SignIn;
use crate::wire::Loss;

/// A refusal that a login may settle.
pub(super) struct SignInRefusal {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The address that refused, if it was dialled directly.
    peer: Option<IpAddr>,
}

impl SignInRefusal {
    /// The refusal of a response, if it is one for lack of a token, or of scopes.
    pub(super) fn from_response(response: &Response) -> Option<Box<Self>> {
        let (status, headers) = (response.status(), response.headers());
        let is_one = match status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => Challenge::from_headers(headers).is_insufficient_scope(),
            _ => false,
        };
        let peer = response.peer();
        is_one.then(|| Box::new(SignInRefusal { status, headers: headers.clone(), peer }))
    }
}

fn has_challenge(response: &Response) -> bool {
    response.headers().contains_key(WWW_AUTHENTICATE)
}

/// Why there is no response.
pub(super) enum NotSent {
    Failed(SendError),
    /// The login failed.
    Refused(ExchangeFailure),
}

impl OutgoingRequest {
    /// Sends it, and again if the login settles a refusal. For requests without a body.
    pub(super) async fn send(mut self) -> Result<Response, NotSent> {
        let login = self.login.clone();
        let mut before = Settled::default();
        loop {
            let sent = authorize(login.as_deref(), &mut self.request).await;
            let sent = sent.map_err(|error| NotSent::Refused(error.into()))?;
            let response = self.request.send().await.map_err(NotSent::Failed)?;
            let Some(login) = &login else { return Ok(response) };
            // Without a challenge it may be about the session: then the next message tells.
            let is_about_session = self.with_session && !has_challenge(&response);
            let refusal = SignInRefusal::from_response(&response);
            let Some(refusal) = refusal.filter(|_| !is_about_session) else { return Ok(response) };
            // Boxed, so that other requests do not pay for it.
            before = Box::pin(settle(login, &refusal, &self.request, sent, before))
                .await
                .map_err(NotSent::Refused)?;
        }
    }

    /// Sends it with the token that is there.
    pub(super) async fn send_once(mut self) {
        let login = self.login.clone();
        if authorize(login.as_deref(), &mut self.request).await.is_ok() {
            let _ = self.request.send().await;
        }
    }
}

/// Adds the token of the login to a request; returns the token.
pub(super) async fn authorize(
    login: Option<&Login>,
    request: &mut Request,
) -> Result<Option<Arc<Token>>> {
    match login {
        Some(login) => {
            let (headers, method, url) = request.parts_mut();
            login.authorize(headers, method, url).await
        }
        None => Ok(None),
    }
}

/// Has the login settle a refusal: `Ok` if the request should be sent again.
pub(super) async fn settle(
    login: &Login,
    refusal: &SignInRefusal,
    request: &Request,
    sent: Option<Arc<Token>>,
    before: Settled,
) -> Result<Settled, ExchangeFailure> {
    let had_token = sent.is_some();
    let SignInRefusal { status, headers, peer } = refusal;
    let (url, peer) = (request.url(), *peer);
    let refusal = Refusal { status: *status, headers, url, peer, sent, before };
    login.refused(refusal).await.map_err(|error| {
        // Without a new sign-in, no request will succeed.
        let is_lost = had_token && error.kind() == ErrorKind::AuthRequired;
        ExchangeFailure::refused(error, is_lost.then_some(Loss::Gone))
    })
}

impl HttpLink {
    /// Explains a refusal that no login can settle.
    pub(super) fn explain_refusal(&self, status: StatusCode, error: Error) -> Error {
        match (status, &self.sign_in) {
            (StatusCode::UNAUTHORIZED, SignIn::Given) => error.with_hint(
                "the server refused the \"Authorization\" of the definition: is it still valid?",
            ),
            (StatusCode::FORBIDDEN, SignIn::Given) => error.with_hint(
                "the server refused the \"Authorization\" of the definition: may it do this?",
            ),
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, SignIn::Untrusted) => {
                error.with_hint("nothing is sent for a project that is not trusted: mcpool trust")
            }
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, SignIn::Off) => {
                error.with_hint("put a token into \"headers\", or remove \"auth\"")
            }
            _ => error,
        }
    }
}
