//! Owns the login of one connection: the token that its requests carry, and how to get another one.
//! Invariant: in all processes together one refresh runs at a time, and whoever waited for it uses its result; a call that
//! is given up does not interrupt it; a token goes only to the server that it was issued for.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::header::HeaderValue;
use url::Url;

use self::refresh::FailedRefresh;
use super::challenge::Challenge;
use super::discovery::over_http;
use super::dpop::DpopKey;
use super::flow::Flow;
use super::problem::Problem;
use super::random::hash;
use super::record::Record;
use super::store::LoginFile;
use crate::caller::{ConnectionHeaders, HeadersInUse};
use crate::config::AuthConfig;
use crate::host_env::HostEnv;
use crate::login_store::LoginStore;
use crate::redact::Secret;
use crate::resolve::{PemFile, Target, TlsFiles};
use crate::subscribers::Subscribers;
use crate::sync::lock;
use crate::time::now_ms;

mod answer;
mod forget;
mod grants;
mod keep;
mod refresh;
mod request;
mod sign_in;
mod stored;
mod verbs;

pub(crate) use request::{Refusal, Settled};

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
    /// When to try that again; `NEVER` if all is stored.
    store_again_ms: AtomicU64,
    /// Whether there was a token in the file or store.
    was_stored: AtomicBool,
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
