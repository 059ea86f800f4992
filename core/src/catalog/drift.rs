//! Owns detecting drift: a tool that is no longer what it was when first seen. The first version is the pin. Only
//! accepting a change moves the pin, so a manager that allows changes does not weaken one that blocks them. Pins belong
//! to a server's name and source, whatever its definition says. Most tools never change: their pin is the list itself,
//! and only differing tools are kept beside it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::pin_file::{PinKey, Pinned, StoredPins};
use crate::event::DriftChange;
use crate::redact::Mask;
use crate::sync::lock;
use crate::tool::{ServerTool, Tools};

/// How many pins of removed tools are kept.
pub(super) const MOST_KEPT: usize = 10_000;
/// How many removed servers keep their pins in memory.
const MOST_SETS: usize = 1_000;
const MOST_CHANGES: usize = 50;
const MOST_SHOWN: usize = 400;

/// What happens to a tool that is no longer as it was when it was first seen. The pin does not change under any of
/// these policies, until the change is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DriftPolicy {
    /// The tool is offered as it is now; there is an event.
    Allow,
    /// The tool is offered, with a warning in the log, once for each change.
    #[default]
    Warn,
    /// The tool is not offered until the change is accepted.
    Block,
}

/// A tool that differs from its pin.
#[derive(Clone, Debug)]
pub(crate) struct Drift {
    /// The raw name.
    pub(crate) tool: String,
    /// The fingerprint of the pin.
    pub(crate) pinned: String,
    /// The fingerprint of the current version.
    pub(crate) fingerprint: String,
    pub(crate) changes: Vec<DriftChange>,
    /// An earlier session has warned of it.
    pub(crate) warned: bool,
}

/// All pins of a manager and its children. Those of a removed server are kept: it may come back.
#[derive(Default)]
pub(crate) struct PinSets(Mutex<IndexMap<PinKey, Arc<Pins>>>);

impl PinSets {
    pub(crate) fn get(&self, key: &PinKey) -> Arc<Pins> {
        let mut sets = lock(&self.0);
        let pins = sets.entry(key.clone()).or_default().clone();
        let mut excess = sets.len().saturating_sub(MOST_SETS);
        if excess > 0 {
            sets.retain(|_, pins| {
                let goes = excess > 0 && Arc::strong_count(pins) == 1;
                excess -= usize::from(goes);
                !goes
            });
        }
        pins
    }
}

/// The pins of one server of one source.
#[derive(Default)]
pub(crate) struct Pins(Mutex<State>);

#[derive(Default)]
struct State {
    /// The pins of earlier sessions were loaded.
    loaded: bool,
    /// The stored pins are unreadable; the file and the reason.
    lost: Option<String>,
    /// The last list; each of its tools is pinned by it, unless it is in `kept`.
    seen: Tools,
    mask: Mask,
    /// By raw name.
    kept: IndexMap<String, Kept>,
    version: u64,
}

/// The pin of a tool that differs from the list.
struct Kept {
    pinned: Arc<ServerTool>,
    mask: Mask,
    /// The fingerprint that an earlier session has warned of.
    warned: Option<String>,
    /// Absent while the tool is not listed.
    drift: Option<Drift>,
}

impl Pins {
    pub(crate) fn is_loaded(&self) -> bool {
        lock(&self.0).loaded
    }

    /// Counts the changes of pins and drifts.
    pub(crate) fn version(&self) -> u64 {
        lock(&self.0).version
    }

    /// Whether this list was the last one compared.
    pub(crate) fn has_seen(&self, tools: &Tools) -> bool {
        let state = lock(&self.0);
        state.loaded && state.seen.is_same(tools)
    }

    /// Why the pins are unknown, if they are: every tool may have changed then.
    pub(crate) fn lost(&self) -> Option<String> {
        lock(&self.0).lost.clone()
    }

    /// Whether a tool has drifted, or may have.
    pub(crate) fn is_drifted(&self, raw_name: &str) -> bool {
        let state = lock(&self.0);
        let drifted = || state.kept.get(raw_name).is_some_and(|kept| kept.drift.is_some());
        state.lost.is_some() || drifted()
    }

