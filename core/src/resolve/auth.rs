//! Binds how we show a server who we are: references expanded, and what a project may not say left out.
//! Invariant: a project neither loosens a check nor chooses who else gets a credential of the user.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use indexmap::IndexMap;
use url::Url;

use super::bind::Binder;
use super::expand::Field;
use super::invalid;
use crate::config::{AuthConfig, AuthType, Dpop, IdentityProvider, Level};
use crate::error::Result;
use crate::headers::bind_headers;
use crate::redact::Secret;

/// Whether a server may ask us to sign in.
#[derive(Clone)]
pub(crate) enum SignIn {
    /// By OAuth, with these settings.
    OAuth(Arc<AuthConfig>),
    /// No: the definition has the credential.
    Given,
    /// No: its project is not trusted.
    Untrusted,
    /// No: the definition says so.
    Off,
}

impl Binder<'_> {
    /// Expands the references of `auth`; a fixed token becomes a header.
    pub(super) fn bind_auth(
        &mut self,
        written: Option<&AuthConfig>,
        url: &Url,
        headers: &mut HeaderMap,
    ) -> Result<SignIn> {
        let auth = written.cloned().unwrap_or_default();
        let is_given = headers.contains_key(AUTHORIZATION)
            || !url.username().is_empty()
            || url.password().is_some();
        match auth.kind {
            AuthType::None if is_given => Ok(SignIn::Given),
            AuthType::None => Ok(SignIn::Off),
            _ if is_given => {
                if written.is_some() {
                    let text = "has no effect beside an \"Authorization\" of the definition";
                    self.warn(&format!("\"auth\" {text}"));
                }
                Ok(SignIn::Given)
            }
            AuthType::Bearer => {
                self.bind_bearer(&auth, headers)?;
                Ok(SignIn::Given)
            }
            AuthType::OAuth if self.scope().is_restricted() => Ok(SignIn::Untrusted),
            AuthType::OAuth => Ok(SignIn::OAuth(Arc::new(self.bind_oauth(auth)?))),
        }
    }

    fn bind_bearer(&mut self, auth: &AuthConfig, headers: &mut HeaderMap) -> Result<()> {
        let (field, written) = match (&auth.token, &auth.token_env) {
            (Some(token), _) => ("auth.token", token.expose().to_owned()),
            (None, Some(name)) => ("auth.tokenEnv", format!("${{{name}}}")),
            (None, None) => {
                return Err(invalid("\"auth\" of type \"bearer\" needs \"token\" or \"tokenEnv\""));
            }
        };
        let token = self.sent_text(field, &written)?;
        if token.is_empty() || token == written && auth.token.is_none() {
            self.warn(&format!("\"{field}\" has no value; no token is sent"));
            return Ok(());
        }
        self.add_secret(&token);
        let header = [("Authorization".to_owned(), format!("Bearer {token}"))];
        headers.extend(bind_headers(header).map_err(|it| invalid(&it))?);
        Ok(())
    }

    /// The settings of the login that a program is given, if it names one.
    pub(super) fn bind_given_login(
        &mut self,
        written: Option<&AuthConfig>,
    ) -> Result<Option<Arc<AuthConfig>>> {
        let names_one =
            |auth: &&AuthConfig| auth.kind == AuthType::OAuth && auth.credential_id.is_some();
        let Some(auth) = written.filter(names_one) else { return Ok(None) };
        let auth = self.bind_oauth(auth.clone())?;
        Ok(auth.credential_id.is_some().then(|| Arc::new(auth)))
    }

    fn bind_oauth(&mut self, mut auth: AuthConfig) -> Result<AuthConfig> {
        if self.scope().level == Level::Project {
            self.drop_loosening(&mut auth);
        }
        for (field, text) in [
            ("auth.credentialId", &mut auth.credential_id),
            ("auth.clientId", &mut auth.client_id),
            ("auth.clientMetadataUrl", &mut auth.client_metadata_url),
            ("auth.resource", &mut auth.resource),
            ("auth.issuer", &mut auth.issuer),
        ] {
            self.expand_text(field, text)?;
        }
        for (field, text) in [
            ("auth.clientSecret", &mut auth.client_secret),
            ("auth.privateKey", &mut auth.private_key),
            ("auth.assertion", &mut auth.assertion),
        ] {
            self.expand_secret(field, text)?;
        }
        if let Some(idp) = &mut auth.idp {
            let IdentityProvider { token_endpoint, client_id, client_secret, id_token, .. } = idp;
            self.expand_text("auth.idp.tokenEndpoint", token_endpoint)?;
            self.expand_text("auth.idp.clientId", client_id)?;
            self.expand_secret("auth.idp.clientSecret", client_secret)?;
            self.expand_secret("auth.idp.idToken", id_token)?;
        }
        let mut params = IndexMap::new();
        for (name, written) in &auth.params {
            let text = self.sent_text("auth.params", written.expose())?;
            params.insert(name.clone(), Secret::new(text));
        }
        Ok(AuthConfig { params, ..auth })
    }

    /// Drops what only the user may say.
    fn drop_loosening(&mut self, auth: &mut AuthConfig) {
        let dropped = [
            ("resource", auth.resource.take().is_some()),
            ("issuer", auth.issuer.take().is_some()),
            ("params", !std::mem::take(&mut auth.params).is_empty()),
            ("allowPrivateAddresses", std::mem::take(&mut auth.allow_private_addresses)),
            ("allowMissingIssuer", std::mem::take(&mut auth.allow_missing_issuer)),
            ("allowMissingPkce", std::mem::take(&mut auth.allow_missing_pkce)),
            ("dpop", auth.dpop == Dpop::Never),
            ("idp", auth.idp.take().is_some()),
            ("credentialId", auth.credential_id.take().is_some()),
        ];
        if auth.dpop == Dpop::Never {
            auth.dpop = AuthConfig::default().dpop;
        }
        for (name, _) in dropped.into_iter().filter(|(_, was_set)| *was_set) {
            self.warn(&format!(
                "\"auth.{name}\" is left out: only the user's own files may set it"
            ));
        }
    }

    fn expand_text(&mut self, field: &'static str, text: &mut Option<String>) -> Result<()> {
        if let Some(written) = text {
            *text = Some(self.sent_text(field, written)?).filter(|text| !text.is_empty());
        }
        Ok(())
    }

    fn expand_secret(&mut self, field: &'static str, text: &mut Option<Secret>) -> Result<()> {
        if let Some(written) = text {
            let value = self.sent_text(field, written.expose())?;
            self.add_secret(&value);
            *text = Some(Secret::new(value)).filter(|text| !text.expose().is_empty());
        }
        Ok(())
    }

    fn sent_text(&mut self, field: &'static str, text: &str) -> Result<String> {
        let lookup = self.sent_lookup();
        self.expand(Field::new(field, lookup), text)
    }
}
