//! Asks a token endpoint for tokens.
//! Invariant: an answer is read by its type, bounded; no text of it that may be a token is shown.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::challenge::split_scopes;
use super::client::{AuthMethod, Client};
use super::dpop::{DPOP, DpopKey, Role};
use super::http::{Answer, OAuthHttp};
use super::jwt::SigningKey;
use super::metadata::Members;
use super::problem::Problem;
use super::random::random_text;
use crate::config::Dpop;
use crate::redact::{Mask, MaskBuilder, Secret};
use crate::time::now_ms;

/// The parameters that need not be hidden.
const PUBLIC: &[&str] = &[
    "grant_type",
    "client_id",
    "redirect_uri",
    "resource",
    "scope",
    "token_type_hint",
    "requested_token_type",
    "subject_token_type",
    "client_assertion_type",
];
/// How long an assertion of ours is valid.
const ASSERTION_SECONDS: u64 = 300;

/// A token as it was issued.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) access: Secret,
    pub(super) is_dpop: bool,
    pub(super) refresh: Option<Secret>,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) lifetime_ms: Option<u64>,
    /// `None` if the answer does not say.
    pub(super) scopes: Option<Vec<String>>,
}

/// One request to a token endpoint.
pub(super) struct TokenRequest<'a> {
    pub(super) endpoint: &'a str,
    pub(super) client: &'a Client,
    /// The audience of an assertion of ours.
    pub(super) issuer: &'a str,
    pub(super) key: Option<&'a SigningKey>,
    pub(super) dpop: Option<&'a DpopKey>,
    pub(super) form: Vec<(String, String)>,
}

impl TokenRequest<'_> {
    /// Sends it. A server that wants a nonce gets the request once more.
    pub(super) async fn send(self, http: &OAuthHttp) -> Result<Value, Problem> {
        let url = http.endpoint("token_endpoint", self.endpoint)?;
        let sent = self.post(http, &url).await?;
        let wants_nonce =
            self.dpop.is_some_and(|key| key.note_nonce(Role::Issuer, &url, &sent.answer.headers));
        match sent.read() {
            Err(problem) if wants_nonce && problem.is_code("use_dpop_nonce") => {
                self.post(http, &url).await?.read()
            }
            outcome => outcome,
        }
    }

    /// Sends it, for an answer without content.
    pub(super) async fn send_only(self, http: &OAuthHttp) -> Result<(), Problem> {
        let url = http.endpoint("revocation_endpoint", self.endpoint)?;
        let sent = self.post(http, &url).await?;
        match sent.answer.status.is_success() {
            true => Ok(()),
            false => sent.read().map(drop),
        }
    }

    async fn post(&self, http: &OAuthHttp, url: &Url) -> Result<Sent, Problem> {
        let mut form = self.form.clone();
        let mut headers = HeaderMap::new();
        self.authenticate(&mut form, &mut headers)?;
        if let Some(dpop) = self.dpop {
            headers.insert(DPOP, dpop.proof(&Method::POST, url, None)?);
        }
        let answer = http.post_form(url, headers.clone(), &form).await?;
        Ok(Sent { form, headers, answer })
    }

    fn authenticate(
        &self,
        form: &mut Vec<(String, String)>,
        headers: &mut HeaderMap,
    ) -> Result<(), Problem> {
        let Client { id, secret, method, .. } = self.client;
        let secret = secret.as_ref().map_or("", Secret::expose);
        let mut add = |name: &str, value: &str| form.push((name.to_owned(), value.to_owned()));
        match method {
            AuthMethod::None if id.is_empty() => {}
            AuthMethod::None => add("client_id", id),
            AuthMethod::ClientSecretPost => {
                add("client_id", id);
                add("client_secret", secret);
            }
            AuthMethod::ClientSecretBasic => {
                let encoded = |text: &str| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let login = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
                let odd = |_| Problem::refused("the client's secret cannot be sent");
                let mut value = HeaderValue::try_from(format!("Basic {login}")).map_err(odd)?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
            AuthMethod::PrivateKeyJwt => {
                let key = self.key.ok_or_else(|| {
                    Problem::missing("the client's private key is not known")
                        .with_hint("set \"auth.privateKey\"")
                })?;
                add("client_id", id);
                add(
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                );
                add("client_assertion", &assertion(key, id, self.issuer)?);
            }
        }
        Ok(())
    }
}

/// A request and its answer.
struct Sent {
    form: Vec<(String, String)>,
    headers: HeaderMap,
    answer: Answer,
}

impl Sent {
    /// The members of the answer. What it repeats of the request is hidden.
    fn read(&self) -> Result<Value, Problem> {
        let mask = || {
            let mut values = MaskBuilder::default();
            for (_, value) in self.form.iter().filter(|(name, _)| !PUBLIC.contains(&name.as_str()))
            {
                values.value(value);
            }
            for (name, value) in &self.headers {
                if let Ok(value) = value.to_str() {
                    values.header(name.as_str(), value);
                }
            }
            values.build()
        };
        read_answer(&self.answer, mask)
    }
}

fn assertion(key: &SigningKey, client: &str, audience: &str) -> Result<String, Problem> {
    let now = now_ms() / 1000;
    let claims = json!({
        "iss": client,
        "sub": client,
        "aud": audience,
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
        "jti": random_text().map_err(Problem::from_error)?,
    });
    key.sign(json!({"typ": "JWT"}), &claims)
}

/// Whether an answer with this status is about the moment, not about the request.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || status.is_redirection()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

