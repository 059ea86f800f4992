//! Names our own config file.

/// The directory of a project's file.
pub(crate) const PROJECT_DIRECTORY: &str = ".mcpool";

/// The possible names of the file; the first one is used for a new file.
pub(crate) const NAMES: [&str; 5] = ["mcp.json", "mcp.jsonc", "mcp.yaml", "mcp.yml", "mcp.toml"];
