//! Owns the telemetry attributes of a call, by OpenTelemetry's conventions for MCP, for all languages. The host
//! language makes the spans and metrics, because its user configures the provider.
//! Invariant: no argument, no result and no session id; of a URL only host and port, unless error messages are enabled.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Manager, Telemetry, ToolRef};
use crate::wire::{Endpoint, Wire};

const METHOD: &str = "tools/call";

/// Attributes of a span or of a measurement, by name.
pub type Attributes = IndexMap<&'static str, Value>;

/// What is known of a call at its start, and again at its end if its server was not up before.
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
        let telemetry = self.0.options.telemetry;
        if telemetry == Telemetry::Off || self.check_process().is_err() {
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
        let mut shared: Attributes = IndexMap::new();
        shared.insert("mcp.method.name", METHOD.into());
        shared.insert("gen_ai.operation.name", "execute_tool".into());
        let servers = self.0.servers.load();
        let known = servers.get(&*server);
        let lease = known.map(|server| server.lease());
        let lease = lease.as_ref().and_then(|lease| lease.as_ref());
        let published = lease.map(|lease| lease.connection().published());
        let published_tool = published.as_ref().and_then(|seen| seen.tools.get(&name));
        let has_tool = published_tool.is_some() || self.was_offered(&server, &name);
        // Also for a disabled server; only what its definition cannot say is left out.
        if let Some(config) = known.and_then(|server| server.declared.config.as_ref().ok()) {
            shared.insert("mcpool.server.name", server.into());
            let is_pipe = config.transport.starts_program();
            shared.insert("network.transport", if is_pipe { "pipe" } else { "tcp" }.into());
        }
        let live = published.as_ref().and_then(|published| published.live.as_ref());
        if let Some(live) = live {
            shared.insert("mcp.protocol.version", live.greeting.protocol_version.as_str().into());
            let endpoint = live.session.wire().and_then(Wire::endpoint);
            if let Some(Endpoint { protocol, url }) = endpoint {
                shared.insert("network.protocol.name", protocol.into());
                if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
                    shared.insert("server.address", host.into());
                    shared.insert("server.port", port.into());
                }
            }
        }
        let complete = live.is_some();
        // A model can invent any name, so an unknown tool's name is on the span only.
        let span = match has_tool {
            true => format!("{METHOD} {name}"),
            false => METHOD.to_owned(),
        };
        let mut attributes = shared.clone();
        attributes.insert("gen_ai.tool.name", name.into());
        let measured = if has_tool { attributes.clone() } else { shared };
        let error_messages = telemetry == Telemetry::ErrorMessages;
        Some(CallTelemetry { span, attributes, measured, complete, error_messages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::manager::ManagerOptions;

    fn manager(telemetry: Telemetry) -> Manager {
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
