//! What a manager does with a login: sign in, complete, forget.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::StatusCode;
use url::Url;

use super::sign_in::Begin;
use super::{Login, Unsettled};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::EventKind;
use crate::oauth::flow::{Callback, Flow};
use crate::oauth::problem::Problem;
use crate::redact::Secret;
use crate::runtime;
use crate::shell;
use crate::sync::lock;

impl Login {
    /// Tells those who hold the connection that a sign-in waits for a person.
    pub(crate) fn announce(&self, flow: &Flow) {
        if flow.announce() {
            let error = self.sign_in_error(flow, StatusCode::UNAUTHORIZED);
            self.subscribers.emit(&self.server, EventKind::AuthRequired { error });
        }
    }

    /// Chooses whether people sign in with a browser on another device. Ends a flow of the other kind.
    pub(crate) fn choose_device(&self, by_device: bool) {
        if by_device != self.by_device.swap(by_device, Ordering::Relaxed)
            && let Some(flow) = lock(&self.flow).take()
        {
            flow.end(Err(Problem::refused("another sign-in has begun")));
        }
    }

    /// Begins to sign in; `None` if nobody has to do anything. A server that has not refused anything, and says nothing
    /// about signing in, needs no login.
    pub(crate) async fn begin_sign_in(
        &self,
        by_device: bool,
        is_refused: bool,
    ) -> Result<Option<Arc<Flow>>> {
        let Some(me) = self.me.upgrade() else { return Err(Error::closed()) };
        self.choose_device(by_device);
        let challenge = lock(&self.challenge).clone();
        let sent = self.current.load_full();
        let work = runtime::spawn(async move {
            me.sign_in(&challenge, sent.as_ref(), &[], Begin::Always).await
        });
        match work.await {
            Ok(Ok(())) => Ok(None),
            Ok(Err(Unsettled::SignIn(flow))) => Ok(Some(flow)),
            Ok(Err(Unsettled::Problem(problem))) if !is_refused && problem.is_undiscovered() => {
                Ok(None)
            }
            Ok(Err(Unsettled::Problem(problem))) => Err(self.error(problem)),
            Err(_) => Err(Error::closed()),
        }
    }

    /// Asks to sign in, and waits for the end of it.
    pub(crate) async fn finish_sign_in(&self, flow: &Arc<Flow>) -> Result<()> {
        self.ask(flow);
        flow.ended().await.map_err(|problem| self.error(problem))
    }

    /// Forgets everything that is stored, and tells the authorisation server that the tokens are not needed any more.
    /// Returns whether there was a login.
    pub(crate) async fn forget(&self) -> Result<bool> {
        let Some(me) = self.me.upgrade() else { return Err(Error::closed()) };
        let work = runtime::spawn(async move { me.forget_all().await });
        let done = work.await.map_err(|_| Error::closed())?;
        done.map_err(|problem| self.error(problem))
    }

    /// Finishes the flow that a redirected URL belongs to; `None` if it belongs to no flow of this login.
    pub(crate) async fn complete(&self, redirected: &Url) -> Option<Result<()>> {
        let callback = Callback::read(redirected.query().unwrap_or_default());
        let flow = lock(&self.flow).clone()?;
        if !callback.state.as_deref().is_some_and(|state| flow.has_state(state)) {
            return None;
        }
        let me = self.me.upgrade()?;
        let outcome = runtime::spawn(async move { me.take_answer(&flow, &callback).await });
        let outcome = outcome.await.unwrap_or_else(|_| Err(Problem::refused("it was given up")));
        Some(outcome.map_err(|problem| self.error(problem)))
    }

    /// The flow that waits for a person.
    pub(crate) fn open_flow(&self) -> Option<Arc<Flow>> {
        lock(&self.flow).clone().filter(|flow| !flow.is_over())
    }

    /// The access token of the stored login, refreshed if it expires soon.
    pub(crate) async fn stored_access(&self) -> Option<Secret> {
        self.load().await;
        let mut token = self.current.load_full()?;
        if self.is_due(&token) {
            token = self.refresh_ahead(token).await;
        }
        Some(token.access.clone())
    }

    pub(crate) fn has_token(&self) -> bool {
        self.current.load().is_some()
    }

    pub(super) fn sign_in_error(&self, flow: &Flow, status: StatusCode) -> Error {
        let text = format!("Authentication required: sign in to \"{}\"", self.server);
        let hint = format!("open the address, or run: {}", shell::mcpool("auth", &self.server, ""));
        // A token is there already, with fewer scopes.
        let needs_more = status == StatusCode::FORBIDDEN;
        let scopes = flow.request.scopes.as_slice();
        Error::new(ErrorKind::AuthRequired, text)
            .naming_server(&self.server)
            .with_auth_url(flow.prompt.url.clone())
            .with_auth_scopes(if needs_more { scopes } else { &[] })
            .with_http_status(status.as_u16())
            .with_executed(Executed::No)
            .with_hint(hint)
    }

    pub(super) fn refusal_error(&self, problem: Problem, status: StatusCode) -> Error {
        self.error(problem).with_http_status(status.as_u16()).with_executed(Executed::No)
    }

    pub(crate) fn error(&self, problem: Problem) -> Error {
        problem.into_error(&self.server)
    }
}
