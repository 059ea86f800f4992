//! Gets tokens without a browser on this machine: by the credentials of the client, by the word of another authority, or
//! by a code that a person types elsewhere (RFC 8628).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Login, Unsettled};
use crate::config::{Grant, IdentityProvider};
use crate::oauth::client::{AuthMethod, Client, Wishes};
use crate::oauth::discovery::Discovered;
use crate::oauth::dpop::DpopKey;
use crate::oauth::flow::{Flow, PATIENCE, Request, Way};
use crate::oauth::http::OAuthHttp;
use crate::oauth::metadata::Members;
use crate::oauth::problem::Problem;
use crate::oauth::token::{Issued, TokenRequest};
use crate::redact::Secret;
use crate::runtime;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// How often a device asks whether the person has signed in, and how much slower it gets when told so.
const INTERVAL: Duration = Duration::from_secs(5);
const LEAST_INTERVAL: Duration = Duration::from_secs(1);
const SLOWER: Duration = Duration::from_secs(5);

impl Login {
    /// The request of a grant for which nobody is asked. Its client must be known.
    pub(super) fn grant_request(
        &self,
        found: Discovered,
        scopes: Vec<String>,
        dpop: Option<Arc<DpopKey>>,
    ) -> Result<Request, Unsettled> {
        let client = match (Client::configured(&self.settings, &found), self.settings.grant) {
            (Some(client), _) => client,
            // A platform's assertion says who we are.
            (None, Grant::JwtBearer) => Client::unnamed(),
            (None, _) => {
                let text = "the client is not known";
                let problem = Problem::missing(text).with_hint("set \"auth.clientId\"");
                return Err(problem.into());
            }
        };
        Ok(Request { found, client, scopes, dpop })
    }

