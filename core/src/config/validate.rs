//! Checks the name and the definition of one server.
//! Invariant: a mistake is that server's error, or a warning that names the field.

use serde_json::Value;

use super::field::fields_of;
use super::reader::FieldReader;
use super::{ServerConfig, TransportConfig};
use crate::error::{Error, ErrorKind, Result};

pub(super) const NAME_LIMIT: usize = 100;

/// Whether `name` is a valid server name.
pub fn check_name(name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "Server name cannot be empty".to_owned()
    } else if name.chars().count() > NAME_LIMIT {
        format!("Server name is too long (max {NAME_LIMIT} characters)")
    } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) {
        format!("Server name \"{name}\" may only contain letters, digits, \"_\", \".\" and \"-\"")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::ConfigInvalid, problem).with_server(name))
}

/// Turns one definition into a config, or into that server's error.
pub(super) fn server(
    name: &str,
    definition: Value,
    warnings: &mut Vec<String>,
) -> Result<ServerConfig> {
    check_name(name)?;
    let Value::Object(object) = definition else {
        let problem = format!("Server \"{name}\": the definition must be an object");
        return Err(Error::new(ErrorKind::ConfigInvalid, problem).with_server(name));
    };
    let mut reader = FieldReader::new(name, object, warnings);
    for field in fields_of(ServerConfig::ROWS).filter(|field| field.is_planned) {
        reader.warn_of_no_effect(field.name);
    }
    let config = ServerConfig::read(&mut reader)?;
    if config.tls.is_some()
        && let Some(without) = transport_without_tls(&config.transport)
    {
        reader.warn_of("tls", &format!("has no effect on {without}"));
    }
    reader.finish();
    Ok(config)
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
