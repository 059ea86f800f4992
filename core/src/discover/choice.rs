//! Owns which declared servers count: the first of each name wins as a whole; also what is disabled, left out or
//! replaced.
//! Invariant: a declared server that does not count is still reported, as shadowed or as left out.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::document::{Document, WrittenServer};
use super::names::confusable_part;
use super::{DiscoverOptions, Discovery, LeftOut, McpRemote, TrustView};
use crate::config::{HeldBack, HeldBackEffect, Level, Source};

mod entry;
mod exclusion;
mod lists;

use entry::{Entry, NormalisedEntry, entry_of_project, normalise_entry};
use exclusion::Exclusions;
use lists::Lists;

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

/// A project's entry that the user has not trusted.
struct Newcomer {
    /// Its index in `Config::project`.
    project: usize,
    name: String,
    winner: Winner,
}

/// Adds the documents' servers to `discovery`. Untrusted entries of a project change nothing about the user's servers.
pub(super) fn choose(
    mut documents: Vec<Document>,
    options: &DiscoverOptions,
    trust: &dyn TrustView,
    discovery: &mut Discovery,
) {
    let entries = take_entries(&mut documents, discovery);
    let (mut winners, newcomers) = pick_winners(entries, &documents, trust, discovery);
    admit_newcomers(newcomers, &mut winners, &documents, discovery);
    winners.sort_by(|_, one, _, other| one.at.cmp(&other.at));
    let lists = Lists::collect(&documents, options, trust);
    let exclusions = Exclusions::new(options, discovery);
    lists.record_held_back(&winners, &documents, discovery);
    for (name, winner) in winners {
        let document = &documents[winner.document];
        let read = match winner.entry {
            Entry::AsWritten(written) => normalise_entry(written, document),
            Entry::Normalised(read) => *read,
        };
        let listed = lists.verdict(&name, &read.original, document, winner.untrusted);
        let is_disabled = listed.off || read.is_disabled && !listed.on;
        if is_disabled && !read.has_transport && !document.is_own_explicit() {
            let why = "switched off, with nothing to start or to reach".to_owned();
            discovery.left_out.push(LeftOut { name, why, source: document.source.clone() });
            continue;
        }
        let NormalisedEntry { original, mut declared, warnings, .. } = read;
        discovery.config.warnings.extend(warnings);
        listed.apply(&mut declared);
        declared.shadows = winner.shadows;
        // An untrusted project cannot make a server required.
        declared.required &= !winner.untrusted;
        if let Some(why) =
            exclusions.leave_out(&name, &original, &declared, winner.untrusted, discovery)
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

/// All entries in order of precedence, each with the index of its document. Reports the products' own parts.
fn take_entries(
    documents: &mut [Document],
    discovery: &mut Discovery,
) -> Vec<(usize, WrittenServer)> {
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
    entries
}

/// The first entry of each name among those of the user and the trusted ones, and the untrusted entries.
fn pick_winners(
    entries: Vec<(usize, WrittenServer)>,
    documents: &[Document],
    trust: &dyn TrustView,
    discovery: &mut Discovery,
) -> (IndexMap<String, Winner>, Vec<Newcomer>) {
    let mut winners: IndexMap<String, Winner> = IndexMap::new();
    let mut newcomers = Vec::new();
    for (at, (document, written)) in entries.into_iter().enumerate() {
        let (name, source) = (written.name.clone(), &documents[document].source);
        let entry = match source.level {
            Level::User | Level::Explicit => Entry::AsWritten(written),
            Level::Project => {
                let mut read = Box::new(normalise_entry(written, &documents[document]));
                let of_project = entry_of_project(&name, &read, &documents[document], trust);
                read.declared.subject = Some(of_project.subject.clone());
                let (project, trusted) = (discovery.config.project.len(), of_project.trusted);
                discovery.config.project.push(of_project);
                if !trusted {
                    let winner = Winner::new(at, document, Entry::Normalised(read), true);
                    newcomers.push(Newcomer { project, name, winner });
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
    (winners, newcomers)
}

/// Adds the untrusted entries whose names are not those of the user's servers, nor alike; holds back the others.
fn admit_newcomers(
    newcomers: Vec<Newcomer>,
    winners: &mut IndexMap<String, Winner>,
    documents: &[Document],
    discovery: &mut Discovery,
) {
    if newcomers.is_empty() {
        return;
    }
    let users: HashMap<String, String> =
        winners.keys().map(|name| (confusable_part(name), name.clone())).collect();
    for Newcomer { project, name, winner: newcomer } in newcomers {
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
}

impl Winner {
    fn new(at: usize, document: usize, entry: Entry, untrusted: bool) -> Self {
        Winner { at, document, entry, shadows: Vec::new(), untrusted }
    }

    /// Its effect on a server of the user with the same name.
    fn effect(&self) -> HeldBackEffect {
        match &self.entry {
            Entry::Normalised(read) if read.is_disabled => HeldBackEffect::SwitchOff,
            _ => HeldBackEffect::Replace,
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
