//! Owns the login of one connection: the token that its requests carry, and how to get another one.
//! Invariant: in all processes together one refresh runs at a time, and whoever waited for it uses its result; a call that
//! is given up does not interrupt it; a token goes only to the server that it was issued for.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use url::Url;

use self::refresh::FailedRefresh;
use super::challenge::Challenge;
use super::discovery::over_http;
use super::dpop::{DPOP, DpopKey, Role};
use super::flow::Flow;
use super::problem::Problem;
use super::random::hash;
use super::record::Record;
use super::store::LoginFile;
use crate::caller::{ConnectionHeaders, HeadersInUse};
use crate::config::AuthConfig;
use crate::error::{Error, Result};
use crate::host_env::HostEnv;
use crate::login_store::LoginStore;
use crate::redact::Secret;
use crate::resolve::{PemFile, Target, TlsFiles};
use crate::runtime;
use crate::subscribers::Subscribers;
use crate::sync::lock;
use crate::time::now_ms;

mod answer;
mod forget;
mod grants;
mod keep;
mod refresh;
mod sign_in;
mod stored;
mod verbs;

/// A token is refreshed this long before it expires, or in the last fifth of its life.
const AHEAD_MS: u64 = 60_000;
/// Refreshes ahead of time are at least this far apart.
const SPACING_MS: u64 = 10_000;
/// How long after a failure it is tried again to store a login.
const STORE_AGAIN_MS: u64 = 10_000;
const NEVER: u64 = u64::MAX;
/// How many scopes calls may ask for.
const ASKED_SCOPES: usize = 200;
/// How long the authorisation server may take to forget a token.
const REVOCATION: Duration = Duration::from_secs(5);
/// How many tokens one request is sent with at most, besides the first.
const TOKENS: u32 = 2;
/// How many answers to one refused request lead to another try.
const TRIES: u32 = 5;

pub(crate) struct Login {
    server: Arc<str>,
    identity: Option<Arc<str>>,
    /// The server's address.
    url: Url,
    shown: String,
    /// The hash of the address; `None` for a program, which is given the login of another server.
    server_hash: Option<String>,
    settings: Arc<AuthConfig>,
    tls: Option<TlsFiles>,
    /// The name of the login in a store.
    key: String,
    file: Option<LoginFile>,
    /// Where it is kept in place of the file.
    store: Option<LoginStore>,
    /// The record that could not be stored.
    kept: Mutex<Option<Record>>,
    /// Whether there was a token in the file or store.
    was_stored: AtomicBool,
    /// When to try that again; `NEVER` if all is stored.
    store_again_ms: AtomicU64,
    current: ArcSwapOption<Token>,
    is_loaded: AtomicBool,
    /// Held by whoever changes the login.
    busy: tokio::sync::Mutex<()>,
    flow: Mutex<Option<Arc<Flow>>>,
    /// The scopes that calls have asked for in vain, or that were granted since.
    asked_scopes: Mutex<BTreeSet<String>>,
    /// No refresh ahead of time before this.
    next_refresh_ms: AtomicU64,
    failed_refresh: Mutex<Option<Arc<FailedRefresh>>>,
    /// How many requests wait for a person.
    waiting: AtomicUsize,
    by_device: AtomicBool,
    /// What the server said last, and at which address.
    challenge: Mutex<Challenge>,
    peer: Mutex<Option<IpAddr>>,
    headers: Arc<ConnectionHeaders>,
    subscribers: Arc<Subscribers>,
    on_signed_in: Box<dyn Fn() + Send + Sync>,
    me: Weak<Login>,
}

/// Who signs in, and who is told.
pub(crate) struct LoginOwner {
    pub(crate) identity: Option<Arc<str>>,
    pub(crate) host_env: HostEnv,
    pub(crate) headers: Arc<ConnectionHeaders>,
    pub(crate) subscribers: Arc<Subscribers>,
    /// Where logins are kept, if not in files.
    pub(crate) store: Option<LoginStore>,
    pub(crate) on_signed_in: Box<dyn Fn() + Send + Sync>,
}

/// Where a login is for.
struct Place {
    server: Arc<str>,
    url: Url,
    shown: String,
    server_hash: Option<String>,
    tls: Option<PemFile>,
}

/// A token in use.
pub(crate) struct Token {
    access: Secret,
    value: HeaderValue,
    expires_at_ms: Option<u64>,
    lifetime_ms: Option<u64>,
    can_refresh: bool,
    dpop: Option<Arc<DpopKey>>,
    _hidden: Option<HeadersInUse>,
}

