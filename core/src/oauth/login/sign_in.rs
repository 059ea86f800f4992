//! Signs a person in: discovers where, gets a client, opens a flow, and exchanges what comes back for a token.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use url::Url;

use super::{Login, TOKENS, Token, Unsettled};
use crate::auth_prompt::AuthPrompt;
use crate::config::{AuthConfig, Dpop, Grant};
use crate::http_client::Endpoints;
use crate::oauth::challenge::Challenge;
use crate::oauth::client::Wishes;
use crate::oauth::discovery::{Discovered, discover};
use crate::oauth::dpop::DpopKey;
use crate::oauth::flow::{Flow, PATIENCE, Request, Way, authorization};
use crate::oauth::http::OAuthHttp;
use crate::oauth::listener::Listener;
use crate::oauth::problem::Problem;
use crate::oauth::record::Record;
use crate::resolve::{AllowedAddresses, address_class};
use crate::sync::lock;

const OFFLINE: &str = "offline_access";
/// How many scopes are asked for at most, and how long one may be.
const SCOPES: usize = 200;
const SCOPE_BYTES: usize = 256;

/// Whether a person is asked to sign in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// If a manager that holds the connection wants that.
    IfWanted,
    Always,
}

impl Login {
    /// Gets a token without the refused one: by the settings' grant, or by asking a person.
    pub(super) async fn sign_in(
        self: &Arc<Self>,
        challenge: &Challenge,
        sent: Option<&Arc<Token>>,
        more_scopes: &[String],
        begin: Begin,
    ) -> Result<(), Unsettled> {
        let _busy = self.busy.lock().await;
        if self.has_other_than(sent) {
            return Ok(());
        }
        if let Some(flow) = self.open_flow() {
            let asks = |scope| flow.request.scopes.contains(scope);
            if more_scopes.iter().all(asks) {
                return Err(Unsettled::SignIn(flow));
            }
        }
        let http = self.http().await?;
        let found = discover(&http, &self.url, challenge, &self.settings).await?;
        self.check_issuer(&found).await?;
        let scopes = self.scopes(&found, challenge, more_scopes);
        let dpop = match self.settings.dpop {
            Dpop::Always => true,
            Dpop::Auto => challenge.wants_dpop,
            Dpop::Never => false,
        };
        let dpop = if dpop { Some(Arc::new(DpopKey::generate()?)) } else { None };
        let grant = match self.by_device.load(Ordering::Relaxed) {
            true => Grant::DeviceCode,
            false => self.settings.grant,
        };
        let asks_person = matches!(grant, Grant::AuthorizationCode | Grant::DeviceCode);
        if asks_person && begin == Begin::IfWanted && !self.subscribers.begin_auth() {
            return Err(Problem::sign_in(&self.server, more_scopes).into());
        }
        let flow = match grant {
            Grant::AuthorizationCode => self.begin(&http, found, scopes, dpop).await?,
            Grant::DeviceCode => self.begin_device(&http, found, scopes, dpop).await?,
            Grant::ClientCredentials | Grant::JwtBearer | Grant::Enterprise => {
                let request = self.grant_request(found, scopes, dpop)?;
                let issued = self.by_grant(&http, grant, &request).await?;
                self.keep(&request, &issued).await?;
                return Ok(());
            }
        };
        Err(Unsettled::SignIn(flow))
    }