    /// Whether a tool that says it is read-only said so when it was first seen.
    pub(crate) fn was_read_only(&self, raw_name: &str) -> bool {
        let state = lock(&self.0);
        let drifted = state.kept.get(raw_name).filter(|kept| kept.drift.is_some());
        state.lost.is_none() && drifted.is_none_or(|kept| kept.pinned.is_read_only())
    }

    /// Compares a list with the pins. New tools are pinned; tools that differ from their pin are returned. `earlier`
    /// loads the pins of earlier sessions, once.
    pub(crate) fn review(
        &self,
        tools: &Tools,
        mask: &Mask,
        earlier: impl FnOnce() -> StoredPins,
    ) -> Vec<Drift> {
        let mut state = lock(&self.0);
        if !state.loaded {
            state.loaded = true;
            match earlier() {
                StoredPins::None => {}
                StoredPins::Pins(pins) => state.load(pins),
                StoredPins::Lost(why) => state.lost = Some(why),
            }
        }
        // A server that is down has no tools to compare.
        if !tools.list.is_empty() && !state.seen.is_same(tools) {
            state.compare(tools, mask);
        }
        state.kept.values().filter_map(|kept| kept.drift.clone()).collect()
    }

    /// Pins the current version of one tool or of all; returns their names, and their entries as they may be written.
    /// If the pins are lost, only all tools can be accepted.
    pub(crate) fn accept(&self, tool: Option<&str>) -> Vec<(String, Bytes)> {
        let mut state = lock(&self.0);
        let State { seen, mask, kept, version, lost, .. } = &mut *state;
        let mut accepted = Vec::new();
        if lost.is_some() && tool.is_none() && !seen.list.is_empty() {
            (*lost, *version) = (None, *version + 1);
            kept.clear();
            let entry =
                |tool: &Arc<ServerTool>| (tool.raw_name().to_owned(), mask.raw_json(tool.raw()));
            return seen.list.iter().map(entry).collect();
        }
        kept.retain(|name, kept| {
            let meant = kept.drift.is_some() && tool.is_none_or(|tool| tool == name);
            let entry = seen.get(name).filter(|_| meant);
            if let Some(entry) = entry {
                accepted.push((name.clone(), mask.raw_json(entry.raw())));
            }
            entry.is_none()
        });
        *version += 1;
        accepted
    }

    /// Every tool that differs from its pin: raw name and fingerprint.
    pub(crate) fn drifts(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let state = lock(&self.0);
        let drifts = state.kept.values().filter_map(|kept| kept.drift.as_ref());
        let named = drifts.map(|drift| (drift.tool.clone(), drift.fingerprint.clone()));
        named.collect::<Vec<_>>().into_iter()
    }

    /// Whether a tool with this name was ever seen.
    pub(crate) fn knows(&self, raw_name: &str) -> bool {
        let state = lock(&self.0);
        state.seen.get(raw_name).is_some() || state.kept.contains_key(raw_name)
    }
}

impl State {
    /// Uses the pins with the list that was seen last.
    fn load(&mut self, pins: Vec<Pinned>) {
        let (said, plain): (Vec<_>, Vec<_>) =
            pins.into_iter().partition(|pin| pin.warned.is_some());
        self.seen = Tools::new(plain.into_iter().map(|pin| pin.tool).collect());
        for Pinned { tool: pinned, warned } in said {
            let kept = Kept { mask: Mask::default(), warned, drift: None, pinned };
            self.kept.insert(kept.pinned.raw_name().to_owned(), kept);
        }
    }

