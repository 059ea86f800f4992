//! Owns the lists of server names, those of the options and those in files: which servers they switch on or off.

use std::collections::{BTreeMap, HashSet};

use indexmap::IndexMap;
use serde_json::json;

use super::super::document::Document;
use super::super::{DiscoverOptions, Discovery, LISTS, TrustView};
use super::entry::{hash, subject};
use super::{Winner, hold_back};
use crate::config::{Declared, HeldBack, HeldBackEffect, Level, ProjectEntry};
use crate::provider::{ListEffect, ListScope, NameList, Provider};

/// What lists of names say about one server.
#[derive(Clone, Copy)]
pub(super) struct ListVerdict {
    pub(super) off: bool,
    pub(super) on: bool,
}

impl ListVerdict {
    pub(super) fn apply(self, declared: &mut Declared) {
        let direct = declared.direct.as_mut();
        for config in declared.config.as_mut().ok().into_iter().chain(direct) {
            config.enabled = (config.enabled || self.on) && !self.off;
        }
    }
}

/// All lists of names; those of the options come first.
pub(super) struct Lists<'a> {
    disabled: HashSet<&'a str>,
    enabled: HashSet<&'a str>,
    written: Vec<WrittenList<'a>>,
    /// The lists in a project's files, for the user to trust.
    of_project: Vec<ProjectEntry>,
}

struct WrittenList<'a> {
    document: &'a Document,
    list: &'a NameList,
    names: &'a HashSet<String>,
    /// It applies only to untrusted servers.
    untrusted: bool,
}

impl<'a> Lists<'a> {
    pub(super) fn collect(
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
    pub(super) fn verdict(
        &self,
        name: &str,
        original: &str,
        document: &Document,
        untrusted: bool,
    ) -> ListVerdict {
        let given = |names: &HashSet<&str>| names.contains(name) || names.contains(original);
        let off = given(&self.disabled) || !self.enabled.is_empty() && !given(&self.enabled);
        let mut verdict = ListVerdict { off, on: false };
        for written in &self.written {
            if written.untrusted && !untrusted {
                continue;
            }
            written.apply_to(name, original, document.provider, &mut verdict);
        }
        verdict
    }

    /// Records a project's lists, and which of the user's servers they would disable.
    pub(super) fn record_held_back(
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
                let mut verdict = ListVerdict { off: false, on: false };
                let provider = documents[winner.document].provider;
                lists().for_each(|list| {
                    list.apply_to(name, winner.entry.original(), provider, &mut verdict)
                });
                verdict.off
            });
            let servers: Vec<_> = concerned
                .map(|(name, winner)| (name.clone(), documents[winner.document].source.clone()))
                .collect();
            if !servers.is_empty() {
                let project = discovery.config.project.len() - 1;
                let effect = HeldBackEffect::SwitchOff;
                hold_back(discovery, project, HeldBack { effect, servers });
            }
        }
    }
}

impl WrittenList<'_> {
    /// Applies this list to a server.
    fn apply_to(&self, name: &str, original: &str, provider: &Provider, verdict: &mut ListVerdict) {
        if self.list.scope == ListScope::Provider && self.document.provider.name != provider.name {
            return;
        }
        let named = self.names.contains(name) || self.names.contains(original);
        match self.list.effect {
            ListEffect::Off => verdict.off |= named,
            ListEffect::Only => verdict.off |= !named,
            ListEffect::On => verdict.on |= named && self.document.source.level != Level::Project,
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
