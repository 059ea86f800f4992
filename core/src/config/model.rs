//! Owns the written shape of a config: one type for each object that may stand in a file, from which both the schema
//! and the canonical form are made. What is written is read, leniently, by `validate`; tests hold the two together.
//! Invariant: a field that is absent means its default. Nothing here can be printed: it holds secrets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::limits::Limits;
use super::validate::{
    CONNECT_TIMEOUT_MS, MAX_RESULT_CHARS, NAME_LIMIT, TOOL_TIMEOUT_MS, known_types,
};

/// MCP servers, and which of them are on.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["mcpServers"]))]
pub(super) struct Document {
    /// The place of this schema, for editors.
    #[serde(rename = "$schema")]
    pub(super) schema: Option<String>,
    /// The servers by name.
    #[schemars(with = "Servers")]
    pub(super) mcp_servers: IndexMap<String, Value>,
    /// Names of servers that are off, whatever their definition says.
    pub(super) disabled_servers: Option<Vec<String>>,
    /// Names of the only servers that are on; without it, all are.
    pub(super) enabled_servers: Option<Vec<String>>,
    /// Whether a header or variable whose value is the name of a set variable gets that variable's value.
    #[schemars(extend("default" = false))]
    pub(super) bare_env_names: Option<bool>,
}

