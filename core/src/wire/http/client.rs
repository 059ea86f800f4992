//! Owns who dials: a client for each link, whose sockets end with it. That of a project that is not trusted dials public
//! addresses only.
//! Invariant: of such a project, no byte leaves for an address that is not public. What counts is the address that is
//! dialled: names are judged by what they resolve to, each time, and no proxy dials where we cannot look.

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder, redirect};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::BuilderVerifierExt;
use url::Url;

use crate::config::Scope;
use crate::error::{Error, ErrorKind, Result};
use crate::per_process::PerProcess;
use crate::sync::lock;
use crate::wire::address::{self, Class};

const REDIRECTS: usize = 3;
/// Without a word about it, a server may encode its answers as it likes.
const NOT_ENCODED: HeaderValue = HeaderValue::from_static("identity");
/// How many sockets a link keeps for its next calls, and for how long. With fewer than calls may use, as many as are
/// under way at a time would be opened anew again and again.
const IDLE_SOCKETS: usize = super::sockets::CALLS;
const IDLE: Duration = Duration::from_secs(30);
/// A link has one host; there may be a proxy too.
const TLS_SESSIONS: usize = 8;

/// Where a server may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    Any,
    PublicOnly,
}

impl Addresses {
    /// Those that a definition of this scope may reach.
    pub(crate) fn open_to(scope: &Scope) -> Self {
        if scope.is_restricted() { Addresses::PublicOnly } else { Addresses::Any }
    }

    /// Whether the URL may be dialled, as far as it shows: what is no name is never looked up.
    pub(crate) fn check(self, url: &Url) -> Result<(), Refused> {
        let class = match self {
            Addresses::Any => None,
            Addresses::PublicOnly => url.host().and_then(address::not_public_host),
        };
        match class {
            Some(class) => {
                let host = url.host_str().unwrap_or_default().to_owned();
                Err(Refused { host, class })
            }
            None => Ok(()),
        }
    }

    /// Which of the addresses of a host may be dialled.
    pub(crate) fn among(
        self,
        host: &str,
        all: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Refused> {
        if self == Addresses::Any {
            return Ok(all);
        }
        let class = |address: &SocketAddr| address::not_public(address.ip());
        let first = all.first().and_then(class);
        let public: Vec<_> = all.into_iter().filter(|it| class(it).is_none()).collect();
        match first {
            Some(class) if public.is_empty() => Err(Refused { host: host.to_owned(), class }),
            _ => Ok(public),
        }
    }
}

/// A host that is not dialled.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused {
    host: String,
    class: Class,
}

impl Refused {
    /// Why a request failed, if this is why.
    pub(super) fn cause_of(error: &reqwest::Error) -> Option<&Refused> {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref() {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }

    pub(crate) fn told(&self, server: &str) -> Error {
        Error::new(ErrorKind::Untrusted, format!("Refused to dial \"{server}\" at {self}"))
            .with_server(server)
            .with_hint("if you trust the file that declares it: mcpool trust FILE")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of a project that is not trusted", self.host, self.class)
    }
}

impl StdError for Refused {}

/// Of another resolver's addresses, the public ones.
struct Public<R>(R);

impl<R: Resolve> Resolve for Public<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let resolving = self.0.resolve(name);
        Box::pin(async move {
            let public = Addresses::PublicOnly.among(&host, resolving.await?.collect())?;
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// The system's resolver.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

type Built = std::result::Result<Client, String>;

/// A client without its type: else everybody who sends a manager to another thread has the compiler look through all
/// of the HTTP library, which is deeper than its limit.
pub(super) trait Dial: Send + Sync {
    fn request(&self, method: Method, url: Url) -> RequestBuilder;
}

impl Dial for Client {
    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        Client::request(self, method, url)
    }
}

/// A client for one link.
pub(super) fn client(addresses: Addresses) -> Result<Box<dyn Dial>> {
    let client = match addresses {
        Addresses::Any => built(any()),
        Addresses::PublicOnly => built(public_only(System)),
    };
    match client {
        Ok(client) => Ok(Box::new(client)),
        Err(error) => {
            let text = format!("HTTP cannot be used here: {error}");
            Err(Error::new(ErrorKind::ConnectFailed, text))
        }
    }
}

fn any() -> ClientBuilder {
    builder(Addresses::Any)
}

fn public_only(resolver: impl Resolve + 'static) -> ClientBuilder {
    builder(Addresses::PublicOnly).no_proxy().dns_resolver(Public(resolver))
}

fn builder(addresses: Addresses) -> ClientBuilder {
    Client::builder()
        .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, NOT_ENCODED)]))
        .user_agent(concat!("mcpool/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::custom(move |attempt| {
            if let Err(refused) = addresses.check(attempt.url()) {
                return attempt.error(refused);
            }
            let same_origin =
                attempt.previous().last().map(Url::origin) == Some(attempt.url().origin());
            let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
            if same_origin && keeps_method && attempt.previous().len() <= REDIRECTS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        }))
        .tcp_nodelay(true)
        .pool_max_idle_per_host(IDLE_SOCKETS)
        .pool_idle_timeout(IDLE)
}

fn built(builder: ClientBuilder) -> Built {
    let tls = tls().map_err(|error| error.to_string())?;
    builder.tls_backend_preconfigured(tls).build().map_err(|error| error.to_string())
}

/// What all clients share: reading the system's certificates costs more than all else of a client.
fn tls() -> std::result::Result<ClientConfig, rustls::Error> {
    static SHARED: PerProcess<Mutex<Option<ClientConfig>>> = PerProcess::new(Mutex::default);
    let mut shared = lock(SHARED.get());
    let mut tls = match &*shared {
        Some(tls) => tls.clone(),
        // A failure is not kept: the certificates may be readable the next time.
        None => shared.insert(system_tls()?).clone(),
    };
    // By its sessions a server could tell that two links are of one process.
    tls.resumption = Resumption::in_memory_sessions(TLS_SESSIONS);
    Ok(tls)
}

fn system_tls() -> std::result::Result<ClientConfig, rustls::Error> {
    // Another library of the process may have chosen a provider already; either will do.
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
