//! Owns trust requests from another language: the verb by name, the rest as JSON.

use std::path::PathBuf;

use serde::Deserialize;

use super::{Trusted, trust, trusted, untrust};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::{HostEnv, WrittenHostEnv};
use crate::redact;

/// A parsed request that has not run yet.
pub struct TrustRequest {
    verb: String,
    written: RequestJson,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestJson {
    path: Option<PathBuf>,
    servers: Option<Vec<String>>,
    host_env: Option<WrittenHostEnv>,
}

impl TrustRequest {
    /// Reads `{"path": "…", "servers": ["…"], "host_env": {…}}`. Unknown fields are refused: a misspelt list of
    /// servers must not become all of them.
    #[doc(hidden)]
    pub fn from_json(verb: &str, text: &str) -> Result<TrustRequest> {
        let written = redact::from_json(text).map_err(|why| {
            let text = format!("The options of trust cannot be used: {why}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Ok(TrustRequest { verb: verb.to_owned(), written })
    }

    /// Executes the request; blocks on the disk.
    pub fn run(self) -> Result<Vec<Trusted>> {
        let RequestJson { path, servers, host_env } = self.written;
        let path = path.unwrap_or_default();
        let host_env: HostEnv = host_env.map(Into::into).unwrap_or_default();
        match self.verb.as_str() {
            "trust" => trust(&path, servers.as_deref(), &host_env),
            "untrust" => untrust(&path, servers.as_deref(), &host_env),
            "trusted" => trusted(&host_env),
            verb => {
                let text = format!("There is no verb {verb:?} about trust");
                Err(Error::new(ErrorKind::InvalidArguments, text))
            }
        }
    }
}
