//! Owns what is kept of a login between processes.

use std::io;

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::discovery::is_same_issuer;
use super::token::Issued;
use crate::config::AuthConfig;
use crate::redact::Secret;
use crate::time::now_ms;

const VERSION: u64 = 1;

/// One login at one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u64,
    /// The server's address as it may be shown.
    pub(super) server: String,
    /// The hash of its whole address.
    pub(super) server_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<Client>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<StoredToken>,
    /// The scopes that were granted, or asked for where the server did not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) scopes: Vec<String>,
    /// The key that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "secret")]
    pub(super) dpop_key: Option<Secret>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredToken {
    #[serde(with = "plain_secret")]
    pub(super) access: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "secret")]
    pub(super) refresh: Option<Secret>,
    #[serde(default)]
    pub(super) issued_at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lifetime_ms: Option<u64>,
    #[serde(default)]
    pub(super) is_dpop: bool,
}

impl From<&Issued> for StoredToken {
    fn from(issued: &Issued) -> Self {
        StoredToken {
            access: issued.access.clone(),
            refresh: issued.refresh.clone(),
            issued_at_ms: now_ms(),
            expires_at_ms: issued.expires_at_ms,
            lifetime_ms: issued.lifetime_ms,
            is_dpop: issued.is_dpop,
        }
    }
}

/// What of a record is not what the settings want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// It is for another server.
    Server,
    /// Another authorisation server has issued it.
    Issuer,
}

impl Record {
    pub(super) fn new(server: &str, server_hash: &str) -> Self {
        Record {
            version: VERSION,
            server: server.to_owned(),
            server_hash: server_hash.to_owned(),
            issuer: None,
            resource: None,
            token_endpoint: None,
            revocation_endpoint: None,
            client: None,
            token: None,
            scopes: Vec::new(),
            dpop_key: None,
        }
    }

    /// Why it is not the login for this server with these settings.
    pub(super) fn mismatch(
        &self,
        server_hash: Option<&str>,
        settings: &AuthConfig,
    ) -> Option<Mismatch> {
        if server_hash.is_some_and(|hash| self.server_hash != hash) {
            Some(Mismatch::Server)
        } else if !self.has_issuer(settings) {
            Some(Mismatch::Issuer)
        } else {
            None
        }
    }

    /// When its token was issued; of two records the later one is the login.
    pub(super) fn issued_at_ms(&self) -> Option<u64> {
        self.token.as_ref().map(|token| token.issued_at_ms)
    }

    fn has_issuer(&self, settings: &AuthConfig) -> bool {
        settings.issuer.as_ref().is_none_or(|wanted| {
            self.issuer.as_ref().is_some_and(|issuer| is_same_issuer(issuer, wanted))
        })
    }

    /// Reads what was stored.
    pub(super) fn read(text: &[u8]) -> io::Result<Self> {
        let damaged = |_| io::Error::other("it is damaged");
        let record: Record = serde_json::from_slice(text).map_err(damaged)?;
        match record.version == VERSION {
            true => Ok(record),
            false => Err(io::Error::other("another version of mcpool wrote it")),
        }
    }
}

/// A secret that may be absent.
pub(super) mod secret {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::redact::Secret;

    pub(in crate::oauth) fn serialize<S: Serializer>(
        value: &Option<Secret>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => out.serialize_some(value.expose()),
            None => out.serialize_none(),
        }
    }

    pub(in crate::oauth) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}

mod plain_secret {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::redact::Secret;

    pub(super) fn serialize<S: Serializer>(value: &Secret, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(value.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}