/// Whether a server that answers so without a word may have done what it was asked for. A gateway answers for a server that it
/// has passed the request to.
fn is_in_doubt(status: StatusCode) -> bool {
    use StatusCode as Is;
    let of_gateway = [Is::INTERNAL_SERVER_ERROR, Is::BAD_GATEWAY, Is::GATEWAY_TIMEOUT];
    status.is_success() || of_gateway.contains(&status)
}

/// The members of an answer, or why there are none. Errors come with any status.
fn read_answer(answer: &Answer, mask: impl FnOnce() -> Mask) -> Result<Value, Problem> {
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_form =
        kind.is_some_and(|kind| kind.trim_start().starts_with("application/x-www-form-urlencoded"));
    let said: Option<Value> = if is_form {
        let pairs = form_urlencoded::parse(&answer.body);
        Some(Value::Object(pairs.map(|(name, value)| (name.into(), value.into())).collect()))
    } else {
        serde_json::from_slice(&answer.body).ok().filter(Value::is_object)
    };
    let status = answer.status;
    let Some(said) = said.filter(|_| !is_passing(status)) else {
        let text = format!("the authorisation server answered {status} without a token");
        return Err(match is_in_doubt(status) {
            true => Problem::unanswered(text),
            false => Problem::unreachable(text),
        });
    };
    let members = Members::of(&said);
    if let Some(code) = members.text("error") {
        let mask = mask();
        let code = mask.text(&code);
        let description = members.text("error_description");
        let description = description.as_ref().map(|text| mask.text(text));
        let what = "the authorisation server refused";
        return Err(Problem::by_code(what, &code, description.as_deref()));
    }
    if !status.is_success() {
        return Err(Problem::refused(format!("the authorisation server answered {status}")));
    }
    Ok(said)
}

/// Whether a token may be, or must be, bound to a key of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyBinding {
    NoKey,
    Possible,
    Required,
}

impl KeyBinding {
    pub(super) fn new(key: Option<&DpopKey>, settings: Dpop) -> Self {
        match (key, settings) {
            (_, Dpop::Always) => KeyBinding::Required,
            (Some(_), Dpop::Auto | Dpop::Never) => KeyBinding::Possible,
            (None, Dpop::Auto | Dpop::Never) => KeyBinding::NoKey,
        }
    }
}

/// The token in an answer.
pub(super) fn issued(said: &Value, binding: KeyBinding) -> Result<Issued, Problem> {
    let members = Members::of(said);
    let access = members
        .text("access_token")
        .ok_or_else(|| Problem::refused("the authorisation server answered without a token"))?;
    if access.bytes().any(|byte| !(0x21..=0x7e).contains(&byte)) {
        return Err(Problem::refused("the token cannot be sent: it contains odd characters"));
    }
    let kind = members.text("token_type").unwrap_or_else(|| "Bearer".to_owned());
    let is_dpop = kind.eq_ignore_ascii_case("dpop");
    if !is_dpop && !kind.eq_ignore_ascii_case("bearer") {
        return Err(Problem::refused("the token is of an unknown type").quoting(&kind));
    }
    match (binding, is_dpop) {
        (KeyBinding::NoKey, true) => {
            return Err(Problem::refused("the token is bound to a key that nobody has"));
        }
        (KeyBinding::Required, false) => {
            return Err(Problem::refused("the token is not bound to our key"));
        }
        _ => {}
    }
    let lifetime_ms = members.seconds("expires_in").map(|seconds| seconds.saturating_mul(1000));
    Ok(Issued {
        access: Secret::new(access),
        is_dpop,
        refresh: members.text("refresh_token").map(Secret::new),
        expires_at_ms: lifetime_ms.map(|ms| now_ms().saturating_add(ms)),
        lifetime_ms,
        scopes: members.text("scope").map(|scope| split_scopes(&scope)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::problem::ProblemKind;

    fn answer(status: u16, body: &'static str) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers: HeaderMap::new(), body: body.into() }
    }

    #[test]
    fn an_error_of_a_server_in_trouble_says_nothing_about_the_login() {
        let refused = r#"{"error": "invalid_grant"}"#;
        let kind =
            |status, body| read_answer(&answer(status, body), Mask::default).unwrap_err().kind;
        for status in [503, 302, 408, 429] {
            assert_eq!(kind(status, refused), ProblemKind::Unreachable, "{status}");
        }
        // It may have used the refresh token up.
        for status in [500, 502, 504] {
            assert_eq!(kind(status, refused), ProblemKind::Unanswered, "{status}");
        }
        assert_eq!(kind(200, "<html>"), ProblemKind::Unanswered);
        for status in [200, 400, 401, 403] {
            let problem = read_answer(&answer(status, refused), Mask::default).unwrap_err();
            assert!(problem.is_code("invalid_grant"), "{status}");
        }
    }

    #[test]
    fn only_tokens_that_can_be_sent_are_taken() {
        use KeyBinding::{NoKey, Possible, Required};
        for (said, binding, is_taken) in [
            (json!({"access_token": "t"}), NoKey, true),
            (json!({"access_token": "t", "token_type": "bEARER"}), NoKey, true),
            (json!({"access_token": "t", "token_type": "bearer"}), Possible, true),
            (json!({"access_token": "t", "token_type": "bearer"}), Required, false),
            (json!({"access_token": "t", "token_type": "DPoP"}), Possible, true),
            (json!({"access_token": "t", "token_type": "DPoP"}), Required, true),
            (json!({"access_token": "t", "token_type": "DPoP"}), NoKey, false),
            (json!({"access_token": "t", "token_type": "mac"}), NoKey, false),
            (json!({"access_token": "a b"}), NoKey, false),
            (json!({"access_token": ""}), NoKey, false),
            (json!({}), NoKey, false),
        ] {
            assert_eq!(issued(&said, binding).is_ok(), is_taken, "{said}");
        }
    }
}
