//! Gets the stored login that a program is given.

use std::sync::Arc;

use super::login::{Login, LoginOwner};
use crate::config::AuthConfig;
use crate::redact::Secret;

/// The access token of a stored login, refreshed if it expires soon; `None` if there is no such login.
pub(crate) async fn stored_token(
    server: &Arc<str>,
    settings: Arc<AuthConfig>,
    owner: LoginOwner,
) -> Option<Secret> {
    Login::of_program(server, settings, owner)?.stored_access().await
}
