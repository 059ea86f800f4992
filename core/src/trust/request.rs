//! Owns trust requests from another language: the verb by name, the rest as JSON.

use std::path::PathBuf;

use super::{Trusted, trust, trusted, untrust};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::options::{Language, Options, options};

options! {
    /// A parsed request that has not run yet.
    #[non_exhaustive]
    pub struct TrustRequest of "trust" {
        ;
        /// Only these servers; all of the file when left out.
        servers: Option<Vec<String>> = None,
        /// Environment, home and platform in place of the process's own.
        host_env: HostEnv = HostEnv::process(),
        /// The project's config file.
        path: Option<PathBuf> = None,
        ;
        /// What is asked for: `trust`, `untrust` or `trusted`.
        verb: String = String::new(),
    }
}

impl TrustRequest {
    /// Reads `{"path": "…", "servers": ["…"], "host_env": {…}}`. Unknown fields are refused: a misspelt list of
    /// servers must not become all of them.
    #[doc(hidden)]
    pub fn from_json(verb: &str, text: &str, language: Language) -> Result<TrustRequest> {
        Ok(TrustRequest { verb: verb.to_owned(), ..Self::read(text, language)? })
    }

    /// Executes the request; blocks on the disk.
    pub fn run(self) -> Result<Vec<Trusted>> {
        let TrustRequest { path, servers, host_env, verb } = self;
        let path = path.unwrap_or_default();
        match verb.as_str() {
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
