//! What a request needs of a login: its token, and what a refusal leads to.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::header::{AUTHORIZATION, HeaderMap};
use http::{Method, StatusCode};
use url::Url;

use super::{Login, Token, Unsettled};
use crate::error::{Error, Result};
use crate::oauth::challenge::Challenge;
use crate::oauth::dpop::{DPOP, Role};
use crate::oauth::flow::Flow;
use crate::oauth::problem::Problem;
use crate::runtime;
use crate::sync::lock;
use crate::time::now_ms;

/// A token is refreshed this long before it expires, or in the last fifth of its life.
const AHEAD_MS: u64 = 60_000;
/// How many answers to one refused request lead to another try.
const TRIES: u32 = 5;

/// A refused request.
pub(crate) struct Refusal<'a> {
    pub(crate) status: StatusCode,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) url: &'a Url,
    /// The address that refused; `None` behind a proxy.
    pub(crate) peer: Option<IpAddr>,
    /// The token that it carried.
    pub(crate) sent: Option<Arc<Token>>,
    /// What became of earlier refusals of the same request.
    pub(crate) before: Settled,
}

/// How often a request was sent again.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settled {
    /// Altogether.
    times: u32,
    /// With another token.
    with_another_token: u32,
}

impl Login {
    /// Adds the token to a request; returns the token.
    pub(crate) async fn authorize(
        &self,
        headers: &mut HeaderMap,
        method: &Method,
        url: &Url,
    ) -> Result<Option<Arc<Token>>> {
        if !self.is_loaded.load(Ordering::Acquire) {
            Box::pin(self.load()).await;
        }
        self.store_kept_later();
        // The endpoint of the older transport may be another address, but not another origin. Most are the same text,
        // which is cheaper to tell.
        let is_ours = *url == self.url || url.origin() == self.url.origin();
        let Some(mut token) = self.current.load_full().filter(|_| is_ours) else {
            headers.remove(AUTHORIZATION);
            headers.remove(DPOP);
            return Ok(None);
        };
        if self.is_due(&token) {
            token = Box::pin(self.refresh_ahead(token)).await;
        }
        headers.insert(AUTHORIZATION, token.value.clone());
        match &token.dpop {
            Some(key) => {
                let proof = key.proof(method, url, Some(token.access.expose()));
                headers.insert(DPOP, proof.map_err(|problem| self.error(problem))?);
            }
            None => drop(headers.remove(DPOP)),
        }
        Ok(Some(token))
    }

    pub(super) fn is_due(&self, token: &Token) -> bool {
        let Some(expires_at) = token.expires_at_ms.filter(|_| token.can_refresh) else {
            return false;
        };
        let ahead = token.lifetime_ms.map_or(AHEAD_MS, |life| AHEAD_MS.min(life / 5));
        let now = now_ms();
        now >= expires_at.saturating_sub(ahead)
            && now >= self.next_refresh_ms.load(Ordering::Relaxed)
    }

    /// Keeps the nonce of an answer.
    pub(crate) fn note_answer(&self, token: &Token, url: &Url, headers: &HeaderMap) {
        if let Some(key) = &token.dpop {
            key.note_nonce(Role::Resource, url, headers);
        }
    }

    /// Decides about a refused request: `Ok` if it should be sent again.
    pub(crate) async fn refused(&self, refusal: Refusal<'_>) -> Result<Settled> {
        let challenge = Challenge::from_headers(refusal.headers);
        let Refusal { status, url, peer, sent, before, headers } = refusal;
        *lock(&self.peer) = peer;
        let mut settled = Settled { times: before.times + 1, ..before };
        if before.times >= TRIES {
            let text = "the server refuses every token";
            return Err(self.refusal_error(Problem::refused(text), status));
        }
        if let Some(key) = sent.as_ref().and_then(|token| token.dpop.as_ref()) {
            let has_nonce = key.note_nonce(Role::Resource, url, headers);
            if challenge.wants_nonce() && has_nonce {
                return Ok(settled);
            }
        }
        *lock(&self.challenge) = challenge.clone();
        let Some(me) = self.me.upgrade() else { return Err(Error::closed()) };
        let _waiting = Waiting::new(&self.waiting);
        // A task of its own: a call that is given up must not interrupt a refresh.
        let work = runtime::spawn(async move {
            match status {
                StatusCode::FORBIDDEN => {
                    me.step_up(&challenge, sent, before.with_another_token).await
                }
                _ => me.replace(&challenge, sent, before.with_another_token).await,
            }
        });
        settled.with_another_token += 1;
        match work.await {
            Ok(Ok(())) => Ok(settled),
            Ok(Err(Unsettled::Problem(problem))) => Err(self.refusal_error(problem, status)),
            Ok(Err(Unsettled::SignIn(flow))) => {
                self.wait_for(&flow, status).await.map(|()| settled)
            }
            Err(_) => Err(Error::closed()),
        }
    }

    /// Waits for a sign-in, if somebody is there who answers.
    async fn wait_for(&self, flow: &Arc<Flow>, status: StatusCode) -> Result<()> {
        self.ask(flow);
        match flow.answered().await {
            Some(Ok(())) => Ok(()),
            Some(Err(problem)) => Err(self.refusal_error(problem, status)),
            None => {
                // Whoever gets the error tells of it.
                flow.announce();
                Err(self.sign_in_error(flow, status))
            }
        }
    }
}

/// A request that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
