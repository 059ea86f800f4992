//! Owns an entry of a document as a declared server, and what the user may trust of it.

use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::super::document::{Document, WrittenServer};
use super::super::{TrustView, bridge, in_document};
use crate::config::{Declared, Level, ProjectEntry, Scope, Subject};
use crate::error::{Error, ErrorKind};
use crate::provider::normalise;

/// An entry of a document. The user's entries are normalised only if they win.
pub(super) enum Entry {
    AsWritten(WrittenServer),
    Normalised(Box<NormalisedEntry>),
}

/// A normalised entry.
pub(super) struct NormalisedEntry {
    pub(super) original: String,
    pub(super) declared: Declared,
    /// Whether the entry itself disables the server.
    pub(super) is_disabled: bool,
    /// Whether there is a command or a URL.
    pub(super) has_transport: bool,
    /// As written in the file; kept only for a project's entries.
    pub(super) definition: Value,
    pub(super) warnings: Vec<String>,
}

impl Entry {
    /// The server's name as written.
    pub(super) fn original(&self) -> &str {
        match self {
            Entry::AsWritten(written) => &written.original,
            Entry::Normalised(read) => &read.original,
        }
    }
}

/// Translates an entry into our model.
pub(super) fn normalise_entry(written: WrittenServer, document: &Document) -> NormalisedEntry {
    let WrittenServer { name, original, definition, directory } = written;
    let mut warnings = Vec::new();
    let scope = Scope { directory: Some(directory), ..document.scope.clone() };
    let declare = |definition: Map<String, Value>, warnings: &mut Vec<String>| {
        let (source, scope) = (document.source.clone(), scope.clone());
        Declared::read(&name, Value::Object(definition), source, scope, warnings)
    };
    let normal = match definition {
        Value::Object(entry) => normalise(entry, document.provider, &document.inputs),
        other => Err(format!("the definition must be an object, not {}", json_type(&other))),
    };
    let normal = match normal {
        Ok(normal) => normal,
        Err(problem) => {
            let text = format!("Server \"{name}\": {problem}");
            let error = Error::new(ErrorKind::ConfigInvalid, text).naming_server(&name);
            let declared = Declared::new(Err(error), false, document.source.clone());
            let (is_disabled, has_transport, definition) = (false, false, Value::String(problem));
            return NormalisedEntry {
                original,
                declared,
                is_disabled,
                has_transport,
                definition,
                warnings,
            };
        }
    };
    let definition = normal.definition;
    let as_written = match document.source.level {
        Level::Project => Value::Object(definition.clone()),
        Level::User | Level::Explicit => Value::Null,
    };
    let is_disabled = definition.get("enabled") == Some(&Value::Bool(false))
        || definition.get("disabled") == Some(&Value::Bool(true));
    let has_transport = has_transport(&definition);
    let direct = bridge::direct(&definition);
    let mut declared = declare(definition, &mut warnings);
    if declared.config.is_ok() {
        let direct = direct.map(|direct| declare(direct, &mut Vec::new()));
        declared.direct = direct.and_then(|direct| direct.config.ok());
    }
    warnings.extend(normal.warnings.iter().map(|it| format!("Server \"{name}\": {it}")));
    let path = document.shown_path();
    let warnings = warnings.iter().map(|warning| in_document(path, warning)).collect();
    NormalisedEntry {
        original,
        declared,
        is_disabled,
        has_transport,
        definition: as_written,
        warnings,
    }
}

fn has_transport(definition: &Map<String, Value>) -> bool {
    ["command", "url"]
        .iter()
        .any(|field| definition.get(*field).is_some_and(|value| !value.is_null()))
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The trust question's data for a project's entry.
pub(super) fn entry_of_project(
    name: &str,
    read: &NormalisedEntry,
    document: &Document,
    trust: &dyn TrustView,
) -> ProjectEntry {
    let config = read.declared.config.as_ref().ok();
    let fingerprint = match config {
        Some(config) => trust.fingerprint(config),
        None => hash(&read.definition),
    };
    let subject = subject(document, name, fingerprint);
    ProjectEntry {
        name: name.to_owned(),
        source: document.source.clone(),
        definition: config.map_or_else(|| read.definition.clone(), |config| config.to_value()),
        config: config.cloned(),
        trusted: trust.trusts(&subject),
        subject,
        held_back: None,
    }
}

pub(super) fn subject(document: &Document, server: &str, fingerprint: String) -> Arc<Subject> {
    Arc::new(Subject {
        path: document.shown_path().to_owned(),
        project: document.scope.workspace.clone().unwrap_or_default(),
        server: server.to_owned(),
        fingerprint,
    })
}

pub(super) fn hash(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    format!("{:x}", Sha256::digest(value.to_string()))
}
