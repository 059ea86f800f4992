//! Owns which of the declared servers count: the first of each name, whole; what is switched off, left out, replaced.
//! Invariant: whatever a document hides is still told of, as shadowed or as left out.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};
use wildmatch::WildMatch;

use super::bridge;
use super::native::{NATIVES, Native};
use super::normalise::normalise;
use super::providers::{Effect, List, Provider, Reach};
use super::reading::{Document, Written};
use super::{DiscoverOptions, Discovery, LeftOut, McpRemote};
use crate::config::{Declared, Level, Source, Transport};
use crate::error::{Error, ErrorKind};
use crate::redact::Secret;

struct Winner {
    document: usize,
    written: Written,
    shadows: Vec<Source>,
}

/// Brings what the documents say into `discovery`.
pub(super) fn choose(
    mut documents: Vec<Document>,
    options: &DiscoverOptions,
    discovery: &mut Discovery,
) {
    let mut winners: IndexMap<String, Winner> = IndexMap::new();
    for (at, document) in documents.iter_mut().enumerate() {
        let part = format!("part of {} itself", document.provider.name);
        discovery.left_out.extend(document.inner.drain(..).map(|name| LeftOut {
            name,
            why: part.clone(),
            source: document.source.clone(),
        }));
        for written in std::mem::take(&mut document.servers) {
            match winners.get_mut(&written.name) {
                Some(winner) => winner.shadows.push(document.source.clone()),
                None => {
                    let name = written.name.clone();
                    winners.insert(name, Winner { document: at, written, shadows: Vec::new() });
                }
            }
        }
    }
    let filters = Filters::new(options, discovery);
    let lists = Lists::of(&documents, options);
    for (name, mut winner) in winners {
        let document = &documents[winner.document];
        let switch = lists.switch(&winner.written, document.provider);
        let Some(mut declared) = declare(&mut winner.written, document, switch, discovery) else {
            let why = "switched off, with nothing to start or to reach".to_owned();
            discovery.left_out.push(LeftOut { name, why, source: document.source.clone() });
            continue;
        };
        declared.shadows = winner.shadows;
        if let Some(why) = filters.leave_out(&name, &winner.written.original, &declared, discovery)
        {
            discovery.left_out.push(LeftOut { name, why, source: declared.source });
            continue;
        }
        if options.mcp_remote == McpRemote::Use
            && let Some(direct) = declared.direct.take()
        {
            declared.config = Ok(direct);
        }
        discovery.config.servers.insert(name, declared);
    }
}

/// What lists of names say about one server.
#[derive(Clone, Copy)]
struct Switch {
    off: bool,
    on: bool,
}

/// Every list of names, the options' first.
struct Lists<'a> {
    disabled: HashSet<&'a str>,
    enabled: HashSet<&'a str>,
    written: Vec<(&'a Document, &'a List, &'a HashSet<String>)>,
}

impl<'a> Lists<'a> {
    fn of(documents: &'a [Document], options: &'a DiscoverOptions) -> Self {
        let written = documents.iter().flat_map(|document| {
            document.lists.iter().map(move |(list, names)| (document, list, names))
        });
        Lists {
            disabled: options.disabled_servers.iter().map(String::as_str).collect(),
            enabled: options.enabled_servers.iter().map(String::as_str).collect(),
            written: written.collect(),
        }
    }

    fn switch(&self, written: &Written, provider: &Provider) -> Switch {
        let (name, original) = (written.name.as_str(), written.original.as_str());
        let given = |names: &HashSet<&str>| names.contains(name) || names.contains(original);
        let off = given(&self.disabled) || !self.enabled.is_empty() && !given(&self.enabled);
        let mut switch = Switch { off, on: false };
        for (document, list, names) in &self.written {
            if list.reach == Reach::Provider && document.provider.name != provider.name {
                continue;
            }
            let named = names.contains(name) || names.contains(original);
            match list.effect {
                Effect::Off => switch.off |= named,
                Effect::Only => switch.off |= !named,
                Effect::On => switch.on |= named && document.source.level != Level::Project,
            }
        }
        switch
    }
}

