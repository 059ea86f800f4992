//! Describes the stored login of a server, for people. Changes nothing, dials nobody, and leaves the tokens out.

use std::path::PathBuf;

use super::discovery::over_http;
use super::login::key;
use super::random::hash;
use super::record::Mismatch;
use super::store::{Kept, LoginFile};
use crate::config::{AuthConfig, Scope};
use crate::ownership::is_only_exposed;
use crate::resolve::Target;

/// What is stored for a server.
pub(crate) enum StoredLogin {
    /// No login; there may be a registration.
    Absent,
    /// A file that is not used.
    Unusable(UnusableFile),
    /// A login that the settings do not want any more.
    Other {
        mismatch: Mismatch,
        issuer: Option<String>,
    },
    Usable(UsableLogin),
}

/// A file that is not used.
pub(crate) struct UnusableFile {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
    /// Whether others can read it, and nothing else is wrong.
    pub(crate) is_exposed: bool,
}

/// A login that is used.
pub(crate) struct UsableLogin {
    pub(crate) issuer: Option<String>,
    /// The scopes that were granted, or asked for where the server did not say.
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_at_ms: Option<u64>,
    pub(crate) can_refresh: bool,
    pub(crate) kept: Kept,
}

/// Reads the login of a server. Blocks.
pub(crate) fn inspect(target: &Target, settings: &AuthConfig, scope: &Scope) -> StoredLogin {
    let server_hash = hash(over_http(target.url.clone()).as_str());
    let identity = scope.identity.as_ref().map(|identity| identity.as_str());
    let key = key(
        Some(&server_hash),
        identity,
        settings.credential_id.as_deref(),
        settings.client_id.as_deref(),
    );
    let Some(file) = LoginFile::new(&scope.host_env, &key) else { return StoredLogin::Absent };
    let record = match file.read() {
        Ok(Some(record)) => record,
        Ok(None) => return StoredLogin::Absent,
        Err(error) => {
            let (path, why) = (file.path(), error.to_string());
            let is_exposed = is_only_exposed(&path);
            return StoredLogin::Unusable(UnusableFile { path, why, is_exposed });
        }
    };
    let mismatch = record.mismatch(Some(&server_hash), settings);
    let issuer = record.issuer;
    match (record.token, mismatch) {
        (None, _) => StoredLogin::Absent,
        (Some(_), Some(mismatch)) => StoredLogin::Other { mismatch, issuer },
        (Some(token), None) => StoredLogin::Usable(UsableLogin {
            issuer,
            scopes: record.scopes,
            expires_at_ms: token.expires_at_ms,
            can_refresh: token.refresh.is_some(),
            kept: file.kept().unwrap_or(Kept::Plain(None)),
        }),
    }
}