    /// What the definition brings, such as a client's secret, goes only to the issuer that got it first.
    async fn check_issuer(&self, found: &Discovered) -> Result<(), Problem> {
        let AuthConfig { client_id, assertion, idp, issuer, .. } = &*self.settings;
        let brings = client_id.is_some() || assertion.is_some() || idp.is_some();
        if !brings || issuer.is_some() {
            return Ok(());
        }
        match self.read().await.issuer {
            Some(before) if before != found.issuer => {
                let text = format!("the server names another authorisation server than {before}");
                Err(Problem::refused(text).quoting(&found.issuer).with_hint(
                    "if that is right, sign in anew with \"mcpool reauth\", or set \"auth.issuer\"",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Asks for the scopes that a refused call needs, besides those that the token has.
    pub(super) async fn step_up(
        self: &Arc<Self>,
        challenge: &Challenge,
        sent: Option<Arc<Token>>,
        tokens_before: u32,
    ) -> Result<(), Unsettled> {
        let busy = self.busy.lock().await;
        if self.has_other_than(sent.as_ref()) {
            return Ok(());
        }
        let record = self.read().await;
        let needed = &challenge.scopes;
        if needed.is_empty() || needed.iter().all(|scope| record.scopes.contains(scope)) {
            let scopes = needed.join(" ");
            let text = "the server wants more scopes, although the token has all that it names";
            return Err(Problem::refused(text).quoting(&scopes).into());
        }
        let was_asked = |scope| lock(&self.asked_scopes).contains(scope);
        if tokens_before >= TOKENS || needed.iter().all(was_asked) {
            let text = "the server wants more scopes again and again";
            return Err(Problem::refused(text).quoting(&needed.join(" ")).into());
        }
        let mut union = record.scopes;
        union.extend(needed.iter().cloned());
        drop(busy);
        self.sign_in(challenge, sent.as_ref(), &union, Begin::IfWanted).await
    }

    /// What is asked for: what the server names, what the settings add, and what a token has already.
    fn scopes(&self, found: &Discovered, challenge: &Challenge, more: &[String]) -> Vec<String> {
        let named = match challenge.scopes.as_slice() {
            [] => &found.resource_scopes,
            of_challenge => of_challenge,
        };
        let supported = &found.metadata.scopes_supported;
        let offline = supported.iter().filter(|scope| *scope == OFFLINE);
        let mut scopes: Vec<String> = Vec::new();
        for scope in more.iter().chain(named).chain(&self.settings.scopes).chain(offline) {
            if !scopes.contains(scope) && scopes.len() < SCOPES && is_usable(scope) {
                scopes.push(scope.clone());
            }
        }
        scopes
    }

    /// Opens a flow whose answer comes with a browser.
    async fn begin(
        self: &Arc<Self>,
        http: &OAuthHttp,
        found: Discovered,
        scopes: Vec<String>,
        dpop: Option<Arc<DpopKey>>,
    ) -> Result<Arc<Flow>, Problem> {
        if !found.metadata.is_guessed && !self.settings.allow_missing_pkce {
            found.metadata.check_pkce()?;
        }
        let endpoint = &found.metadata.authorization_endpoint;
        let endpoint = found.endpoint("authorization_endpoint", endpoint)?;
        let endpoint = http.endpoint("authorization_endpoint", endpoint)?;
        let record = self.read().await;
        let listener = self.listen(&record).await?;
        let redirect_uri = listener.redirect_uri();
        let wishes = Wishes {
            redirect_uri: Some(&redirect_uri),
            grants: &["authorization_code", "refresh_token"],
            scopes: &scopes,
        };
        let client = self.client(http, &found, record, wishes).await?;
        let request = Request { found, client, scopes, dpop };
        let (url, way) = authorization(&endpoint, &request, &self.settings, &redirect_uri)?;
        let flow = self.open(url.into(), None, request, way);
        self.serve(&flow, listener);
        Ok(flow)
    }

    pub(super) fn open(
        &self,
        url: String,
        user_code: Option<String>,
        request: Request,
        way: Way,
    ) -> Arc<Flow> {
        let prompt = AuthPrompt {
            server: self.server.to_string(),
            identity: self.identity.as_deref().map(str::to_owned),
            url,
            user_code,
            scopes: request.scopes.clone(),
            expires_in_ms: PATIENCE.as_millis() as u64,
        };
        let flow = Arc::new(Flow::new(prompt, request, way));
        let before = lock(&self.flow).replace(flow.clone());
        if let Some(before) = before {
            before.end(Err(Problem::refused("another sign-in has begun")));
        }
        flow
    }

    /// The callback address: the one of the settings, of the registration, or a new one.
    async fn listen(&self, record: &Record) -> Result<Listener, Problem> {
        let host = self.settings.callback_host.name();
        let taken = |error: std::io::Error| {
            let text = format!("no callback can be received on {host}: {error}");
            Problem::refused(text).with_hint("set \"auth.callbackPort\" to a free port")
        };
        if let Some(port) = self.settings.callback_port {
            return Listener::bind(host, Some(port)).await.map_err(taken);
        }
        let registered = record.client.as_ref().and_then(|client| client.redirect_uri.as_deref());
        let port = registered.and_then(|uri| Url::parse(uri).ok()).and_then(|uri| uri.port());
        if let Some(port) = port
            && let Ok(listener) = Listener::bind(host, Some(port)).await
        {
            return Ok(listener);
        }
        Listener::bind(host, None).await.map_err(taken)
    }

    /// What the requests of a sign-in have in common. Private addresses are allowed if the server has one itself.
    pub(super) async fn endpoints(&self) -> Endpoints {
        let is_private = |address: IpAddr| address_class::not_public(address).is_some();
        let peer = *lock(&self.peer);
        let is_private = match (self.url.host(), peer) {
            _ if self.settings.allow_private_addresses => true,
            (Some(host), _) if address_class::not_public_host(host.clone()).is_some() => true,
            // Not what the name means now: its owner may change that between two requests.
            (_, Some(peer)) => is_private(peer),
            (Some(url::Host::Domain(name)), None) => {
                let found = tokio::net::lookup_host((name, 0)).await;
                // All of them: a server on the internet may name a private address too.
                found.is_ok_and(|addresses| {
                    let addresses: Vec<_> = addresses.map(|address| address.ip()).collect();
                    !addresses.is_empty() && addresses.into_iter().all(is_private)
                })
            }
            _ => false,
        };
        Endpoints {
            server: self.server.clone(),
            url: self.url.clone(),
            tls: self.tls.clone(),
            addresses: match is_private {
                true => AllowedAddresses::Any,
                false => AllowedAddresses::PublicOnly,
            },
        }
    }
}

/// Whether a scope consists of the characters that a scope may have.
fn is_usable(scope: &str) -> bool {
    scope.len() <= SCOPE_BYTES
        && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::super::{LoginOwner, Place};
    use super::*;
    use crate::host_env::HostEnv;

    fn login(url: &str, allow_private_addresses: bool) -> Arc<Login> {
        let settings = AuthConfig { allow_private_addresses, ..AuthConfig::default() };
        let url = Url::parse(url).unwrap();
        let (server, shown) = (Arc::from("s"), url.to_string());
        let owner = LoginOwner {
            identity: None,
            host_env: HostEnv::process(),
            headers: Arc::default(),
            subscribers: Arc::default(),
            store: None,
            on_signed_in: Box::new(|| {}),
        };
        Login::at(
            Place { server, url, shown, server_hash: None, tls: None },
            settings.into(),
            owner,
        )
    }

    #[tokio::test]
    async fn private_addresses_are_allowed_by_the_address_that_answered() {
        let (public, private) = ("93.184.215.14", "10.0.0.7");
        for (url, peer, by_settings, allows_private) in [
            ("https://mcp.example/", Some(public), false, false),
            ("https://mcp.example/", Some(private), false, true),
            ("https://mcp.example/", Some(public), true, true),
            // Its owner now says that it is here.
            ("https://localhost.example/", Some(public), false, false),
            ("https://93.184.215.14/", None, false, false),
            ("http://127.0.0.1/", None, false, true),
            ("http://localhost/", None, false, true),
        ] {
            let login = login(url, by_settings);
            *lock(&login.peer) = peer.map(|peer| peer.parse().unwrap());
            let allowed = login.endpoints().await.addresses;
            let expected = match allows_private {
                true => AllowedAddresses::Any,
                false => AllowedAddresses::PublicOnly,
            };
            assert_eq!(allowed, expected, "{url} {peer:?} {by_settings}");
        }
    }
}