/// The server in our words; nothing when the entry only switches its name off.
fn declare(
    written: &mut Written,
    document: &Document,
    switch: Switch,
    discovery: &mut Discovery,
) -> Option<Declared> {
    let name = &written.name.clone();
    let path = document.source.path.as_deref().unwrap_or_default();
    let mut warnings = Vec::new();
    let mut read = |definition: Value| {
        let (source, scope) = (document.source.clone(), document.scope.clone());
        Declared::read(name, definition, source, scope, &mut warnings)
    };
    let normal = match written.definition.take() {
        Value::Object(entry) => normalise(entry, document.provider, &document.inputs),
        other => Err(format!("the definition must be an object, not {}", kind(&other))),
    };
    let declared = match normal {
        Ok(normal) => {
            let definition = normal.definition;
            let off = !switch.on
                && (definition.get("enabled") == Some(&Value::Bool(false))
                    || definition.get("disabled") == Some(&Value::Bool(true)));
            if (off || switch.off) && !has_transport(&definition) {
                return None;
            }
            let direct = bridge::direct(&definition);
            let mut declared = read(Value::Object(definition));
            if let Ok(config) = &mut declared.config {
                config.enabled = (config.enabled || switch.on) && !switch.off;
                let enabled = config.enabled;
                let direct = direct.and_then(|direct| {
                    let silent = &mut Vec::new();
                    let (source, scope) = (document.source.clone(), document.scope.clone());
                    Declared::read(name, Value::Object(direct), source, scope, silent).config.ok()
                });
                declared.direct = direct.map(|mut direct| {
                    direct.enabled = enabled;
                    direct
                });
            }
            warnings.extend(
                normal.warnings.iter().map(|warning| format!("Server \"{name}\": {warning}")),
            );
            declared
        }
        Err(problem) => {
            let text = format!("Server \"{name}\": {problem}");
            let error = Error::new(ErrorKind::ConfigInvalid, text).with_server(name);
            Declared::new(Err(error), false, document.source.clone())
        }
    };
    let warnings = warnings.into_iter().map(|warning| format!("{path}: {warning}"));
    discovery.config.warnings.extend(warnings);
    Some(declared)
}

fn has_transport(definition: &Map<String, Value>) -> bool {
    ["command", "url"]
        .iter()
        .any(|field| definition.get(*field).is_some_and(|value| !value.is_null()))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

struct Filters {
    globs: Vec<(String, WildMatch)>,
    natives: Vec<&'static Native>,
}

impl Filters {
    fn new(options: &DiscoverOptions, discovery: &mut Discovery) -> Self {
        let globs =
            options.exclude.iter().map(|glob| (glob.clone(), WildMatch::new(glob))).collect();
        let mut natives = Vec::new();
        for name in &options.native {
            match Native::named(name) {
                Some(native) => {
                    natives.push(native);
                    discovery.native.insert(name.clone(), Vec::new());
                }
                None => {
                    let known: Vec<_> = NATIVES.iter().map(|native| native.name).collect();
                    let known = known.join(", ");
                    discovery.config.warnings.push(format!(
                        "The option \"native\" has \"{name}\", which is none of {known}"
                    ));
                }
            }
        }
        Filters { globs, natives }
    }

    /// Why the server is left out, if it is. The keys of a native integration are kept on the way.
    fn leave_out(
        &self,
        name: &str,
        original: &str,
        declared: &Declared,
        discovery: &mut Discovery,
    ) -> Option<String> {
        let config = declared.config.as_ref().ok();
        let urls = [config, declared.direct.as_ref()].into_iter().flatten().filter_map(|config| {
            match &config.transport {
                Transport::Stdio { .. } => None,
                Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote) => {
                    Some(remote.url.as_str())
                }
            }
        });
        let texts: Vec<&str> = [name, original].into_iter().chain(urls).collect();
        if let Some((glob, _)) =
            self.globs.iter().find(|(_, glob)| texts.iter().any(|text| glob.matches(text)))
        {
            return Some(format!("excluded by \"{glob}\""));
        }
        let native = self.natives.iter().find(|native| native.is(name, config))?;
        let keys: &mut Vec<Secret> = discovery.native.entry(native.name.to_owned()).or_default();
        if let Some(key) =
            config.filter(|config| config.enabled).and_then(|config| native.key(config))
            && !keys.contains(&key)
        {
            keys.push(key);
        }
        Some(format!("the host integrates {} by itself", native.name))
    }
}
