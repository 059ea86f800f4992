//! Owns the services that a host may integrate itself: how to recognise their servers, and where the key is.

use crate::config::{Level, ServerConfig, TransportConfig};
use crate::redact::Secret;
use crate::variable_name::name_length;

/// A service that a host may integrate itself.
pub(super) struct Native {
    pub(super) name: &'static str,
    host: &'static str,
    /// The query parameter that holds the key.
    parameter: &'static str,
    /// The variable that holds the key.
    variable: &'static str,
}

pub(super) const NATIVES: &[Native] =
    &[Native { name: "exa", host: "mcp.exa.ai", parameter: "exaApiKey", variable: "EXA_API_KEY" }];

impl Native {
    pub(super) fn by_name(name: &str) -> Option<&'static Native> {
        NATIVES.iter().find(|native| native.name == name)
    }

    pub(super) fn matches(&self, name: &str, config: Option<&ServerConfig>) -> bool {
        let at_host = |text: &String| text.to_ascii_lowercase().contains(self.host);
        name.eq_ignore_ascii_case(self.name)
            || config.is_some_and(|config| url_texts(config).iter().any(|text| at_host(text)))
    }

    /// The key, if the definition has one. A reference is looked up, unless a project wrote it.
    pub(super) fn key(&self, config: &ServerConfig) -> Option<Secret> {
        let assignment = format!("{}=", self.parameter.to_ascii_lowercase());
        let in_address = url_texts(config).into_iter().find_map(|text| {
            let at = text.to_ascii_lowercase().find(&assignment)?;
            let value = &text[at + assignment.len()..];
            let ends = |c: char| matches!(c, '&' | '#' | '"' | '\'') || c.is_whitespace();
            let value = &value[..value.find(ends).unwrap_or(value.len())];
            match value.contains('$') {
                true => resolve_key(value, config),
                false => resolve_key(&unescaped(value), config),
            }
        });
        in_address
            .or_else(|| resolve_key(config.transport.env().get(self.variable)?.expose(), config))
    }
}

/// Decodes a query value as the service does.
fn unescaped(value: &str) -> String {
    let query = format!("key={value}");
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The texts of a definition that may contain a URL.
fn url_texts(config: &ServerConfig) -> Vec<&String> {
    match &config.transport {
        TransportConfig::Stdio { args, .. } => args.iter().collect(),
        transport => transport.remote().into_iter().map(|remote| &remote.url).collect(),
    }
}

/// The value itself, or the value of the single reference that it consists of.
fn resolve_key(value: &str, config: &ServerConfig) -> Option<Secret> {
    let Some(reference) = value.strip_prefix("${") else {
        // A partial key or a command is not a key.
        let whole = !value.is_empty() && !value.contains("${") && !value.starts_with(['!', '$']);
        return whole.then(|| Secret::new(value));
    };
    let reference = reference.strip_suffix('}').filter(|_| config.scope.level != Level::Project)?;
    let reference = reference.strip_prefix("env:").unwrap_or(reference);
    let (name, rest) = reference.split_at(name_length(reference));
    let own_variables = config.transport.env().get(name).map(Secret::expose);
    let own_variables =
        own_variables.filter(|own_variables| !own_variables.contains("${")).map(str::to_owned);
    let found = own_variables.or_else(|| config.scope.host_env.var(name));
    let default = rest.strip_prefix(":-").map(str::to_owned);
    found.or(default).filter(|key| !key.is_empty() && !key.contains("${")).map(Secret::new)
}
