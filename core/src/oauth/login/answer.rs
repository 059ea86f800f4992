//! Receives the answer to a sign-in: from the browser, from who was asked, or as a URL; and exchanges it for a token.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::StatusCode;
use tokio::time::timeout;
use url::Url;

use super::Login;
use crate::oauth::flow::{Callback, CallbackError, Flow, PATIENCE, Way};
use crate::oauth::listener::{Handler, Listener, Page};
use crate::oauth::problem::Problem;
use crate::runtime;

const SIGNED_IN: Page =
    Page { status: StatusCode::OK, text: "You are signed in. You can close this page." };
const NOT_SIGNED_IN: Page = Page {
    status: StatusCode::BAD_REQUEST,
    text: "The sign-in failed. The program that asked for it says why.",
};
const NOT_EXPECTED: Page =
    Page { status: StatusCode::BAD_REQUEST, text: "This sign-in is not expected, or is over." };

impl Login {
    /// Waits for the browser, as long as a person may take.
    pub(super) fn serve(self: &Arc<Self>, flow: &Arc<Flow>, listener: Listener) {
        let (login, of) = (Arc::downgrade(self), Arc::downgrade(flow));
        let handler: Arc<Handler> = Arc::new(move |query: String| -> BoxFuture<'static, Page> {
            let (login, of) = (login.upgrade(), of.upgrade());
            Box::pin(async move {
                let (Some(login), Some(flow)) = (login, of) else { return NOT_EXPECTED };
                let callback = Callback::read(&query);
                let state = callback.state.as_deref();
                if flow.is_over() || !state.is_some_and(|state| flow.has_state(state)) {
                    return NOT_EXPECTED;
                }
                // A task of its own: a browser that is closed must not interrupt it.
                let work = runtime::spawn(async move { login.take_answer(&flow, &callback).await });
                match work.await {
                    Ok(Ok(())) => SIGNED_IN,
                    _ => NOT_SIGNED_IN,
                }
            })
        });
        let flow = flow.clone();
        runtime::spawn(async move {
            let ended = async {
                tokio::select! {
                    _ = flow.ended() => {}
                    () = listener.serve(handler) => {}
                }
                // The page of the last visitor is still on its way.
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            };
            if timeout(PATIENCE, ended).await.is_err() {
                flow.end(Err(Problem::timed_out()));
            }
        });
    }

    /// Exchanges the answer to a flow for a token.
    pub(super) async fn take_answer(
        self: &Arc<Self>,
        flow: &Arc<Flow>,
        callback: &Callback,
    ) -> Result<(), Problem> {
        let code = match flow.code(callback) {
            Ok(code) => code,
            Err(CallbackError::Stranger) => {
                return Err(Problem::refused("this is not the answer to the open sign-in"));
            }
            // The first answer decides.
            Err(CallbackError::Again) => return flow.ended().await,
            Err(CallbackError::Refused(problem)) => {
                flow.end(Err(problem.clone()));
                return Err(problem);
            }
        };
        let outcome = self.exchange_code(flow, &code).await;
        let outcome = outcome.map_err(|problem| problem.after_person(&self.server));
        if let Err(problem) = &outcome
            && problem.is_about_client()
        {
            let _busy = self.busy.lock().await;
            self.forget_client(&flow.request.client).await;
        }
        self.end_flow(flow, outcome.clone());
        outcome
    }

    pub(super) fn end_flow(&self, flow: &Arc<Flow>, outcome: Result<(), Problem>) {
        let is_ok = outcome.is_ok();
        flow.end(outcome);
        if is_ok {
            (self.on_signed_in)();
        }
    }

    async fn exchange_code(&self, flow: &Flow, code: &str) -> Result<(), Problem> {
        let Way::Code { verifier, redirect_uri, .. } = &flow.way else {
            return Err(Problem::refused("this sign-in expects no code"));
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut form = vec![
            pair("grant_type", "authorization_code"),
            pair("code", code),
            pair("redirect_uri", redirect_uri),
            pair("code_verifier", verifier.expose()),
        ];
        if let Some(resource) = &flow.request.found.resource {
            form.push(pair("resource", resource));
        }
        let http = self.http().await?;
        let issued = self.request_token(&http, &flow.request, form).await?;
        self.keep_answer(flow, &issued).await
    }

    /// Asks those who hold the connection to sign in, once for each flow.
    pub(super) fn ask(&self, flow: &Arc<Flow>) {
        if !flow.ask() {
            return;
        }
        let mut answers: FuturesUnordered<_> =
            self.subscribers.ask_auth(&flow.prompt).into_iter().collect();
        if answers.is_empty() {
            return flow.leave_unattended();
        }
        let (me, flow) = (self.me.clone(), flow.clone());
        runtime::spawn(async move {
            loop {
                let answer = tokio::select! {
                    answer = answers.next() => answer,
                    _ = flow.ended() => return,
                };
                match answer {
                    Some(Some(redirected)) => {
                        let Some(login) = me.upgrade() else { return };
                        let query = Url::parse(&redirected).ok();
                        let query = query.as_ref().and_then(Url::query).unwrap_or_default();
                        let callback = Callback::read(query);
                        if let Err(problem) = login.take_answer(&flow, &callback).await {
                            // An answer that cannot be used ends the wait of whoever needs it.
                            flow.end(Err(problem));
                        }
                    }
                    Some(None) => {}
                    None => return flow.leave_unattended(),
                }
            }
        });
    }
}
