//! Owns who we are at an authorisation server: a client that is registered already, a metadata document, or a
//! registration of our own.
//! Invariant: a registration belongs to one issuer and one callback address; no id is invented.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::discovery::Discovered;
use super::http::{Answer, OAuthHttp};
use super::metadata::Members;
use super::problem::Problem;
use crate::config::AuthConfig;
use crate::redact::Secret;
use crate::time::now_ms;

/// The callback address of clients that have none.
const UNUSED_REDIRECT: &str = "http://127.0.0.1/callback";
/// How many times a registration is tried.
const TRIES: usize = 3;

/// A client of an authorisation server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::record::secret")]
    pub(super) secret: Option<Secret>,
    pub(super) method: AuthMethod,
    /// The callback address that it was registered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect_uri: Option<String>,
    /// Whether we registered it ourselves, and may do so again.
    #[serde(default)]
    pub(super) is_registered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_expires_at_ms: Option<u64>,
}

/// How a client shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

impl AuthMethod {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(AuthMethod::None),
            "client_secret_basic" => Some(AuthMethod::ClientSecretBasic),
            "client_secret_post" => Some(AuthMethod::ClientSecretPost),
            "private_key_jwt" => Some(AuthMethod::PrivateKeyJwt),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            AuthMethod::None => "none",
            AuthMethod::ClientSecretBasic => "client_secret_basic",
            AuthMethod::ClientSecretPost => "client_secret_post",
            AuthMethod::PrivateKeyJwt => "private_key_jwt",
        }
    }
}

impl Client {
    /// The client that the settings name.
    pub(super) fn configured(settings: &AuthConfig, found: &Discovered) -> Option<Client> {
        let id = settings.client_id.clone()?;
        let secret = settings.client_secret.clone();
        let method = match (&settings.private_key, &secret) {
            (Some(_), _) => AuthMethod::PrivateKeyJwt,
            (None, Some(_)) => method_with_secret(found),
            (None, None) => AuthMethod::None,
        };
        Some(Client { secret, method, ..Client::public(id) })
    }

    /// The client that a metadata document describes, where the server reads such documents.
    pub(super) fn by_document(settings: &AuthConfig, found: &Discovered) -> Option<Client> {
        let address = settings.client_metadata_url.clone()?;
        found.metadata.takes_client_metadata.then(|| Client::public(address))
    }

    fn public(id: String) -> Client {
        Client {
            id,
            secret: None,
            method: AuthMethod::None,
            redirect_uri: None,
            is_registered: false,
            secret_expires_at_ms: None,
        }
    }

    /// Who asks is said by something else.
    pub(super) fn unnamed() -> Client {
        Client::public(String::new())
    }

    /// Our client at an identity provider.
    pub(super) fn of_provider(id: Option<String>, secret: Option<Secret>) -> Client {
        let method = match secret {
            Some(_) => AuthMethod::ClientSecretPost,
            None => AuthMethod::None,
        };
        Client { secret, method, ..Client::public(id.unwrap_or_default()) }
    }

    /// Whether it was registered by us and can be used for a callback to this address, or for none.
    pub(super) fn is_valid_for(&self, redirect_uri: Option<&str>) -> bool {
        let has_expired = self.secret_expires_at_ms.is_some_and(|at| at <= now_ms());
        self.is_registered && !has_expired && self.redirect_uri.as_deref() == redirect_uri
    }
}

/// The method for a client that has a secret: what the server says, and otherwise the usual one.
fn method_with_secret(found: &Discovered) -> AuthMethod {
    let Some(methods) = &found.metadata.auth_methods else { return AuthMethod::ClientSecretBasic };
    let has = |method: AuthMethod| methods.iter().any(|name| name == method.name());
    let known = [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost, AuthMethod::None];
    known.into_iter().find(|method| has(*method)).unwrap_or(AuthMethod::ClientSecretBasic)
}

/// The method that a registration asks for.
fn wanted_method(found: &Discovered) -> AuthMethod {
    let Some(methods) = &found.metadata.auth_methods else { return AuthMethod::None };
    let has = |method: AuthMethod| methods.iter().any(|name| name == method.name());
    let known = [AuthMethod::None, AuthMethod::ClientSecretPost, AuthMethod::ClientSecretBasic];
    known.into_iter().find(|method| has(*method)).unwrap_or(AuthMethod::None)
}

