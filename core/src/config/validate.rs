//! Checks the name and the definition of one server.
//! Invariant: a mistake is that server's error, or a warning that names the field.

use serde_json::{Map, Value};

use super::field::fields_of;
use super::reader::FieldReader;
use super::{ServerConfig, TransportConfig, field_names};
use crate::camel_case::camel_case;
use crate::error::{Error, ErrorKind, Result};
use crate::options::without_unit;
use crate::similar::did_you_mean;

pub(super) const NAME_LIMIT: usize = 100;
/// How many fields of a server that are none are named.
const MOST_UNKNOWN: usize = 20;
/// A longer name is no misspelt one of ours.
const LONGEST_MISSPELT: usize = 40;

/// Whether `name` is a valid server name.
pub fn check_name(name: &str) -> Result<()> {
    let invalid = |problem: String| Error::new(ErrorKind::ConfigInvalid, problem);
    Err(if name.is_empty() {
        invalid("Server name cannot be empty".to_owned()).with_server(name)
    } else if name.chars().count() > NAME_LIMIT {
        invalid(format!("Server name is too long (max {NAME_LIMIT} characters)")).with_server(name)
    } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) {
        let problem = "may only contain letters, digits, \"_\", \".\" and \"-\"";
        invalid(format!("Server name \"{name}\" {problem}")).naming_server(name)
    } else {
        return Ok(());
    })
}

/// Turns one definition into a config, or into that server's error.
pub(crate) fn server(
    name: &str,
    definition: Value,
    warnings: &mut Vec<String>,
) -> Result<ServerConfig> {
    check_name(name)?;
    let Value::Object(object) = definition else {
        let problem = format!("Server \"{name}\": the definition must be an object");
        return Err(Error::new(ErrorKind::ConfigInvalid, problem).naming_server(name));
    };
    let is_known = |key: &str| fields_of(ServerConfig::ROWS).any(|field| field.name == key);
    let (object, unknown): (Map<_, _>, Map<_, _>) =
        object.into_iter().partition(|(key, _)| is_known(key));
    let misspelt = warn_of_unknown(name, unknown.keys(), warnings);
    let mut reader = FieldReader::new(name, object, warnings);
    let config = ServerConfig::read(&mut reader).map_err(|error| match misspelt {
        Some(hint) => error.with_hint(hint),
        None => error,
    })?;
    if config.tls.is_some()
        && let Some(without) = transport_without_tls(&config.transport)
    {
        reader.warn_of("tls", &format!("has no effect on {without}"));
    }
    let kind = if config.transport.starts_program() { "a program" } else { "an address" };
    for key in reader.keys() {
        reader.warn_of(&key, &format!("has no effect on {kind}"));
    }
    Ok(config)
}

/// Warns of fields that are none; returns a guess at what the first misspelt one was meant to be.
fn warn_of_unknown<'k>(
    name: &str,
    unknown: impl ExactSizeIterator<Item = &'k String>,
    warnings: &mut Vec<String>,
) -> Option<String> {
    let (mut first, more) = (None, unknown.len().saturating_sub(MOST_UNKNOWN));
    for key in unknown.take(MOST_UNKNOWN) {
        let is_short = key.len() <= LONGEST_MISSPELT;
        let bare = camel_case(without_unit(key));
        let other_unit = || field_names().find(|field| *field == bare);
        let meant = is_short.then(|| other_unit().or_else(|| did_you_mean(key, field_names())));
        let meant = meant.flatten();
        let key: String = key.chars().take(NAME_LIMIT).collect();
        let no_field =
            format!("Server \"{name}\": \"{key}\" is no field of a server and has no effect");
        warnings.push(match meant {
            Some(meant) => {
                let guess = format!("did you mean \"{meant}\"?");
                first.get_or_insert_with(|| format!("\"{key}\" is no field of a server; {guess}"));
                format!("{no_field}; {guess}")
            }
            None => no_field,
        });
    }
    if more > 0 {
        warnings.push(format!("Server \"{name}\": {more} more fields have no effect"));
    }
    first
}

/// What TLS settings have no effect on, as far as it is visible in the definition.
fn transport_without_tls(transport: &TransportConfig) -> Option<&'static str> {
    let Some(remote) = transport.remote() else { return Some("a program") };
    let scheme = remote.url.split_once("://")?.0.to_ascii_lowercase();
    match scheme.as_str() {
        "http" => Some("an http:// address"),
        "ws" => Some("a ws:// address"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
