//! Owns which declared servers count: the first of each name wins as a whole; also what is disabled, left out or
//! replaced.
//! Invariant: a declared server that does not count is still reported, as shadowed or as left out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use wildmatch::WildMatch;

use super::bridge;
use super::names::confusable_part;
use super::native::{NATIVES, Native};
use super::normalise::normalise;
use super::providers::{List, ListScope, Provider, Switching};
use super::reading::{Document, WrittenServer};
use super::{DiscoverOptions, Discovery, LISTS, LeftOut, McpRemote, TrustView};
use crate::config::{Declared, Effect, HeldBack, Level, ProjectEntry, Scope, Source, Subject};
use crate::error::{Error, ErrorKind};
use crate::redact::Secret;

/// The entry that currently wins its name.
struct Winner {
    /// Its index among all entries, which decides precedence.
    at: usize,
    document: usize,
    entry: Entry,
    shadows: Vec<Source>,
    /// A project's entry that the user has not trusted.
    untrusted: bool,
}

/// An entry of a document. The user's entries are normalised only if they win.
enum Entry {
    Unread(WrittenServer),
    Normalised(Box<NormalisedEntry>),
}

/// A normalised entry.
struct NormalisedEntry {
    original: String,
    declared: Declared,
    /// Whether the entry itself disables the server.
    is_disabled: bool,
    /// Whether there is a command or a URL.
    has_transport: bool,
    /// As written in the file; kept only for a project's entries.
    definition: Value,
    warnings: Vec<String>,
}

/// Adds the documents' servers to `discovery`. Untrusted entries of a project change nothing about the user's servers.
pub(super) fn choose(
    mut documents: Vec<Document>,
    options: &DiscoverOptions,
    trust: &dyn TrustView,
    discovery: &mut Discovery,
) {
    let mut entries = Vec::new();
    for (at, document) in documents.iter_mut().enumerate() {
        let part = format!("part of {} itself", document.provider.name);
        discovery.left_out.extend(document.built_in.drain(..).map(|name| LeftOut {
            name,
            why: part.clone(),
            source: document.source.clone(),
        }));
        entries.extend(std::mem::take(&mut document.servers).into_iter().map(|it| (at, it)));
    }
    let mut winners: IndexMap<String, Winner> = IndexMap::new();
    let mut untrusted = Vec::new();
    for (at, (document, written)) in entries.into_iter().enumerate() {
        let (name, source) = (written.name.clone(), &documents[document].source);
        let entry = match source.level {
            Level::User | Level::Explicit => Entry::Unread(written),
            Level::Project => {
                let read = normalise_entry(written, &documents[document]);
                let of_project = entry_of_project(&name, &read, &documents[document], trust);
                let mut read = Box::new(read);
                read.declared.subject = Some(of_project.subject.clone());
                let (project, trusted) = (discovery.config.project.len(), of_project.trusted);
                discovery.config.project.push(of_project);
                if !trusted {
                    let newcomer = Winner::new(at, document, Entry::Normalised(read), true);
                    untrusted.push((project, name, newcomer));
                    continue;
                }
                Entry::Normalised(read)
            }
        };
        match winners.get_mut(&name) {
            Some(winner) => winner.shadows.push(source.clone()),
            None => drop(winners.insert(name, Winner::new(at, document, entry, false))),
        }
    }
    let users: HashMap<String, String> =
        winners.keys().map(|name| (confusable_part(name), name.clone())).collect();
    for (project, name, newcomer) in untrusted {
        let source = &documents[newcomer.document].source;
        if let Some(alike) = users.get(&confusable_part(&name)) {
            // Prefers the exact name.
            let alike = if winners.contains_key(&name) { &name } else { alike };
            let users = &mut winners[alike];
            // An entry with lower precedence than the user's would not replace it, trusted or not.
            if *alike == name && users.at < newcomer.at {
                users.shadows.push(source.clone());
                continue;
            }
            let servers = vec![(alike.clone(), documents[users.document].source.clone())];
            let effect = newcomer.effect();
            hold_back(discovery, project, HeldBack { effect, servers });
        } else if let Some(first) = winners.get_mut(&name) {
            first.shadows.push(source.clone());
        } else {
            winners.insert(name, newcomer);
        }
    }
    winners.sort_by(|_, one, _, other| one.at.cmp(&other.at));
    let lists = Lists::collect(&documents, options, trust);
    let filters = Filters::new(options, discovery);
    lists.record_held_back(&winners, &documents, discovery);
    for (name, winner) in winners {
        let document = &documents[winner.document];
        let read = match winner.entry {
            Entry::Unread(written) => normalise_entry(written, document),
            Entry::Normalised(read) => *read,
        };
        let switch = lists.switch(&name, &read.original, document, winner.untrusted);
        let is_disabled = switch.off || read.is_disabled && !switch.on;
        if is_disabled && !read.has_transport {
            let why = "switched off, with nothing to start or to reach".to_owned();
            discovery.left_out.push(LeftOut { name, why, source: document.source.clone() });
            continue;
        }
        let NormalisedEntry { original, mut declared, warnings, .. } = read;
        discovery.config.warnings.extend(warnings);
        switch.apply(&mut declared);
        declared.shadows = winner.shadows;
        // An untrusted project cannot make a server required.
        declared.required &= !winner.untrusted;
        if let Some(why) =
            filters.leave_out(&name, &original, &declared, winner.untrusted, discovery)
        {
            discovery.left_out.push(LeftOut { name, why, source: declared.source });
            continue;
        }
        if options.mcp_remote == McpRemote::Use
            && let Some(direct) = declared.direct.take()
        {
            declared.config = Ok(direct);
        }
        if let Some(users) = declared.replaced() {
            discovery.config.warnings.push(format!(
                "{}: \"{name}\" takes the place of the one of {}, because you trust it",
                document.shown_path(),
                users.path.as_deref().unwrap_or(&users.provider),
            ));
        }
        discovery.config.servers.insert(name, declared);
    }
}

