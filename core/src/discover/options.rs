//! Owns the options of discovery: one table, as for a manager's (`crate::options`).

use std::path::PathBuf;

use serde::Deserialize;

use crate::error::Result;
use crate::host_env::HostEnv;
use crate::options::{Language, Options, options, word_options};

options! {
    /// Where to look, and what to leave out.
    #[derive(Clone, Debug)]
    #[non_exhaustive]
    pub struct DiscoverOptions of "discovery" {
        /// The project's directory. The default is the process's working directory.
        cwd: Option<PathBuf> = None,
        /// Whether the project's own files count.
        project_config: bool = true,
        /// Names of servers that are off, whatever any file says.
        disabled_servers: Vec<String> = Vec::new(),
        /// Names of the only servers that are on. The default is all.
        enabled_servers: Vec<String> = Vec::new(),
        /// Globs over names and URLs of servers to leave out.
        exclude: Vec<String> = Vec::new(),
        /// Servers that the host integrates itself. They are left out, and their keys are in the result.
        native: Vec<String> = Vec::new(),
        /// What happens to a server that is only a bridge, npx mcp-remote with a URL. "offer" keeps it and tells the direct
        /// definition, "use" replaces it.
        mcp_remote: McpRemote = McpRemote::Offer,
        /// Names of the only products whose files are read. The default is all.
        providers: Vec<String> = Vec::new(),
        /// Environment, home and platform in place of the process's own.
        host_env: HostEnv = HostEnv::process(),
    }
}

/// What to do with a server that only bridges to another one, `npx mcp-remote <url>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpRemote {
    /// Keep it, and offer the direct definition beside it.
    #[default]
    Offer,
    /// Replace it by the direct definition.
    Use,
}

word_options!(McpRemote);

impl DiscoverOptions {
    /// Reads `{"cwd": "…", "project_config": false, …}`; missing or null fields have their defaults.
    #[doc(hidden)]
    pub fn from_json(text: &str, language: Language) -> Result<Self> {
        Self::read(text, language)
    }
}
