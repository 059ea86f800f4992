//! Owns trust requests from another language: the verb by name, the rest as JSON.

use std::path::PathBuf;

use serde::Deserialize;

use super::{Trusted, trust, trusted, untrust};
use crate::error::{Error, ErrorKind, Result};
use crate::redact;
use crate::surroundings::{Surroundings, WrittenSurroundings};

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
    surroundings: Option<WrittenSurroundings>,
}

impl TrustRequest {
    /// Reads `{"path": "…", "servers": ["…"], "surroundings": {…}}`. Unknown fields are refused: a misspelt list of
    /// servers must not become all of them.
    pub fn from_json(verb: &str, text: &str) -> Result<TrustRequest> {
        let written = serde_json::from_str(text).map_err(|error| {
            let text = format!("The options of trust cannot be used: {}", redact::reason(&error));
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Ok(TrustRequest { verb: verb.to_owned(), written })
    }

    /// Executes the request; blocks on the disk.
    pub fn run(self) -> Result<Vec<Trusted>> {
        let RequestJson { path, servers, surroundings } = self.written;
        let path = path.unwrap_or_default();
        let surroundings: Surroundings = surroundings.map(Into::into).unwrap_or_default();
        match self.verb.as_str() {
            "trust" => trust(&path, servers.as_deref(), &surroundings),
            "untrust" => untrust(&path, servers.as_deref(), &surroundings),
            "trusted" => trusted(&surroundings),
            verb => {
                let text = format!("There is no verb {verb:?} about trust");
                Err(Error::new(ErrorKind::InvalidArguments, text))
            }
        }
    }
}