    pub(super) async fn by_grant(
        &self,
        http: &OAuthHttp,
        grant: Grant,
        request: &Request,
    ) -> Result<Issued, Problem> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut form = Login::token_params(request);
        match grant {
            Grant::ClientCredentials => {
                if request.client.method == AuthMethod::None {
                    let hint = "set \"auth.clientSecret\" or \"auth.privateKey\"";
                    return Err(Problem::missing("the client has no secret").with_hint(hint));
                }
                form.push(pair("grant_type", "client_credentials"));
            }
            Grant::JwtBearer => {
                let assertion = self.settings.assertion.as_ref().ok_or_else(|| {
                    Problem::missing("there is no assertion").with_hint("set \"auth.assertion\"")
                })?;
                form.push(pair("grant_type", JWT_BEARER));
                form.push(pair("assertion", assertion.expose()));
            }
            _ => {
                let assertion = self.id_jag(http, &request.found, &request.scopes).await?;
                form.push(pair("grant_type", JWT_BEARER));
                form.push(pair("assertion", assertion.expose()));
            }
        }
        self.request_token(http, request, form).await
    }

    /// Has the company's identity provider vouch for the user at this authorisation server.
    async fn id_jag(
        &self,
        http: &OAuthHttp,
        found: &Discovered,
        scopes: &[String],
    ) -> Result<Secret, Problem> {
        let missing = |field: &str| {
            Problem::missing("the identity provider is not known")
                .with_hint(format!("set \"auth.idp.{field}\""))
        };
        let idp = self.settings.idp.as_ref().ok_or_else(|| missing("tokenEndpoint"))?;
        let IdentityProvider { token_endpoint, client_id, client_secret, id_token, .. } = idp;
        let endpoint = token_endpoint.as_deref().ok_or_else(|| missing("tokenEndpoint"))?;
        let id_token = id_token.as_ref().ok_or_else(|| missing("idToken"))?;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut form = vec![
            pair("grant_type", TOKEN_EXCHANGE),
            pair("requested_token_type", ID_JAG),
            pair("subject_token", id_token.expose()),
            pair("subject_token_type", ID_TOKEN),
            pair("audience", &found.issuer),
        ];
        if let Some(resource) = &found.resource {
            form.push(pair("resource", resource));
        }
        if !scopes.is_empty() {
            form.push(pair("scope", &scopes.join(" ")));
        }
        let client = Client::of_provider(client_id.clone(), client_secret.clone());
        let request = TokenRequest {
            endpoint,
            client: &client,
            issuer: endpoint,
            key: None,
            dpop: None,
            form,
        };
        let said = request.send(http).await?;
        let members = Members::of(&said);
        if members.text("issued_token_type").as_deref() != Some(ID_JAG) {
            return Err(Problem::refused("the identity provider issued another kind of token"));
        }
        let assertion = members.text("access_token").map(Secret::new);
        assertion.ok_or_else(|| Problem::refused("the identity provider issued no token"))
    }

    /// Opens a flow in which a person types a code on any device.
    pub(super) async fn begin_device(
        self: &Arc<Self>,
        http: &OAuthHttp,
        found: Discovered,
        scopes: Vec<String>,
        dpop: Option<Arc<DpopKey>>,
    ) -> Result<Arc<Flow>, Problem> {
        let endpoint = &found.metadata.device_authorization_endpoint;
        let endpoint = found.endpoint("device_authorization_endpoint", endpoint)?.to_owned();
        http.endpoint("device_authorization_endpoint", &endpoint)?;
        let record = self.read().await;
        let grants = &[DEVICE_CODE, "refresh_token"];
        let wishes = Wishes { redirect_uri: None, grants, scopes: &scopes };
        let client = self.client(http, &found, record, wishes).await?;
        let request = Request { found, client, scopes, dpop };
        let said = self.ask_for_codes(http, &endpoint, &request).await;
        if let Err(problem) = &said
            && problem.is_about_client()
        {
            self.forget_client(&request.client).await;
        }
        let said = said?;
        let members = Members::of(&said);
        let lacks = |what: &str| Problem::refused(format!("the answer for a device has no {what}"));
        let code = members.text("device_code").ok_or_else(|| lacks("device code"))?;
        let user_code = members.text("user_code").ok_or_else(|| lacks("user code"))?;
        let page = members.text("verification_uri").or_else(|| members.text("verification_url"));
        let page = page.ok_or_else(|| lacks("address"))?;
        let page = members.text("verification_uri_complete").unwrap_or(page);
        let page = http.endpoint("verification_uri", &page)?;
        let interval = members.seconds("interval").map_or(INTERVAL, Duration::from_secs);
        let way = Way::Device {
            code: Secret::new(code),
            interval: interval.clamp(LEAST_INTERVAL, PATIENCE),
        };
        let flow = self.open(page.into(), Some(user_code), request, way);
        let (login, of) = (Arc::downgrade(self), flow.clone());
        runtime::spawn(async move {
            let deadline = Instant::now() + PATIENCE;
            let Way::Device { mut interval, .. } = of.way else { return };
            loop {
                sleep(interval).await;
                let Some(login) = login.upgrade().filter(|_| !of.is_over()) else { return };
                if Instant::now() >= deadline {
                    return of.end(Err(Problem::timed_out()));
                }
                match login.ask_for_device(&of).await {
                    Err(problem) if problem.is_code("authorization_pending") => {}
                    Err(problem) if problem.is_code("slow_down") => interval += SLOWER,
                    Err(problem) if problem.is_passing() => interval += SLOWER,
                    outcome => return login.end_flow(&of, outcome),
                }
            }
        });
        Ok(flow)
    }

    /// Asks for a device code and a user code. A client that has a secret shows it here too.
    async fn ask_for_codes(
        &self,
        http: &OAuthHttp,
        endpoint: &str,
        request: &Request,
    ) -> Result<Value, Problem> {
        let key = self.signing_key()?;
        let asking = TokenRequest {
            endpoint,
            client: &request.client,
            issuer: &request.found.issuer,
            key: key.as_ref(),
            dpop: None,
            form: Login::token_params(request),
        };
        asking.send(http).await
    }

    async fn ask_for_device(&self, flow: &Flow) -> Result<(), Problem> {
        let Way::Device { code, .. } = &flow.way else {
            return Err(Problem::refused("this sign-in expects no device"));
        };
        let mut form = vec![
            ("grant_type".to_owned(), DEVICE_CODE.to_owned()),
            ("device_code".to_owned(), code.expose().to_owned()),
        ];
        if let Some(resource) = &flow.request.found.resource {
            form.push(("resource".to_owned(), resource.clone()));
        }
        let http = self.http().await?;
        let issued = self.request_token(&http, &flow.request, form).await?;
        self.keep_answer(flow, &issued).await
    }
}
