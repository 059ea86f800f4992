//! Owns one refresh of a login: the request, and the record that it leaves.
//! Invariant: it needs a record and its settings only, so that another process can do it.

use serde::{Deserialize, Serialize};
use url::Url;

use super::dpop::DpopKey;
use super::flow::extra_params;
use super::http::OAuthHttp;
use super::jwt::SigningKey;
use super::problem::Problem;
use super::record::{Record, StoredToken, secret};
use super::token::{Issued, KeyBinding, TokenRequest, issued};
use crate::config::{AuthConfig, Dpop};
use crate::http_client::Endpoints;
use crate::redact::Secret;
use crate::resolve::{AllowedAddresses, PemFile, TlsFiles};

/// What a refresh needs besides the record.
#[derive(Serialize, Deserialize)]
pub(super) struct RenewalSettings {
    server: String,
    url: String,
    #[serde(with = "secret")]
    ca: Option<Secret>,
    allows_private_addresses: bool,
    #[serde(with = "secret")]
    private_key: Option<Secret>,
    params: Vec<(String, String)>,
    requires_dpop: bool,
}

/// What came of a refresh.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Renewal {
    Renewed(Record),
    /// The authorisation server does not accept the refresh token. The record is without it: it is never sent again.
    Refused(Record, Problem),
    Failed(Problem),
}

impl Renewal {
    /// The record to store.
    pub(super) fn record(&self) -> Option<&Record> {
        match self {
            Renewal::Renewed(record) | Renewal::Refused(record, _) => Some(record),
            Renewal::Failed(_) => None,
        }
    }
}

impl RenewalSettings {
    pub(super) fn new(endpoints: &Endpoints, settings: &AuthConfig) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let ca = endpoints.tls.as_ref().and_then(|tls| tls.ca.as_ref());
        RenewalSettings {
            server: endpoints.server.to_string(),
            url: endpoints.url.to_string(),
            ca: ca.map(|file| file.text.clone()),
            allows_private_addresses: endpoints.addresses == AllowedAddresses::Any,
            private_key: settings.private_key.clone(),
            params: extra_params(settings).map(owned).collect(),
            requires_dpop: settings.dpop == Dpop::Always,
        }
    }

    fn http(&self) -> Result<OAuthHttp, Problem> {
        let odd = |_| Problem::refused("the server's address is odd");
        let ca = self.ca.clone().map(|text| PemFile { field: "ca", text });
        OAuthHttp::new(&Endpoints {
            server: self.server.as_str().into(),
            url: Url::parse(&self.url).map_err(odd)?,
            tls: ca.map(|ca| TlsFiles { ca: Some(ca), client: None }),
            addresses: match self.allows_private_addresses {
                true => AllowedAddresses::Any,
                false => AllowedAddresses::PublicOnly,
            },
        })
    }

    async fn request(
        &self,
        record: &Record,
        refresh: &str,
        dpop: Option<&DpopKey>,
    ) -> Result<Issued, Problem> {
        let forgotten = || Problem::refused("it is not known how to refresh the token");
        let endpoint = record.token_endpoint.as_deref().ok_or_else(forgotten)?;
        let client = record.client.as_ref().ok_or_else(forgotten)?;
        let key = signing_key(self.private_key.as_ref())?;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut form = vec![pair("grant_type", "refresh_token"), pair("refresh_token", refresh)];
        if let Some(resource) = &record.resource {
            form.push(pair("resource", resource));
        }
        form.extend(self.params.iter().cloned());
        let request = TokenRequest {
            endpoint,
            client,
            issuer: record.issuer.as_deref().unwrap_or(endpoint),
            key: key.as_ref(),
            dpop,
            form,
        };
        let wanted = if self.requires_dpop { Dpop::Always } else { Dpop::Auto };
        issued(&request.send(&self.http()?).await?, KeyBinding::new(dpop, wanted))
    }

    /// Refreshes the login of this record.
    pub(super) async fn renew(&self, mut record: Record, dpop: Option<&DpopKey>) -> Renewal {
        let found = record.token.clone().and_then(|token| Some((token.refresh.clone()?, token)));
        let Some((refresh, token)) = found else {
            return Renewal::Failed(Problem::refused("there is no refresh token"));
        };
        match self.request(&record, refresh.expose(), dpop).await {
            Ok(issued) => {
                let token = StoredToken::from(&issued);
                let refresh = token.refresh.clone().or(Some(refresh));
                record.token = Some(StoredToken { refresh, ..token });
                if let Some(scopes) = issued.scopes {
                    record.scopes = scopes;
                }
                Renewal::Renewed(record)
            }
            Err(problem) if !problem.is_final() => Renewal::Failed(problem),
            Err(problem) => {
                record.token = Some(StoredToken { refresh: None, ..token });
                if problem.is_about_client() {
                    record.client = record.client.filter(|client| !client.is_registered);
                }
                Renewal::Refused(record, problem)
            }
        }
    }
}

/// The key of the settings.
pub(super) fn signing_key(pem: Option<&Secret>) -> Result<Option<SigningKey>, Problem> {
    pem.map(|pem| SigningKey::from_pem(pem.expose())).transpose()
}