/// What a registration says besides the usual.
pub(super) struct Wishes<'a> {
    pub(super) redirect_uri: Option<&'a str>,
    pub(super) grants: &'a [&'a str],
    pub(super) scopes: &'a [String],
}

/// Registers a client.
pub(super) async fn register(
    http: &OAuthHttp,
    found: &Discovered,
    wishes: Wishes<'_>,
) -> Result<Client, Problem> {
    let Some(endpoint) = &found.metadata.registration_endpoint else {
        let text = format!("{} registers no clients", found.issuer);
        return Err(Problem::missing(text)
            .quoting(&found.issuer)
            .with_hint("register a client there, and set \"auth.clientId\""));
    };
    let url = http.endpoint("registration_endpoint", endpoint)?;
    let asked = wanted_method(found);
    let mut body = json!({
        "client_name": "mcpool",
        "grant_types": wishes.grants,
        "token_endpoint_auth_method": asked.name(),
        "application_type": "native",
    });
    // Without this member the type is "code", for which a callback is required (RFC 7591).
    body["response_types"] = json!([]);
    if let Some(redirect_uri) = wishes.redirect_uri {
        body["redirect_uris"] = json!([redirect_uri]);
        body["response_types"] = json!(["code"]);
    }
    let scope = wishes.scopes.join(" ");
    if !scope.is_empty() {
        body["scope"] = scope.as_str().into();
    }
    let mut answer = http.post_json(&url, &body).await?;
    for attempt in 1..TRIES {
        if answer.status != StatusCode::BAD_REQUEST {
            break;
        }
        // Some servers refuse a scope, some its absence, some members that RFC 7591 does not have.
        match (attempt, &mut body) {
            (1, Value::Object(members)) => match members.remove("scope") {
                Some(_) => {}
                None => match all_scopes(found) {
                    scope if scope.is_empty() => continue,
                    scope => drop(members.insert("scope".to_owned(), scope.into())),
                },
            },
            (_, Value::Object(members)) => {
                members.remove("application_type");
                // Some servers want an address although no browser returns to it.
                if wishes.redirect_uri.is_none() {
                    members.insert("redirect_uris".to_owned(), json!([UNUSED_REDIRECT]));
                    members.remove("response_types");
                }
            }
            _ => break,
        }
        answer = http.post_json(&url, &body).await?;
    }
    registered(&answer, found, wishes.redirect_uri, asked)
}

fn all_scopes(found: &Discovered) -> String {
    let scopes = match found.resource_scopes.as_slice() {
        [] => &found.metadata.scopes_supported,
        _ => &found.resource_scopes,
    };
    scopes.join(" ")
}

fn registered(
    answer: &Answer,
    found: &Discovered,
    redirect_uri: Option<&str>,
    asked: AuthMethod,
) -> Result<Client, Problem> {
    let issuer = &found.issuer;
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let members = Members::of(&said);
    if let (true, Some(id)) = (answer.status.is_success(), members.text("client_id")) {
        let secret = members.text("client_secret").map(Secret::new);
        let named = members.text("token_endpoint_auth_method");
        let method = match (named.as_deref().and_then(AuthMethod::from_name), &secret) {
            (Some(method), _) => method,
            // Asked for none, and got a secret without a word: what the server supports decides.
            (None, Some(_)) if asked == AuthMethod::None => method_with_secret(found),
            (None, Some(_)) => asked,
            (None, None) => AuthMethod::None,
        };
        let expires = members.seconds("client_secret_expires_at").filter(|&at| at > 0);
        return Ok(Client {
            secret,
            method,
            redirect_uri: redirect_uri.map(str::to_owned),
            is_registered: true,
            secret_expires_at_ms: expires.map(|at| at.saturating_mul(1000)),
            ..Client::public(id)
        });
    }
    if found.metadata.is_guessed {
        return Err(Problem::undiscovered()
            .with_hint("put a token into \"headers\", or set \"auth.clientId\""));
    }
    let what = format!("{issuer} does not register this client");
    let problem = match members.text("error") {
        Some(code) => Problem::by_code(&what, &code, members.text("error_description").as_deref()),
        None => Problem::refused(format!("{what} (it answered {})", answer.status)).quoting(issuer),
    };
    Err(match members.text("error").as_deref() {
        Some("invalid_redirect_uri") => problem.with_hint(
            "it does not accept a callback to this machine: set \"auth.callbackHost\" to the other spelling of it, \
             or register a client there and set \"auth.clientId\"",
        ),
        _ => problem.with_hint("register a client there, and set \"auth.clientId\""),
    })
}
