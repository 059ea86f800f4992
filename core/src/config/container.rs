//! Names the keys under which products keep their servers. `provider` knows which product uses which key.

pub(crate) const MCP_SERVERS: &str = "mcpServers";
pub(crate) const SERVERS: &str = "servers";
pub(crate) const CONTEXT_SERVERS: &str = "context_servers";
pub(crate) const MCP_SERVERS_IN_SNAKE_CASE: &str = "mcp_servers";
pub(crate) const MCP: &str = "mcp";
pub(crate) const EXTENSIONS: &str = "extensions";

/// Keys that other programs also use for other things.
pub(crate) const AMBIGUOUS: &[&str] = &[MCP, EXTENSIONS];
