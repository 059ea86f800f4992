//! Owns the document around the servers: which servers are enabled, and how their values are read.
//! Invariant: `disabledServers` always wins.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::field::{Field, FieldDefault, FieldRow};
use super::server::DEFINITION;
use super::shape::{Object, ValueShape};
use super::syntax::{Syntax, translate_definition};
use super::{Config, Declared, Scope, Source, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::similar::did_you_mean;

pub(super) use super::container::MCP_SERVERS as SERVERS;
pub(super) const DISABLED: &str = "disabledServers";
pub(super) const ENABLED: &str = "enabledServers";
pub(super) const BARE_ENV_NAMES: &str = "bareEnvNames";

/// The whole of a file.
pub(super) const DOCUMENT: Object = Object {
    name: "Config",
    about: "MCP servers, and which of them are on.",
    rows: &[FieldRow::unclassed(FIELDS)],
    is_open: true,
};

const FIELDS: &[Field] = &[
    Field::new("$schema", ValueShape::TEXT, "The place of this schema, for editors."),
    Field::new(SERVERS, ValueShape::ByName(&ValueShape::Object(&DEFINITION)), "The servers by name.")
        .required(),
    Field::new(
        DISABLED,
        ValueShape::List(&ValueShape::TEXT),
        "Names of servers that are off, whatever their definition says.",
    ),
    Field::new(
        ENABLED,
        ValueShape::List(&ValueShape::TEXT),
        "Names of the only servers that are on; without it, all are.",
    ),
    Field::new(
        BARE_ENV_NAMES,
        ValueShape::Switch,
        "Whether a header or variable whose value is the name of a set variable gets that variable's value.",
    )
    .or(FieldDefault::Value(|| false.into())),
];

impl Config {
    /// Reads `{"mcpServers": {name: definition, …}}`; comments and trailing commas are allowed.
    pub fn from_json(text: &str) -> Result<Config> {
        let parsed = parse::parse(text, parse::Format::Json).map_err(|error| {
            let (line, column) = (error.line, error.column);
            let text = format!("The config is {} (line {line}, column {column})", error.message);
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        let mut config = Config::from_value(parsed.value)?;
        let warnings = parsed.remarks.iter().map(|remark| format!("The config:{remark}"));
        config.warnings = warnings.chain(std::mem::take(&mut config.warnings)).collect();
        Ok(config)
    }

    /// Reads an already parsed `{"mcpServers": {name: definition, …}}`.
    pub fn from_value(document: Value) -> Result<Config> {
        Config::from_document(document, &Source::code())
    }

    pub(super) fn from_document(document: Value, source: &Source) -> Result<Config> {
        let Value::Object(mut document) = document else {
            return Err(invalid("The config must be an object with \"mcpServers\""));
        };
        let servers = match document.remove(SERVERS) {
            Some(Value::Object(servers)) => servers,
            Some(_) => return Err(invalid("\"mcpServers\" must be an object of servers by name")),
            None => return Err(invalid("The config has no \"mcpServers\"")),
        };
        let mut warnings = Vec::new();
        let disabled = names(&mut document, DISABLED, &mut warnings).unwrap_or_default();
        let enabled = names(&mut document, ENABLED, &mut warnings);
        let bare_env_names = switch(&mut document, BARE_ENV_NAMES, &mut warnings);
        warn_of_misspelt(&document, &mut warnings);
        let mut config = Config { warnings, ..Config::default() };
        for (name, mut definition) in servers {
            if let Value::Object(definition) = &mut definition {
                translate_definition(definition, Syntax::OURS);
            }
            let scope = Scope { bare_env_names, ..Scope::default() };
            let warnings = &mut config.warnings;
            let mut declared = Declared::read(&name, definition, source.clone(), scope, warnings);
            if let Ok(server) = &mut declared.config {
                let listed = enabled.as_ref().is_none_or(|enabled| enabled.contains(&name));
                server.enabled &= listed && !disabled.contains(&name);
            }
            config.servers.insert(name, declared);
        }
        Ok(config)
    }
}

fn names(
    document: &mut Map<String, Value>,
    key: &str,
    warnings: &mut Vec<String>,
) -> Option<HashSet<String>> {
    let written = document.remove(key).filter(|written| !written.is_null())?;
    let names = match written {
        Value::Array(names) => names
            .into_iter()
            .map(|name| if let Value::String(name) = name { Some(name) } else { None })
            .collect::<Option<_>>(),
        _ => None,
    };
    if names.is_none() {
        warnings.push(format!("\"{key}\" must be a list of names; it is left aside"));
    }
    names
}

fn switch(document: &mut Map<String, Value>, key: &str, warnings: &mut Vec<String>) -> bool {
    match document.remove(key) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(on)) => on,
        Some(_) => {
            warnings.push(format!("\"{key}\" must be true or false; false is used"));
            false
        }
    }
}

/// A key that resembles none of ours belongs to another program that shares the file.
pub(crate) fn warn_of_misspelt(document: &Map<String, Value>, warnings: &mut Vec<String>) {
    let names = || FIELDS.iter().map(|field| field.name);
    for key in document.keys().filter(|key| !names().any(|name| name == key.as_str())) {
        if let Some(meant) = did_you_mean(key, names()) {
            warnings.push(format!("\"{key}\" has no effect; did you mean \"{meant}\"?"));
        }
    }
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::ConfigInvalid, message)
        .with_hint("write {\"mcpServers\": {\"name\": {\"command\": …} or {\"url\": …}}}")
}
