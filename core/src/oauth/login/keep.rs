//! Asks for tokens, and keeps and uses them and registrations.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::HeaderValue;

use super::{ASKED_SCOPES, Login, Token};
use crate::caller::CallerHeaders;
use crate::oauth::client::{Client, Wishes, register};
use crate::oauth::discovery::Discovered;
use crate::oauth::dpop::DpopKey;
use crate::oauth::flow::{Flow, Request, common_params, extra_params};
use crate::oauth::http::OAuthHttp;
use crate::oauth::problem::Problem;
use crate::oauth::record::{Record, StoredToken};
use crate::oauth::store::Sealing;
use crate::oauth::token::{Issued, KeyBinding, TokenRequest, issued};
use crate::sync::lock;

impl Login {
    /// Keeps the token of a flow, unless it was given up meanwhile.
    pub(super) async fn keep_answer(&self, flow: &Flow, issued: &Issued) -> Result<(), Problem> {
        let _busy = self.busy.lock().await;
        if flow.is_over() {
            return Err(Problem::refused("the sign-in was given up"));
        }
        self.keep(&flow.request, issued).await
    }

    pub(super) async fn request_token(
        &self,
        http: &OAuthHttp,
        request: &Request,
        mut form: Vec<(String, String)>,
    ) -> Result<Issued, Problem> {
        let Request { found, client, dpop, .. } = request;
        let key = self.signing_key()?;
        let extra = extra_params(&self.settings);
        form.extend(extra.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let token_request = TokenRequest {
            endpoint: found.endpoint("token_endpoint", &found.metadata.token_endpoint)?,
            client,
            issuer: &found.issuer,
            key: key.as_ref(),
            dpop: dpop.as_deref(),
            form,
        };
        let binding = KeyBinding::new(dpop.as_deref(), self.settings.dpop);
        issued(&token_request.send(http).await?, binding)
    }

    /// Stores and uses an issued token.
    pub(super) async fn keep(&self, request: &Request, issued: &Issued) -> Result<(), Problem> {
        let Request { found, client, scopes, dpop } = request;
        {
            let mut asked = lock(&self.asked_scopes);
            let room = ASKED_SCOPES.saturating_sub(asked.len());
            asked.extend(scopes.iter().take(room).cloned());
        }
        let lock = self.lock_file().await?;
        let token = StoredToken::from(issued);
        let mut record = self.empty_record();
        record.issuer = Some(found.issuer.clone());
        record.resource = found.resource.clone();
        record.token_endpoint = found.metadata.token_endpoint.clone();
        record.revocation_endpoint = found.metadata.revocation_endpoint.clone();
        record.client = Some(client.clone());
        record.scopes = issued.scopes.clone().unwrap_or_else(|| scopes.clone());
        record.dpop_key = dpop.as_ref().filter(|_| token.is_dpop).map(|key| key.to_stored());
        record.token = Some(token.clone());
        self.store(&record, Sealing::IfPossible, lock).await;
        self.adopt(&token, dpop.clone())
    }

    /// The client to sign in with: the one of the settings, a registration that is known, or a new one.
    pub(super) async fn client(
        &self,
        http: &OAuthHttp,
        found: &Discovered,
        record: Record,
        wishes: Wishes<'_>,
    ) -> Result<Client, Problem> {
        let is_known = record.issuer.as_deref() == Some(found.issuer.as_str());
        let known = record.client.filter(|it| is_known && it.is_valid_for(wishes.redirect_uri));
        let given = Client::configured(&self.settings, found)
            .or_else(|| Client::by_document(&self.settings, found));
        if let Some(client) = given.or(known) {
            return Ok(client);
        }
        let client = register(http, found, wishes).await?;
        self.keep_client(found, &client).await?;
        Ok(client)
    }

    /// Stores a registration, so that the next sign-in uses it again.
    async fn keep_client(&self, found: &Discovered, client: &Client) -> Result<(), Problem> {
        let lock = self.lock_file().await?;
        // Whoever has a login loses it by a new one only.
        if self.read_usable().await.is_none_or(|before| before.token.is_some()) {
            return Ok(());
        }
        let mut record = self.empty_record();
        record.issuer = Some(found.issuer.clone());
        record.client = Some(client.clone());
        self.store(&record, Sealing::IfPossible, lock).await;
        Ok(())
    }

    /// Drops a registration that the server does not know any more.
    pub(super) async fn forget_client(&self, client: &Client) {
        let Ok(lock) = self.lock_file().await else { return };
        let mut record = self.read().await;
        if client.is_registered && record.client.as_ref() == Some(client) {
            record.client = None;
            self.store(&record, Sealing::AsBefore, lock).await;
        }
    }

    pub(super) fn token_params(request: &Request) -> Vec<(String, String)> {
        let params = common_params(&request.found, &request.scopes);
        params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Uses this token from now on. Its value is hidden in what the server says.
    pub(super) fn adopt(
        &self,
        stored: &StoredToken,
        dpop: Option<Arc<DpopKey>>,
    ) -> Result<(), Problem> {
        let odd = |_| Problem::refused("the token cannot be sent");
        let scheme = if stored.is_dpop { "DPoP" } else { "Bearer" };
        let text = format!("{scheme} {}", stored.access.expose());
        let mut value = HeaderValue::try_from(&text).map_err(odd)?;
        value.set_sensitive(true);
        let hidden = CallerHeaders::new([("Authorization", text.as_str())]).ok();
        let token = Token {
            access: stored.access.clone(),
            value,
            expires_at_ms: stored.expires_at_ms,
            lifetime_ms: stored.lifetime_ms,
            can_refresh: stored.refresh.is_some(),
            dpop: dpop.filter(|_| stored.is_dpop),
            _hidden: hidden.map(|headers| self.headers.hide(&headers)),
        };
        self.current.store(Some(Arc::new(token)));
        self.is_loaded.store(true, Ordering::Release);
        Ok(())
    }
}
