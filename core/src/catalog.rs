//! Owns the tools that an agent can call: each server's tools as the server wrote them, and the whole catalog with
//! names that are legal, unique and stable.
//! Invariant: routing is by map, never by taking a name apart; a schema is shown as it came.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

mod cache;
mod name;

pub(crate) use cache::Cache;
pub use name::{Naming, NamingFunction};

/// One tool of one server, as the server wrote it; parts are read when looked at.
#[derive(Debug)]
pub struct ServerTool {
    server: Arc<str>,
    raw_name: String,
    /// The raw name as the server wrote it in JSON, ready for the wire.
    name_json: Bytes,
    json: Bytes,
    repeatable: OnceLock<bool>,
}

#[derive(Deserialize, Default)]
struct Parts<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputSchema")]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "outputSchema")]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    icons: Option<&'a RawValue>,
}

fn as_text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

impl ServerTool {
    /// Reads one entry of a tool list; says what is wrong with it otherwise.
    pub(crate) fn read(server: &Arc<str>, json: Bytes) -> Result<Self, String> {
        let parts: Parts<'_> =
            serde_json::from_slice(&json).map_err(|_| "it is not an object".to_owned())?;
        let raw_name = as_text(parts.name).filter(|name| !name.is_empty());
        let raw_name = raw_name.ok_or("it has no name")?;
        let usable = parts.input_schema.is_none_or(|schema| schema.get().starts_with('{'));
        if !usable {
            return Err(format!("the input schema of \"{raw_name}\" is not an object"));
        }
        let name_json = parts.name.map(|name| json.slice_ref(name.get().as_bytes()));
        let name_json = name_json.unwrap_or_default();
        let repeatable = OnceLock::new();
        Ok(ServerTool { server: server.clone(), raw_name, name_json, json, repeatable })
    }

    fn parts(&self) -> Parts<'_> {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The server it belongs to.
    pub fn server(&self) -> &str {
        &self.server
    }
    /// The server's name for it.
    pub fn raw_name(&self) -> &str {
        &self.raw_name
    }
    pub(crate) fn name_json(&self) -> &str {
        std::str::from_utf8(&self.name_json).unwrap_or_default()
    }
    pub(crate) fn raw(&self) -> Bytes {
        self.json.clone()
    }
    /// The whole entry as the server wrote it.
    pub fn json(&self) -> &str {
        std::str::from_utf8(&self.json).unwrap_or_default()
    }
    /// Its title for people.
    pub fn title(&self) -> Option<String> {
        as_text(self.parts().title)
    }
    /// Its description for the model.
    pub fn description(&self) -> String {
        as_text(self.parts().description)
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| format!("MCP tool from {}", self.server))
    }
    /// The JSON Schema of its arguments, as JSON text; always an object schema with `properties`.
    pub fn input_schema(&self) -> String {
        match self.parts().input_schema {
            None => r#"{"type":"object","properties":{}}"#.to_owned(),
            Some(schema) => with_properties(schema.get()),
        }
    }
    /// The JSON Schema of its structured results, as JSON text.
    pub fn output_schema(&self) -> Option<&str> {
        self.parts().output_schema.map(RawValue::get)
    }
    /// The server's hints about it, as JSON text.
    pub fn annotations(&self) -> Option<&str> {
        self.parts().annotations.map(RawValue::get)
    }
    /// Its icons, as JSON text.
    pub fn icons(&self) -> Option<&str> {
        self.parts().icons.map(RawValue::get)
    }
    /// Whether the server says that running it twice does no harm.
    pub(crate) fn is_repeatable(&self) -> bool {
        #[derive(Deserialize, Default)]
        #[serde(default, rename_all = "camelCase")]
        struct Hints {
            read_only_hint: bool,
            idempotent_hint: bool,
        }
        *self.repeatable.get_or_init(|| {
            let hints: Hints = self
                .annotations()
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default();
            hints.read_only_hint || hints.idempotent_hint
        })
    }
    /// Changes when name, description, schema or annotations change, and only then.
    pub fn fingerprint(&self) -> String {
        let parts = self.parts();
        let mut hash = Sha256::new();
        hash.update(&self.raw_name);
        for part in [parts.description, parts.input_schema, parts.annotations] {
            hash.update([0]);
            let value: Value =
                part.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
            hash.update(sorted(value).to_string());
        }
        name::hex(&hash.finalize())
    }
}

