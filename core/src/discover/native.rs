//! Owns the services that a host may integrate by itself: how to know their servers, and where these keep the key.

use indexmap::IndexMap;

use crate::config::{Level, ServerConfig, Transport};
use crate::redact::Secret;
use crate::variable_name::name_length;

/// A service with an integration of its own.
pub(super) struct Native {
    pub(super) name: &'static str,
    host: &'static str,
    /// The query parameter of the address that holds the key.
    parameter: &'static str,
    /// The variable that holds the key.
    variable: &'static str,
}

pub(super) const NATIVES: &[Native] =
    &[Native { name: "exa", host: "mcp.exa.ai", parameter: "exaApiKey", variable: "EXA_API_KEY" }];

impl Native {
    pub(super) fn named(name: &str) -> Option<&'static Native> {
        NATIVES.iter().find(|native| native.name == name)
    }

    pub(super) fn is(&self, name: &str, config: Option<&ServerConfig>) -> bool {
        let at_host = |text: &String| text.to_ascii_lowercase().contains(self.host);
        name.eq_ignore_ascii_case(self.name)
            || config.is_some_and(|config| addresses(config).iter().any(|text| at_host(text)))
    }

    /// The key, where the definition has one; a reference is looked up, unless a project wrote it.
    pub(super) fn key(&self, config: &ServerConfig) -> Option<Secret> {
        let assignment = format!("{}=", self.parameter.to_ascii_lowercase());
        let in_address = addresses(config).into_iter().find_map(|text| {
            let at = text.to_ascii_lowercase().find(&assignment)?;
            let value = &text[at + assignment.len()..];
            let ends = |c: char| matches!(c, '&' | '#' | '"' | '\'') || c.is_whitespace();
            let value = &value[..value.find(ends).unwrap_or(value.len())];
            match value.contains('$') {
                true => look_up(value, config),
                false => look_up(&unescaped(value), config),
            }
        });
        in_address.or_else(|| look_up(own(config).get(self.variable)?.expose(), config))
    }
}

/// A value of an address's query, as whoever is asked at that address reads it.
fn unescaped(value: &str) -> String {
    let query = format!("key={value}");
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The texts of a definition that may hold an address.
fn addresses(config: &ServerConfig) -> Vec<&String> {
    match &config.transport {
        Transport::Stdio { args, .. } => args.iter().collect(),
        Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote) => {
            vec![&remote.url]
        }
    }
}

/// The server's own variables.
fn own(config: &ServerConfig) -> &IndexMap<String, Secret> {
    match &config.transport {
        Transport::Stdio { env, .. } => env,
        Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote) => {
            &remote.env
        }
    }
}

/// The value itself, or what the one reference that it consists of stands for.
fn look_up(value: &str, config: &ServerConfig) -> Option<Secret> {
    let Some(reference) = value.strip_prefix("${") else {
        // Parts of a key, and commands that would have to run, are no key.
        let whole = !value.is_empty() && !value.contains("${") && !value.starts_with(['!', '$']);
        return whole.then(|| Secret::new(value));
    };
    let reference = reference.strip_suffix('}').filter(|_| config.scope.level != Level::Project)?;
    let reference = reference.strip_prefix("env:").unwrap_or(reference);
    let (name, rest) = reference.split_at(name_length(reference));
    let own = own(config).get(name).map(Secret::expose);
    let own = own.filter(|own| !own.contains("${")).map(str::to_owned);
    let found = own.or_else(|| config.scope.host_env.var(name));
    let default = rest.strip_prefix(":-").map(str::to_owned);
    found.or(default).filter(|key| !key.is_empty() && !key.contains("${")).map(Secret::new)
}
