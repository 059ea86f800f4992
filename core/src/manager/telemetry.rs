//! Owns the telemetry attributes of a call, by OpenTelemetry's conventions for MCP, for all languages; `requests` has
//! those of other requests. The host language makes the spans and metrics, because its user configures the provider.
//! Invariant: no argument, no result and no session id; of a URL only host and port, unless error messages are enabled.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Manager, Telemetry, ToolRef};
use crate::wire::{Endpoint, Wire};

mod known_prompts;
mod requests;

pub(super) use known_prompts::KnownPrompts;

const METHOD: &str = "tools/call";

/// Attributes of a span or of a measurement, by name.
pub type Attributes = IndexMap<&'static str, Value>;

/// What is known of a call or request at its start, and again at its end if its server was not up before.
#[derive(Debug, Serialize)]
pub struct CallTelemetry {
    /// The name of its span.
    pub span: String,
    /// The attributes of its span.
    pub attributes: Attributes,
    /// The attributes of its duration metric, each with low cardinality.
    pub measured: Attributes,
    /// Whether its server was up, so that nothing more will be known at the end.
    pub complete: bool,
    /// Whether its span includes the error message.
    pub error_messages: bool,
}

/// The attribute values that do not depend on the call.
pub fn words() -> Value {
    json!({
        "scope": "mcpool",
        "version": env!("CARGO_PKG_VERSION"),
        "duration": {
            "name": "mcp.client.operation.duration",
            "unit": "s",
            "description": "How long a request to an MCP server took, from its sending to its end",
            "boundaries": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
        },
        "error_type": "error.type",
        "status_code": "rpc.response.status_code",
        "tool_error": "tool_error",
        "cancelled": "cancelled",
        "other": "_OTHER",
    })
}

impl Manager {
    /// The telemetry of a call of this tool; `None` if the manager's options disable it.
    pub fn telemetry(&self, tool: ToolRef<'_>) -> Option<CallTelemetry> {
        if !self.has_telemetry() {
            return None;
        }
        let (server, name): (Cow<'_, str>, Cow<'_, str>) = match tool {
            ToolRef::Of { server, tool } => (server.into(), tool.into()),
            ToolRef::Named(name) => match self.tool_named(&self.catalog(), name) {
                Some(tool) => (tool.server().to_owned().into(), tool.raw_name().to_owned().into()),
                None => match self.former_tool_named(name) {
                    Some((server, tool)) => (server.into(), tool.into()),
                    None => ("".into(), name.into()),
                },
            },
        };
        let mut facts = self.describe(METHOD, &server)?;
        let has_tool = self.has_tool(&server, &name) || self.was_offered(&server, &name);
        // A model can invent any name, so an unknown tool's name is on the span only.
        if has_tool {
            facts.span = format!("{METHOD} {name}");
            facts.measured.insert("gen_ai.tool.name", name.as_ref().into());
        }
        facts.attributes.insert("gen_ai.tool.name", name.into());
        for attributes in [&mut facts.attributes, &mut facts.measured] {
            attributes.insert("gen_ai.operation.name", "execute_tool".into());
        }
        Some(facts)
    }

    fn has_telemetry(&self) -> bool {
        self.0.options.telemetry != Telemetry::Off && self.check_process().is_ok()
    }

    fn has_tool(&self, server: &str, name: &str) -> bool {
        let servers = self.0.servers.load();
        let lease = servers.get(server).map(|server| server.lease());
        let lease = lease.as_ref().and_then(|lease| lease.as_ref());
        lease.is_some_and(|lease| lease.connection().published().tools.get(name).is_some())
    }

    /// What a request of this method has in common with all requests to its server; `None` if telemetry is disabled.
    fn describe(&self, method: &str, server: &str) -> Option<CallTelemetry> {
        if !self.has_telemetry() {
            return None;
        }
        let mut attributes: Attributes = IndexMap::new();
        attributes.insert("mcp.method.name", method.into());
        let servers = self.0.servers.load();
        let known = servers.get(server);
        let lease = known.map(|server| server.lease());
        let lease = lease.as_ref().and_then(|lease| lease.as_ref());
        let published = lease.map(|lease| lease.connection().published());
        // Also for a disabled server; only what its definition cannot say is left out.
        if let Some(config) = known.and_then(|server| server.declared.config.as_ref().ok()) {
            attributes.insert("mcpool.server.name", server.into());
            let is_pipe = config.transport.starts_program();
            attributes.insert("network.transport", if is_pipe { "pipe" } else { "tcp" }.into());
        }
        let live = published.as_ref().and_then(|published| published.live.as_ref());
        if let Some(live) = live {
            attributes
                .insert("mcp.protocol.version", live.greeting.protocol_version.as_str().into());
            let endpoint = live.session.wire().and_then(Wire::endpoint);
            if let Some(Endpoint { protocol, url }) = endpoint {
                attributes.insert("network.protocol.name", protocol.into());
                if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
                    attributes.insert("server.address", host.into());
                    attributes.insert("server.port", port.into());
                }
            }
        }
        Some(CallTelemetry {
            span: method.to_owned(),
            measured: attributes.clone(),
            complete: live.is_some(),
            error_messages: self.0.options.telemetry == Telemetry::ErrorMessages,
            attributes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::manager::ManagerOptions;

    pub(super) fn manager(telemetry: Telemetry) -> Manager {
        let servers =
            json!({"mcpServers": {"s": {"command": "x"}, "w": {"url": "http://h/?key=k"}}});
        let config = Config::from_value(servers).expect("a valid config");
        Manager::new(config, ManagerOptions { telemetry, ..ManagerOptions::default() })
    }

    #[test]
    fn the_name_of_an_unknown_tool_is_on_the_span_only() {
        let told =
            manager(Telemetry::Codes).telemetry(ToolRef::Named("thought up")).expect("it is on");
        assert_eq!((told.span.as_str(), told.complete), (METHOD, false));
        assert_eq!(told.attributes["gen_ai.tool.name"], "thought up");
        assert_eq!(told.measured.get("gen_ai.tool.name"), None);
    }

    #[test]
    fn the_transport_of_a_server_that_is_not_up_is_known() {
        let network = |server| {
            let told = manager(Telemetry::Codes).telemetry(ToolRef::Of { server, tool: "t" });
            told.expect("it is on").attributes.get("network.transport").cloned()
        };
        assert_eq!(network("s"), Some("pipe".into()));
        assert_eq!(network("w"), Some("tcp".into()));
        assert_eq!(network("nobody"), None);
    }

    #[test]
    fn it_can_be_switched_off() {
        assert!(manager(Telemetry::Off).telemetry(ToolRef::Named("t")).is_none());
    }
}
