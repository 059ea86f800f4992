//! Sends the requests of a sign-in to the servers that metadata names.
//! Invariant: an address is refused unless its scheme and class are those that the server's own address allows; bodies
//! and times are bounded; a request that carries a secret is never redirected.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;
use url::form_urlencoded;

use super::problem::Problem;
use crate::http_client::{Endpoints, HttpClient, Request, Response, endpoint_client};
use crate::resolve::RefusedAddress;

/// How many bytes of an answer are read.
const BODY: usize = 1 << 20;
/// How long one request may take.
const TIME: Duration = Duration::from_secs(15);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// Sends requests for one server's login.
#[derive(Clone)]
pub(super) struct OAuthHttp {
    client: Arc<dyn HttpClient>,
    /// Whether the server itself is reached without TLS, or is on this machine.
    allows_plain: bool,
}

/// An answer, read whole.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl OAuthHttp {
    pub(super) fn new(endpoints: &Endpoints) -> Result<Self, Problem> {
        let client = endpoint_client(endpoints).map_err(Problem::from_error)?;
        Ok(OAuthHttp { client, allows_plain: endpoints.url.scheme() != "https" })
    }

    /// An address from metadata or settings, if requests may be sent there.
    pub(super) fn endpoint(&self, name: &str, text: &str) -> Result<Url, Problem> {
        let odd = |why: &str| Problem::refused(format!("its \"{name}\" {why}")).quoting(text);
        let url = Url::parse(text).map_err(|_| odd("is no URL"))?;
        let is_plain = url.scheme() == "http";
        if !url.has_host() || !(is_plain || url.scheme() == "https") {
            return Err(odd("is no http(s) URL"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(odd("contains a login"));
        }
        let is_local = url.host_str().is_some_and(is_loopback);
        if is_plain && !self.allows_plain && !is_local {
            return Err(odd("is not https"));
        }
        self.client.addresses().check(&url).map_err(|refused| private(&refused))?;
        Ok(url)
    }

    /// Gets a JSON object; `None` if there is none at that address.
    pub(super) async fn get_object(&self, url: &Url) -> Result<Option<Value>, Problem> {
        let mut request =
            Request::new(self.client.clone(), Method::GET, url.clone()).header(ACCEPT, JSON);
        let answer = self.limited(url, async { read(request.send().await?).await }).await?;
        if answer.status.is_server_error() {
            let (status, origin) = (answer.status, url.origin().ascii_serialization());
            return Err(Problem::unreachable(format!("{origin} answered {status}")));
        }
        let object = serde_json::from_slice(&answer.body).ok().filter(Value::is_object);
        Ok(object.filter(|_| answer.status.is_success()).map(without_null))
    }

    /// Posts a form. The answer is never a redirect that was followed.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        headers: HeaderMap,
        form: &[(String, String)],
    ) -> Result<Answer, Problem> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.post(url, headers, FORM, body).await
    }

    pub(super) async fn post_json(&self, url: &Url, body: &Value) -> Result<Answer, Problem> {
        self.post(url, HeaderMap::new(), JSON, body.to_string()).await
    }

    async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        kind: HeaderValue,
        body: String,
    ) -> Result<Answer, Problem> {
        let request = Request::new(self.client.clone(), Method::POST, url.clone())
            .headers(headers)
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, kind)
            .body(body.into());
        self.limited(url, async { read(request.send_once().await?).await }).await
    }

    async fn limited<E: Into<Unanswered>>(
        &self,
        url: &Url,
        exchange: impl Future<Output = Result<Answer, E>>,
    ) -> Result<Answer, Problem> {
        let origin = url.origin().ascii_serialization();
        match timeout(TIME, exchange).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(error.into().into_problem(&origin)),
            Err(_) => {
                let seconds = TIME.as_secs();
                Err(Problem::unanswered(format!("{origin} did not answer within {seconds} s")))
            }
        }
    }
}

/// Why there is no answer.
enum Unanswered {
    TooLong,
    Failed(crate::http_client::SendError),
    CutOff,
}