/// An object schema without `properties` is refused by some models: it gets an empty one.
fn with_properties(schema: &str) -> String {
    let Ok(fields) = serde_json::from_str::<indexmap::IndexMap<String, &RawValue>>(schema) else {
        return schema.to_owned();
    };
    let is_object = fields.get("type").is_some_and(|kind| kind.get() == "\"object\"");
    if !is_object || fields.contains_key("properties") {
        return schema.to_owned();
    }
    match schema.trim_end().strip_suffix('}') {
        Some(body) => format!("{body},\"properties\":{{}}}}"),
        None => schema.to_owned(),
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

/// A tool under the name that agents use.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name in the catalog.
    pub name: String,
    /// The tool itself.
    pub of: Arc<ServerTool>,
    /// Whether it can be called at once.
    pub state: ToolState,
    /// Whether a person should approve its calls.
    pub requires_approval: bool,
    via: Arc<str>,
}

impl Tool {
    /// Where it comes from, for people: its server, and the product whose config declares that.
    pub fn provider(&self) -> String {
        format!("mcp:{} via {}", self.of.server, self.via)
    }
}

/// Whether a tool's server is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// Its server is up.
    Live,
    /// Known from before; a call waits for the server.
    Deferred,
}

impl ToolState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            ToolState::Live => "live",
            ToolState::Deferred => "deferred",
        }
    }
}

/// The tools of one server, as a manager shows them.
pub(crate) struct Slice {
    pub(crate) tools: Arc<Vec<Arc<ServerTool>>>,
    pub(crate) state: ToolState,
    pub(crate) requires_approval: bool,
    /// The provider of the server's definition.
    pub(crate) via: Arc<str>,
}

/// All tools of a manager at one moment, sorted by name.
#[derive(Debug, Default)]
pub struct Catalog {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
}

impl Catalog {
    pub(crate) fn build(slices: Vec<Slice>, naming: &Naming) -> Self {
        let all: Vec<_> = slices.iter().flat_map(|slice| slice.tools.iter().cloned()).collect();
        let names = naming.name_all(&all);
        let shown = slices.iter().flat_map(|slice| slice.tools.iter().map(move |_| slice));
        let mut tools: Vec<Tool> = names
            .into_iter()
            .zip(all)
            .zip(shown)
            .map(|((name, of), slice)| Tool {
                name,
                of,
                state: slice.state,
                requires_approval: slice.requires_approval,
                via: slice.via.clone(),
            })
            .collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let by_name = tools.iter().enumerate().map(|(at, tool)| (tool.name.clone(), at)).collect();
        Catalog { tools, by_name }
    }

    /// All tools, sorted by name.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|&at| &self.tools[at])
    }
}

/// The candidate that `wanted` was most likely meant to be.
pub(crate) fn did_you_mean<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .map(|candidate| (edits(wanted, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(json: &'static str) -> Result<ServerTool, String> {
        ServerTool::read(&"s".into(), json.into())
    }

    #[test]
    fn a_tool_without_much_gets_what_models_need() {
        let tool = tool(r#"{"name":"t"}"#).unwrap();
        assert_eq!(tool.description(), "MCP tool from s");
        assert_eq!(tool.input_schema(), r#"{"type":"object","properties":{}}"#);
    }

    #[test]
    fn a_schema_stays_as_it_came_but_for_missing_properties() {
        let shown = |json| tool(json).unwrap().input_schema();
        assert_eq!(
            shown(r#"{"name":"t","inputSchema":{"type":"object"}}"#),
            r#"{"type":"object","properties":{}}"#
        );
        assert_eq!(
            shown(r#"{"name":"t","inputSchema":{"type":"object","x":{"y":{}}}}"#),
            r#"{"type":"object","x":{"y":{}},"properties":{}}"#
        );
        let odd = r#"{"z":1,"type":"object","x-y":1e400,"properties":{"b":{},"a":{}}}"#;
        let json: &'static str = format!(r#"{{"name":"t","inputSchema":{odd}}}"#).leak();
        assert_eq!(shown(json), odd);
    }

    #[test]
    fn what_is_no_tool_is_refused() {
        for json in
            ["7", "{}", r#"{"name":7}"#, r#"{"name":""}"#, r#"{"name":"t","inputSchema":[]}"#]
        {
            assert!(tool(json).is_err(), "{json}");
        }
        assert!(tool(r#"{"name":"t","annotations":7,"description":[1]}"#).is_ok());
    }

    #[test]
    fn the_fingerprint_ignores_key_order_only() {
        let print = |json| tool(json).unwrap().fingerprint();
        let one = print(r#"{"name":"t","inputSchema":{"a":1,"b":2}}"#);
        assert_eq!(one, print(r#"{"inputSchema":{"b":2,"a":1},"name":"t"}"#));
        assert_ne!(one, print(r#"{"name":"t","inputSchema":{"a":1,"b":3}}"#));
    }

    #[test]
    fn typing_mistakes_find_their_tool() {
        let names = ["read_file", "write_file", "list_directory"];
        assert_eq!(did_you_mean("readfile", names.into_iter()), Some("read_file"));
        assert_eq!(did_you_mean("zzzzzzzzzzzz", names.into_iter()), None);
    }
}