impl Winner {
    fn new(at: usize, document: usize, entry: Entry, untrusted: bool) -> Self {
        Winner { at, document, entry, shadows: Vec::new(), untrusted }
    }

    /// Its effect on a server of the user with the same name.
    fn effect(&self) -> Effect {
        match &self.entry {
            Entry::Normalised(read) if read.is_disabled => Effect::SwitchOff,
            _ => Effect::Replace,
        }
    }
}

fn hold_back(discovery: &mut Discovery, project: usize, held_back: HeldBack) {
    let entry = &mut discovery.config.project[project];
    let path = entry.source.path.as_deref().unwrap_or_default();
    let (name, source) = &held_back.servers[0];
    let users = source.path.as_deref().unwrap_or(&source.provider);
    let what = match (held_back.effect, entry.name.as_str()) {
        (_, "") => "the lists of servers that are on or off have".to_owned(),
        (_, server) => format!("\"{server}\" has"),
    };
    discovery.config.warnings.push(format!(
        "{path}: {what} no effect on \"{name}\" of {users} before you trust that file"
    ));
    entry.held_back = Some(held_back);
}

/// The trust question's data for a project's entry.
fn entry_of_project(
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

fn subject(document: &Document, server: &str, fingerprint: String) -> Arc<Subject> {
    Arc::new(Subject {
        path: document.shown_path().to_owned(),
        project: document.scope.workspace.clone().unwrap_or_default(),
        server: server.to_owned(),
        fingerprint,
    })
}

fn hash(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    format!("{:x}", Sha256::digest(value.to_string()))
}

/// What lists of names say about one server.
#[derive(Clone, Copy)]
struct Switch {
    off: bool,
    on: bool,
}

impl Switch {
    fn apply(self, declared: &mut Declared) {
        let direct = declared.direct.as_mut();
        for config in declared.config.as_mut().ok().into_iter().chain(direct) {
            config.enabled = (config.enabled || self.on) && !self.off;
        }
    }
}

/// All lists of names; those of the options come first.
struct Lists<'a> {
    disabled: HashSet<&'a str>,
    enabled: HashSet<&'a str>,
    written: Vec<WrittenList<'a>>,
    /// The lists in a project's files, for the user to trust.
    of_project: Vec<ProjectEntry>,
}

struct WrittenList<'a> {
    document: &'a Document,
    list: &'a List,
    names: &'a HashSet<String>,
    /// It applies only to untrusted servers.
    untrusted: bool,
}

impl<'a> Lists<'a> {
    fn collect(
        documents: &'a [Document],
        options: &'a DiscoverOptions,
        trust: &dyn TrustView,
    ) -> Self {
        let (mut written, mut of_project) = (Vec::new(), Vec::new());
        for document in documents.iter().filter(|document| !document.lists.is_empty()) {
            let mut untrusted = false;
            if document.source.level == Level::Project {
                let entry = lists_of_project(document, trust);
                untrusted = !entry.trusted;
                of_project.push(entry);
            }
            written.extend(document.lists.iter().map(|(list, names)| WrittenList {
                document,
                list,
                names,
                untrusted,
            }));
        }
        Lists {
            disabled: options.disabled_servers.iter().map(String::as_str).collect(),
            enabled: options.enabled_servers.iter().map(String::as_str).collect(),
            written,
            of_project,
        }
    }