impl From<crate::http_client::SendError> for Unanswered {
    fn from(error: crate::http_client::SendError) -> Self {
        Unanswered::Failed(error)
    }
}

impl Unanswered {
    fn into_problem(self, origin: &str) -> Problem {
        match self {
            Unanswered::TooLong => {
                Problem::refused(format!("{origin} answered with more than {BODY} bytes"))
            }
            Unanswered::CutOff => Problem::unanswered(format!("{origin} cut its answer off")),
            Unanswered::Failed(error) => match RefusedAddress::cause_of(&error) {
                Some(refused) => private(refused),
                None if error.is_unsent() => {
                    Problem::unreachable(format!("{origin} cannot be reached: {}", root(&error)))
                }
                None => Problem::unanswered(format!("{origin} did not answer: {}", root(&error))),
            },
        }
    }
}

async fn read(mut response: Response) -> Result<Answer, Unanswered> {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| Unanswered::CutOff)? {
        if body.len() + chunk.len() > BODY {
            return Err(Unanswered::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body: body.into() })
}

fn private(refused: &RefusedAddress) -> Problem {
    let RefusedAddress { host, class } = refused;
    Problem::refused(format!("{host} is {class}, although the server itself is on the internet"))
        .quoting(host)
        .with_hint("if you know it, set \"auth.allowPrivateAddresses\" in a file of your own")
}

/// The innermost cause, whose text does not include the URL.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Some servers write null for what they leave out.
fn without_null(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
}

/// The addresses of a document that a public server over TLS may name.
#[cfg(any(test, fuzzing))]
pub(crate) fn endpoints_of(document: &Value) -> Vec<Url> {
    use super::metadata::{ResourceMetadata, ServerMetadata};
    static HTTP: std::sync::OnceLock<OAuthHttp> = std::sync::OnceLock::new();
    let http = HTTP.get_or_init(|| {
        let url = Url::parse("https://server.example/mcp").expect("a URL");
        let addresses = crate::resolve::AllowedAddresses::PublicOnly;
        let endpoints = Endpoints { server: "s".into(), url, tls: None, addresses };
        OAuthHttp::new(&endpoints).expect("a client")
    });
    let (resource, server) = (ResourceMetadata::read(document), ServerMetadata::read(document));
    let _ = server.check_pkce();
    let named = [
        server.authorization_endpoint,
        server.token_endpoint,
        server.registration_endpoint,
        server.device_authorization_endpoint,
        server.revocation_endpoint,
        server.issuer,
        resource.resource,
    ];
    let named = named.into_iter().flatten().chain(resource.authorization_servers);
    named.filter_map(|text| http.endpoint("address", &text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::AllowedAddresses;

    #[test]
    fn only_addresses_of_the_servers_own_class_are_asked() {
        use AllowedAddresses::{Any, PublicOnly};
        let is_allowed = |server: &str, addresses: AllowedAddresses, endpoint: &str| {
            let url = Url::parse(server).unwrap();
            let endpoints = Endpoints { server: "s".into(), url, tls: None, addresses };
            OAuthHttp::new(&endpoints).unwrap().endpoint("token_endpoint", endpoint).is_ok()
        };
        for (endpoint, of_public, of_local) in [
            ("https://as.example/token", true, true),
            ("http://as.example/token", false, true),
            ("https://127.0.0.1/token", false, true),
            ("http://127.0.0.1:8080/token", false, true),
            ("https://169.254.169.254/", false, true),
            ("https://[::ffff:10.0.0.1]/", false, true),
            ("https://user:word@as.example/", false, false),
            ("https://user@as.example/", false, false),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
            ("https:", false, false),
            ("/token", false, false),
        ] {
            let public = is_allowed("https://mcp.example/mcp", PublicOnly, endpoint);
            let local = is_allowed("http://127.0.0.1:1/mcp", Any, endpoint);
            assert_eq!((public, local), (of_public, of_local), "{endpoint}");
        }
        let allowed_by_user = is_allowed("https://mcp.example/mcp", Any, "http://as.internal/");
        assert!(!allowed_by_user, "a private address is no reason to leave TLS out");
    }
}
