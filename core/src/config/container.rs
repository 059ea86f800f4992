//! Names the keys under which products keep their servers. `discover` knows which product uses which key; `edit` looks
//! for the key that a file has.

pub(crate) const MCP_SERVERS: &str = "mcpServers";
pub(crate) const SERVERS: &str = "servers";
pub(crate) const CONTEXT_SERVERS: &str = "context_servers";
pub(crate) const MCP_SERVERS_IN_SNAKE_CASE: &str = "mcp_servers";
pub(crate) const MCP: &str = "mcp";
pub(crate) const EXTENSIONS: &str = "extensions";

/// All of them, in the order in which they are looked for.
pub(crate) const ALL: &[&str] =
    &[MCP_SERVERS, SERVERS, CONTEXT_SERVERS, MCP_SERVERS_IN_SNAKE_CASE, MCP, EXTENSIONS];

/// Keys that other programs also use for other things.
pub(crate) const AMBIGUOUS: &[&str] = &[MCP, EXTENSIONS];