impl Token {
    fn has_expired(&self) -> bool {
        self.expires_at_ms.is_some_and(|at| at <= now_ms())
    }
}

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
    pub(crate) fn new(target: &Target, settings: Arc<AuthConfig>, owner: LoginOwner) -> Arc<Self> {
        let url = over_http(target.url.clone());
        let place = Place {
            server: target.server.clone(),
            shown: target.shown.clone(),
            server_hash: Some(hash(url.as_str())),
            url,
            // A certificate of ours is for the server alone.
            tls: target.tls.as_ref().and_then(|tls| tls.ca.clone()),
        };
        Login::at(place, settings, owner)
    }

    /// The login that a program is given, by the name in the settings. It belongs to any server.
    pub(crate) fn of_program(
        server: &Arc<str>,
        settings: Arc<AuthConfig>,
        owner: LoginOwner,
    ) -> Option<Arc<Self>> {
        let place = Place {
            server: server.clone(),
            shown: String::new(),
            server_hash: None,
            // Nothing is sent there.
            url: Url::parse("https://localhost/").ok()?,
            tls: None,
        };
        Some(Login::at(place, settings, owner))
    }

    fn at(place: Place, settings: Arc<AuthConfig>, owner: LoginOwner) -> Arc<Self> {
        let Place { server, url, shown, server_hash, tls } = place;
        let LoginOwner { identity, host_env, headers, subscribers, store, on_signed_in } = owner;
        let credential_id = settings.credential_id.as_deref();
        let client_id = settings.client_id.as_deref();
        let key = key(server_hash.as_deref(), identity.as_deref(), credential_id, client_id);
        Arc::new_cyclic(|me| Login {
            server,
            identity,
            url,
            shown,
            server_hash,
            settings,
            tls: tls.map(|ca| TlsFiles { ca: Some(ca), client: None }),
            file: LoginFile::new(&host_env, &key),
            key,
            store,
            kept: Mutex::default(),
            was_stored: AtomicBool::new(false),
            store_again_ms: AtomicU64::new(NEVER),
            current: ArcSwapOption::empty(),
            is_loaded: AtomicBool::new(false),
            busy: tokio::sync::Mutex::new(()),
            flow: Mutex::default(),
            asked_scopes: Mutex::default(),
            next_refresh_ms: AtomicU64::new(0),
            failed_refresh: Mutex::default(),
            waiting: AtomicUsize::new(0),
            by_device: AtomicBool::new(false),
            challenge: Mutex::default(),
            peer: Mutex::default(),
            headers,
            subscribers,
            on_signed_in,
            me: me.clone(),
        })
    }

    /// Whether it is the login for this target and these settings.
    pub(crate) fn is_for(&self, target: &Target, settings: &AuthConfig) -> bool {
        self.url == over_http(target.url.clone()) && self.has_settings(settings)
    }

    /// Whether it is the login for these settings.
    pub(crate) fn has_settings(&self, settings: &AuthConfig) -> bool {
        *self.settings == *settings
    }

    /// Whether a request waits for a person.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

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

    fn is_due(&self, token: &Token) -> bool {
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

    /// Warns the holders of the connection.
    fn warn(&self, text: &str) {
        self.subscribers.warn_once(&self.server, text);
    }

    fn empty_record(&self) -> Record {
        Record::new(&self.shown, self.server_hash.as_deref().unwrap_or_default())
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        if let Some(flow) = lock(&self.flow).take() {
            flow.end(Err(Problem::refused("the sign-in was given up")));
        }
    }
}

/// Why a refused request cannot be sent again yet.
enum Unsettled {
    Problem(Problem),
    /// A person has to sign in.
    SignIn(Arc<Flow>),
}

impl From<Problem> for Unsettled {
    fn from(problem: Problem) -> Self {
        Unsettled::Problem(problem)
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

/// The name of a login in the store.
pub(super) fn key(
    server_hash: Option<&str>,
    identity: Option<&str>,
    credential_id: Option<&str>,
    client_id: Option<&str>,
) -> String {
    let of = match credential_id {
        Some(id) => format!("credential\n{id}"),
        None => format!("server\n{}", server_hash.unwrap_or_default()),
    };
    let identity = identity.map_or_else(String::new, |identity| format!("\nidentity\n{identity}"));
    // A login that another client got is not ours.
    let client = client_id.map_or_else(String::new, |client| format!("\nclient\n{client}"));
    hash(&format!("{of}{identity}{client}"))
}

/// How long a program's own store may take.
const STORE: Duration = Duration::from_secs(10);
