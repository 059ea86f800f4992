//! Builds configs in code. Definitions are checked by the rules that hold for files.

use indexmap::IndexMap;

use super::{Config, Declared, Remote, Scope, ServerConfig, Source, TransportConfig};
use crate::error::Result;
use crate::redact::Secret;

impl ServerConfig {
    /// A program and its arguments; all else is the default.
    ///
    /// ```
    /// # fn main() -> mcpool::Result<()> {
    /// use std::time::Duration;
    ///
    /// use mcpool::{Config, ServerConfig};
    ///
    /// let time = ServerConfig::stdio("uvx", ["mcp-server-time"]).timeout(Duration::from_secs(60));
    /// let docs = ServerConfig::http("https://example.com/mcp").header("Authorization", "Bearer ${DOCS_TOKEN}");
    /// let config = Config::default().server("time", time)?.server("docs", docs)?;
    /// assert_eq!(config.servers.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdio(
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> ServerConfig {
        let args = args.into_iter().map(Into::into).collect();
        ServerConfig::with_defaults(TransportConfig::Stdio {
            command: command.into(),
            args,
            env: IndexMap::new(),
            env_file: None,
            cwd: None,
        })
    }

    /// A Streamable HTTP server; all else is the default.
    pub fn http(url: impl Into<String>) -> ServerConfig {
        let (headers, env) = (IndexMap::new(), IndexMap::new());
        ServerConfig::with_defaults(TransportConfig::Http(Remote { url: url.into(), headers, env }))
    }

    /// Adds a variable to its `env`.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> ServerConfig {
        self.transport.env_mut().insert(name.into(), Secret::new(value.into()));
        self
    }

    /// Adds a header that is sent with each request; a program has none.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> ServerConfig {
        if let Some(remote) = self.transport.remote_mut() {
            remote.headers.insert(name.into(), Secret::new(value.into()));
        }
        self
    }
}

impl Config {
    /// Adds a server, or replaces the one of this name. The name and the definition are checked as in a file.
    pub fn server(mut self, name: &str, server: ServerConfig) -> Result<Config> {
        let (source, scope) = (Source::code(), Scope::default());
        let definition = server.to_value();
        let declared = Declared::read(name, definition, source, scope, &mut self.warnings);
        if let Err(error) = &declared.config {
            return Err(error.clone());
        }
        self.servers.insert(name.to_owned(), declared);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_built_in_code_is_the_one_that_a_file_would_have() {
        let server = ServerConfig::stdio("x", ["-a"])
            .env("KEY", "v")
            .timeout(Duration::from_secs(5))
            .lazy(true);
        let written = json!({"command": "x", "args": ["-a"], "env": {"KEY": "v"}, "timeout": 5000, "lazy": true});
        assert_eq!(server.to_value(), written);
        let remote = ServerConfig::http("https://h/mcp").header("A", "1");
        assert_eq!(remote.to_value(), json!({"url": "https://h/mcp", "headers": {"A": "1"}}));
        let config = Config::default().server("a", server).unwrap().server("b", remote).unwrap();
        assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_definition_built_in_code_has_the_defaults_of_a_file() {
        let mut file = Config::from_value(json!({"mcpServers": {"a": {"command": "x"}}})).unwrap();
        let read = file.servers.swap_remove("a").unwrap().config.unwrap();
        let built = ServerConfig::stdio("x", [""; 0]);
        assert_eq!(format!("{built:?}"), format!("{read:?}"));
    }

    #[test]
    fn what_a_file_may_not_say_is_refused_in_code_too() {
        let config = || Config::default();
        let refused = |name: &str, server| config().server(name, server).unwrap_err().code();
        assert_eq!(refused("a b", ServerConfig::stdio("x", [""; 0])), "CONFIG_INVALID");
        assert_eq!(refused("a", ServerConfig::http("ftp://h/")), "CONFIG_INVALID");
    }
}