    fn compare(&mut self, tools: &Tools, mask: &Mask) {
        let before = std::mem::replace(&mut self.seen, tools.clone());
        let before_mask = std::mem::replace(&mut self.mask, mask.clone());
        self.version += 1;
        for tool in tools.list.iter() {
            let name = tool.raw_name();
            if let Some(kept) = self.kept.get_mut(name) {
                kept.drift = difference(&kept.pinned, &kept.mask, tool, mask).map(|drift| Drift {
                    warned: kept.warned.as_ref() == Some(&drift.fingerprint),
                    ..drift
                });
                if kept.drift.is_none() {
                    self.kept.swap_remove(name);
                }
            } else if let Some(old) = before.get(name)
                && let Some(drift) = difference(old, &before_mask, tool, mask)
            {
                self.keep(old, &before_mask, Some(drift));
            }
        }
        for (name, kept) in &mut self.kept {
            if tools.get(name).is_none() {
                kept.drift = None;
            }
        }
        for old in before.list.iter() {
            if tools.get(old.raw_name()).is_none() && !self.kept.contains_key(old.raw_name()) {
                self.keep(old, &before_mask, None);
            }
        }
        self.forget_excess();
    }

    /// Drops the newest pins of removed tools, and none of listed ones: a server must not get rid of the pin of a
    /// changed tool by listing many others.
    fn forget_excess(&mut self) {
        let mut spared = MOST_KEPT;
        self.kept.retain(|_, kept| {
            let stays = kept.drift.is_some() || spared > 0;
            spared = spared.saturating_sub(usize::from(kept.drift.is_none()));
            stays
        });
    }

    fn keep(&mut self, pinned: &Arc<ServerTool>, mask: &Mask, drift: Option<Drift>) {
        let kept = Kept { pinned: pinned.clone(), mask: mask.clone(), warned: None, drift };
        self.kept.insert(pinned.raw_name().to_owned(), kept);
    }
}

/// How two entries of a tool differ, if they do. Both are masked, because the values that a server was given may change
/// each time and must not be shown.
pub(super) fn difference(
    old: &ServerTool,
    old_mask: &Mask,
    new: &ServerTool,
    new_mask: &Mask,
) -> Option<Drift> {
    if old.raw() == new.raw() {
        return None;
    }
    let (old, new) = (masked(old, old_mask), masked(new, new_mask));
    let (old, new) = (old.as_ref().ok()?, new.as_ref().ok()?);
    let (pinned, fingerprint) = (old.fingerprint(), new.fingerprint());
    if pinned == fingerprint {
        return None;
    }
    let mut changes = Vec::new();
    for part in ["description", "inputSchema", "annotations"] {
        let value = |tool: &ServerTool, mask: &Mask| tool.part(part).map(|value| mask.json(value));
        let path = format!("/{part}");
        compare(&path, value(old, old_mask), value(new, new_mask), &mut changes);
    }
    Some(Drift { tool: new.raw_name().to_owned(), pinned, fingerprint, changes, warned: false })
}

fn masked(tool: &ServerTool, mask: &Mask) -> Result<ServerTool, (Option<String>, &'static str)> {
    ServerTool::read(&tool.server_shared(), mask.raw_json(tool.raw()))
}

fn compare(path: &str, old: Option<Value>, new: Option<Value>, changes: &mut Vec<DriftChange>) {
    if changes.len() >= MOST_CHANGES || old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(mut old)), Some(Value::Object(mut new))) => {
            let added: Vec<_> = new.keys().filter(|key| !old.contains_key(*key)).cloned().collect();
            let keys: Vec<_> = old.keys().cloned().chain(added).collect();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                compare(&path, old.remove(&key), new.remove(&key), changes);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (at, (old, new)) in old.into_iter().zip(new).enumerate() {
                compare(&format!("{path}/{at}"), Some(old), Some(new), changes);
            }
        }
        (old, new) => changes.push(DriftChange {
            path: short(path),
            before: old.map(bounded),
            after: new.map(bounded),
        }),
    }
}

/// The value, or as much of its text as fits.
fn bounded(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= MOST_SHOWN { value } else { short(&text).into() }
}

fn short(text: &str) -> String {
    if text.len() <= MOST_SHOWN {
        return text.to_owned();
    }
    let begin: String = text.chars().take(MOST_SHOWN).collect();
    format!("{begin}… ({} characters)", text.chars().count())
}

#[cfg(test)]
mod tests;