/// One server: either a program (`command`) or an address (`url`).
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["command"]}, {"required": ["url"]}]))]
pub(super) struct Definition {
    /// How it is reached: stdio for a program, http (Streamable HTTP), sse (the older HTTP) or websocket for an
    /// address. Without it, a command means stdio and a url means http.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = known_types()))]
    pub(super) kind: Option<&'static str>,
    /// The program to start, looked up on PATH.
    #[schemars(length(min = 1))]
    pub(super) command: Option<String>,
    /// Its arguments.
    #[schemars(with = "Option<Vec<PlainText>>")]
    pub(super) args: Vec<String>,
    /// Variables set for it alone.
    #[schemars(with = "Option<BTreeMap<String, PlainText>>")]
    pub(super) env: IndexMap<String, String>,
    /// A file of further NAME=value lines; env wins over it.
    pub(super) env_file: Option<String>,
    /// Its working directory.
    pub(super) cwd: Option<String>,
    /// Its address.
    #[schemars(length(min = 1))]
    pub(super) url: Option<String>,
    /// Headers sent with each request.
    #[schemars(with = "Option<BTreeMap<String, PlainText>>")]
    pub(super) headers: IndexMap<String, String>,
    /// How to sign in.
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub(super) auth: Option<Value>,
    /// Off means: listed, never started.
    #[schemars(extend("default" = true))]
    pub(super) enabled: Option<bool>,
    /// The opposite of enabled.
    #[schemars(extend("default" = false))]
    pub(super) disabled: Option<bool>,
    /// Whether its failure makes connecting all servers an error.
    #[schemars(extend("default" = false))]
    pub(super) required: Option<bool>,
    /// Milliseconds for connect, handshake and the first tool list together.
    #[schemars(range(min = 1), extend("default" = CONNECT_TIMEOUT_MS))]
    pub(super) timeout: Option<u64>,
    /// Milliseconds for one call.
    #[schemars(range(min = 1), extend("default" = TOOL_TIMEOUT_MS))]
    pub(super) tool_timeout: Option<u64>,
    /// Milliseconds for one request: at least one and a half times toolTimeout, and at least a second more.
    #[schemars(range(min = 1))]
    pub(super) request_timeout: Option<u64>,
    /// What of our environment its process inherits: a short list without secrets, all, or nothing.
    #[schemars(extend("enum" = ["safe", "all", "none", null], "default" = "safe"))]
    pub(super) inherit_env: Option<&'static str>,
    /// Whether its tools ask for approval.
    #[schemars(extend("default" = true))]
    pub(super) requires_approval: Option<bool>,
    /// Started by its first call instead of with the others.
    #[schemars(extend("default" = false))]
    pub(super) lazy: Option<bool>,
    /// One connection for all managers of the process.
    #[schemars(extend("default" = true))]
    pub(super) shared: Option<bool>,
    /// With session, each manager has a connection of its own although the server is shared: for servers that keep
    /// state.
    #[schemars(extend("enum" = ["none", "session", null], "default" = "none"))]
    pub(super) isolate: Option<&'static str>,
    /// When it is tried again after a failure: relentless (the default of shared servers), bounded, once (the default
    /// of private ones), never, or the delays written out.
    pub(super) restart: Option<Restart>,
    /// How it is asked whether it is alive.
    #[schemars(extend("enum" = ["auto", "ping", "listTools", null], "default" = "auto"))]
    pub(super) health_probe: Option<&'static str>,
    /// Milliseconds between questions whether it is alive; off without it.
    #[schemars(range(min = 1))]
    pub(super) ping_interval: Option<u64>,
    /// Milliseconds that the connection outlives its last manager, or always.
    pub(super) keep_alive: Option<KeepAlive>,
    /// Milliseconds without a call until it is stopped; the next call starts it again. Off without it.
    #[schemars(range(min = 1))]
    pub(super) idle_shutdown: Option<u64>,
    /// How many calls may be under way at once; no bound without it.
    #[schemars(range(min = 1))]
    pub(super) max_concurrency: Option<usize>,
    /// How many characters of a result a model gets to see.
    #[schemars(range(min = 1), extend("default" = MAX_RESULT_CHARS))]
    pub(super) max_result_chars: Option<usize>,
    /// The version of the protocol to speak; auto agrees on one with the server.
    #[schemars(extend("default" = "auto"))]
    pub(super) protocol: Option<String>,
    /// Globs of the only tools to offer; without the list, all.
    pub(super) enabled_tools: Option<Vec<String>>,
    /// Globs of tools not to offer; they win over enabledTools.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) disabled_tools: Vec<String>,
    /// Another spelling of enabledTools.
    #[serde(rename = "enabled_tools")]
    #[schemars(extend("deprecated" = true))]
    pub(super) enabled_tools_in_snake_case: Option<Vec<String>>,
    /// Another spelling of disabledTools.
    #[serde(rename = "disabled_tools")]
    #[schemars(extend("deprecated" = true))]
    pub(super) disabled_tools_in_snake_case: Option<Vec<String>>,
    /// Tools by name, each on or off; or the list of enabledTools.
    pub(super) tools: Option<Tools>,
    /// Bounds on what it may cost; beyond one, the call concerned fails.
    pub(super) limits: Option<Bounds>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Restart {
    #[schemars(extend("enum" = ["relentless", "bounded", "once", "never"]))]
    Preset(&'static str),
    Custom(Delays),
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Delays {
    /// The wait in milliseconds before each restart, in order.
    pub(super) delays: Vec<u64>,
    /// Whether the last delay repeats for ever; else the server has failed once all are used up.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) forever: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum KeepAlive {
    Millis(u64),
    #[schemars(extend("enum" = ["always"]))]
    Always(&'static str),
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "read by `validate`; the canonical form has the lists")]
pub(super) enum Tools {
    ByName(BTreeMap<String, ToolSwitch>),
    Enabled(Vec<String>),
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolSwitch {
    /// Whether the tool is offered.
    #[schemars(extend("default" = true))]
    pub(super) enabled: Option<bool>,
}

#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Bounds {
    /// The longest line or body, in bytes.
    #[schemars(range(min = 1), extend("default" = Limits::default().message_bytes))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message_bytes: Option<usize>,
    /// The deepest nesting of JSON.
    #[schemars(range(min = 1), extend("default" = Limits::default().json_depth))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) json_depth: Option<usize>,
    /// How many requests of the server may be open.
    #[schemars(range(min = 1), extend("default" = Limits::default().server_requests))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server_requests: Option<usize>,
    /// How many bytes of our replies may wait for a server that does not read.
    #[schemars(range(min = 1), extend("default" = Limits::default().reply_bytes))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply_bytes: Option<usize>,
    /// How many bytes of one text of the server are shown or kept: a name, instructions, the words of an error or a log.
    #[schemars(range(min = 1), extend("default" = Limits::default().text_bytes))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text_bytes: Option<usize>,
    /// The longest definition of one tool, in bytes; a longer one is left out.
    #[schemars(range(min = 1), extend("default" = Limits::default().tool_bytes))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_bytes: Option<usize>,
    /// How many bytes the definitions of all its tools may be.
    #[schemars(range(min = 1), extend("default" = Limits::default().tool_list_bytes))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_list_bytes: Option<usize>,
}

/// The schema of `mcpServers`: names are checked too.
struct Servers;

impl JsonSchema for Servers {
    fn schema_name() -> Cow<'static, str> {
        "Servers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": {"pattern": "^[a-zA-Z0-9_.-]+$", "maxLength": NAME_LIMIT},
            "additionalProperties": generator.subschema_for::<Definition>(),
        })
    }
}

/// A string, or what a hurried author left without quotes.
struct PlainText;

impl JsonSchema for PlainText {
    fn schema_name() -> Cow<'static, str> {
        "PlainText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}
