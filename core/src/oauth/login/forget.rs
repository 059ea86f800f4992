//! Forgets a login.

use std::sync::Arc;

use tokio::time::timeout;

use super::{Login, REVOCATION};
use crate::oauth::problem::Problem;
use crate::oauth::record::Record;
use crate::oauth::token::TokenRequest;
use crate::sync::lock;

impl Login {
    /// Removes the login from the store, then revokes it as far as the authorisation server allows that.
    /// Returns whether there was one.
    pub(super) async fn forget_all(self: &Arc<Self>) -> Result<bool, Problem> {
        let _busy = self.busy.lock().await;
        let file_lock = self.lock_file().await?;
        let record = self.read().await;
        let mut was_there = record.token.is_some();
        let failed = |error| Problem::refused(format!("the login cannot be removed: {error}"));
        let removed = self.remove(file_lock).await.map_err(failed)?;
        // A file that cannot be read counts; a registration alone does not.
        was_there |= removed && record.client.is_none();
        self.current.store(None);
        lock(&self.asked_scopes).clear();
        if let Some(flow) = lock(&self.flow).take() {
            flow.end(Err(Problem::refused("the sign-in was given up")));
        }
        if timeout(REVOCATION, self.revoke(&record)).await.is_err() {
            tracing::debug!(server = &*self.server, "the token was not revoked in time");
        }
        Ok(was_there)
    }

    /// Tells the authorisation server that the tokens are not needed any more (RFC 7009).
    async fn revoke(&self, record: &Record) {
        let (Some(endpoint), Some(client)) = (&record.revocation_endpoint, &record.client) else {
            return;
        };
        let Some(token) = &record.token else { return };
        let Ok(http) = self.http().await else { return };
        let Ok(key) = self.signing_key() else { return };
        let refresh = token.refresh.as_ref().map(|token| ("refresh_token", token));
        for (kind, token) in refresh.into_iter().chain([("access_token", &token.access)]) {
            let form = vec![
                ("token".to_owned(), token.expose().to_owned()),
                ("token_type_hint".to_owned(), kind.to_owned()),
            ];
            let issuer = record.issuer.as_deref().unwrap_or(endpoint);
            let request =
                TokenRequest { endpoint, client, issuer, key: key.as_ref(), dpop: None, form };
            if let Err(problem) = request.send_only(&http).await {
                tracing::debug!(server = &*self.server, "not revoked: {}", problem.text());
            }
        }
    }
}