    /// What the lists say about a server. Untrusted lists apply only to untrusted servers.
    fn switch(&self, name: &str, original: &str, document: &Document, untrusted: bool) -> Switch {
        let given = |names: &HashSet<&str>| names.contains(name) || names.contains(original);
        let off = given(&self.disabled) || !self.enabled.is_empty() && !given(&self.enabled);
        let mut switch = Switch { off, on: false };
        for written in &self.written {
            if written.untrusted && !untrusted {
                continue;
            }
            written.apply_to(name, original, document.provider, &mut switch);
        }
        switch
    }

    /// Records a project's lists, and which of the user's servers they would disable.
    fn record_held_back(
        &self,
        winners: &IndexMap<String, Winner>,
        documents: &[Document],
        discovery: &mut Discovery,
    ) {
        for entry in &self.of_project {
            discovery.config.project.push(entry.clone());
            let lists = || {
                let of_entry = |it: &&WrittenList<'_>| it.document.source == entry.source;
                self.written.iter().filter(|it| it.untrusted).filter(of_entry)
            };
            let users = winners.iter().filter(|(_, it)| !it.untrusted);
            let concerned = users.filter(|(name, winner)| {
                let mut switch = Switch { off: false, on: false };
                let provider = documents[winner.document].provider;
                lists()
                    .for_each(|list| list.apply_to(name, winner.original(), provider, &mut switch));
                switch.off
            });
            let servers: Vec<_> = concerned
                .map(|(name, winner)| (name.clone(), documents[winner.document].source.clone()))
                .collect();
            if !servers.is_empty() {
                let project = discovery.config.project.len() - 1;
                let effect = Effect::SwitchOff;
                hold_back(discovery, project, HeldBack { effect, servers });
            }
        }
    }
}

impl Winner {
    fn original(&self) -> &str {
        match &self.entry {
            Entry::Unread(written) => &written.original,
            Entry::Normalised(read) => &read.original,
        }
    }
}

impl WrittenList<'_> {
    /// Applies this list to a server.
    fn apply_to(&self, name: &str, original: &str, provider: &Provider, switch: &mut Switch) {
        if self.list.scope == ListScope::Provider && self.document.provider.name != provider.name {
            return;
        }
        let named = self.names.contains(name) || self.names.contains(original);
        match self.list.effect {
            Switching::Off => switch.off |= named,
            Switching::Only => switch.off |= !named,
            Switching::On => switch.on |= named && self.document.source.level != Level::Project,
        }
    }
}

fn lists_of_project(document: &Document, trust: &dyn TrustView) -> ProjectEntry {
    let mut lists: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for (list, names) in &document.lists {
        let mut names: Vec<&String> = names.iter().collect();
        names.sort();
        lists.insert(list.name(), names);
    }
    let definition = json!(lists);
    let subject = subject(document, "", format!("{LISTS}{}", hash(&definition)));
    ProjectEntry {
        name: String::new(),
        source: document.source.clone(),
        config: None,
        trusted: trust.trusts(&subject),
        definition,
        subject,
        held_back: None,
    }
}

/// Normalises the entry.
fn normalise_entry(written: WrittenServer, document: &Document) -> NormalisedEntry {
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
            let error = Error::new(ErrorKind::ConfigInvalid, text).with_server(&name);
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
    let warnings = warnings.into_iter().map(|warning| format!("{path}: {warning}")).collect();
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
            match Native::by_name(name) {
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

    /// Why the server is left out, if it is. Also collects the keys of a native integration.
    fn leave_out(
        &self,
        name: &str,
        original: &str,
        declared: &Declared,
        untrusted: bool,
        discovery: &mut Discovery,
    ) -> Option<String> {
        let config = declared.config.as_ref().ok();
        let urls = [config, declared.direct.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|config| config.transport.remote().map(|remote| remote.url.as_str()));
        let texts: Vec<&str> = [name, original].into_iter().chain(urls).collect();
        if let Some((glob, _)) =
            self.globs.iter().find(|(_, glob)| texts.iter().any(|text| glob.matches(text)))
        {
            return Some(format!("excluded by \"{glob}\""));
        }
        let native = self.natives.iter().find(|native| native.matches(name, config))?;
        let keys: &mut Vec<Secret> = discovery.native.entry(native.name.to_owned()).or_default();
        // With an untrusted key, the host's requests would go to a stranger's account.
        let config = config.filter(|config| config.enabled && !untrusted);
        if let Some(key) = config.and_then(|config| native.key(config))
            && !keys.contains(&key)
        {
            keys.push(key);
        }
        Some(format!("the host integrates {} by itself", native.name))
    }
}
