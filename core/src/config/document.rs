//! Declares the document around the servers: which servers are enabled, and how their values are read. `discover` reads
//! it, as it reads other products' documents.

use serde_json::{Map, Value};

use super::field::{Field, FieldDefault, FieldRow};
use super::server::DEFINITION;
use super::shape::{Object, ValueShape};
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

/// Takes the switch of the document about bare names of variables.
pub(crate) fn take_bare_env_names(
    document: &mut Map<String, Value>,
    warnings: &mut Vec<String>,
) -> bool {
    match document.remove(BARE_ENV_NAMES) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(on)) => on,
        Some(_) => {
            warnings.push(format!("\"{BARE_ENV_NAMES}\" must be true or false; false is used"));
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
