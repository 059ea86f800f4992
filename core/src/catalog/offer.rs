//! Owns which tools of a server a manager offers: those that pass its filters and, where it matters, have not drifted.
//! Filters use names only, so a call is refused before its server is contacted.
//! Invariant: while a manager blocks drift, or skips approval for read-only tools, no list is used before it was
//! compared with its pins.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use indexmap::IndexSet;

use super::drift::{Drift, DriftPolicy, MOST_KEPT, PinSets, Pins};
use super::filter::Filter;
use super::pin_file::{PinFile, PinKey, StoredPins};
use super::{Cache, ToolNames};
use crate::approval::ApprovalPolicy;
use crate::config::{Declared, ServerConfig, ToolFilter};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::{EventKind, EventLog};
use crate::redact::Mask;
use crate::sync::lock;
use crate::tool::{ServerTool, Tools, quoted};

mod skills;

/// How many tools a drift message names.
const NAMED: usize = 10;
/// How many reported drifts a manager remembers.
const REPORTED: usize = 2 * MOST_KEPT;

/// The hint for lost pins.
const ACCEPT_ALL: &str =
    "look at the tools, then accept_drift(server) takes all of them as they are";

/// A manager's settings about the tools of all its servers.
pub(crate) struct OfferSettings {
    filter: Option<Filter>,
    policy: DriftPolicy,
    approval: ApprovalPolicy,
    names: Arc<ToolNames>,
    cache: Cache,
    pins: Arc<PinSets>,
}

impl OfferSettings {
    pub(crate) fn new(
        filter: &ToolFilter,
        (policy, approval): (DriftPolicy, ApprovalPolicy),
        names: Arc<ToolNames>,
        cache: Cache,
        pins: Arc<PinSets>,
    ) -> Arc<Self> {
        Arc::new(OfferSettings {
            filter: Filter::compile(filter),
            policy,
            approval,
            names,
            cache,
            pins,
        })
    }

    pub(crate) fn pins(&self) -> &Arc<PinSets> {
        &self.pins
    }

    /// Whether the offer depends on a naming function.
    pub(crate) fn go_by_answers(&self) -> bool {
        self.filter.is_some() && self.names.asks_host()
    }

    pub(crate) fn names(&self) -> &Arc<ToolNames> {
        &self.names
    }
}

/// The tools of one server that a manager offers.
pub(crate) struct Offer {
    server: Arc<str>,
    settings: Arc<OfferSettings>,
    filter: Option<Filter>,
    /// Of the definition, if that is valid.
    fingerprint: Option<String>,
    key: PinKey,
    pins: Arc<Pins>,
    skill_pins: Arc<Pins>,
    /// Fingerprints of the drifts that were reported.
    reported: Arc<Mutex<IndexSet<String>>>,
    /// The number of offered tools, for a list, a version of the pins and a number of named tools.
    counted: Mutex<Option<(Tools, u64, usize)>>,
}

impl Offer {
    /// `before` is the manager's last offer of the same name: drifts that it reported are not reported again.
    pub(crate) fn new(
        server: &str,
        declared: &Declared,
        settings: &Arc<OfferSettings>,
        before: Option<&Offer>,
    ) -> Arc<Self> {
        let config = declared.config.as_ref().ok();
        let key = PinKey::new(server, &declared.source);
        Arc::new(Offer {
            server: server.into(),
            filter: config.and_then(|config| Filter::compile(&config.tools)),
            pins: settings.pins.get(&key),
            skill_pins: settings.pins.get(&key.of_skills()),
            reported: match before {
                Some(before) if before.key == key => before.reported.clone(),
                _ => Arc::default(),
            },
            settings: settings.clone(),
            fingerprint: config.map(ServerConfig::cache_fingerprint),
            key,
            counted: Mutex::default(),
        })
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn pin_key(&self) -> &PinKey {
        &self.key
    }

    /// Where its pins are stored, if anywhere.
    pub(crate) fn pin_file(&self) -> Option<PinFile> {
        PinFile::for_key(&self.settings.cache, &self.key)
    }

    pub(crate) fn fingerprint(&self) -> &str {
        self.fingerprint.as_deref().unwrap_or_default()
    }

    fn blocks(&self) -> bool {
        self.settings.policy == DriftPolicy::Block
    }

    /// Whether the pins decide which tools may be called, and how.
    fn goes_by_pins(&self) -> bool {
        self.blocks() || self.settings.approval == ApprovalPolicy::Annotations
    }

    fn filters(&self) -> bool {
        self.filter.is_some() || self.settings.filter.is_some()
    }

    /// Whether a tool with this name passes the filters; the error names the setting that excludes it.
    pub(crate) fn check_name(&self, raw_name: &str) -> Result<()> {
        if self.settings.filter.is_some() {
            self.settings.names.ask_host_for(&self.server, raw_name);
        }
        self.check_settled_name(raw_name)
    }

    /// Same, for any thread, after the naming function was called.
    pub(crate) fn check_settled_name(&self, raw_name: &str) -> Result<()> {
        if !self.filters() {
            return Ok(());
        }
        match self.filtered_out(raw_name) {
            None => Ok(()),
            Some(hint) => {
                let (tool, server) = (quoted(raw_name), &self.server);
                let text = format!("Tool {tool} of server \"{server}\" is not offered");
                Err(self.rejected(text, hint).quoting(raw_name))
            }
        }
    }

    /// Whether a tool of this list may be called in its current version.
    pub(crate) fn check_drift(
        &self,
        tool: &ServerTool,
        tools: &Tools,
        mask: impl FnOnce() -> Mask,
    ) -> Result<()> {
        self.prepare(tools, mask);
        if !(self.blocks() && self.pins.is_drifted(tool.raw_name())) {
            return Ok(());
        }
        let (raw_name, server) = (tool.raw_name(), &self.server);
        let tool = quoted(raw_name);
        if let Some(why) = self.pins.lost() {
            let text = format!(
                "Tool {tool} of server \"{server}\" is blocked: what it was when it was first seen cannot be read"
            );
            let hint = format!("{why}; {ACCEPT_ALL}");
            return Err(self.rejected(text, hint).quoting(raw_name));
        }
        let text = format!(
            "Tool {tool} of server \"{server}\" is blocked: it is not as it was when it was first seen"
        );
        let hint = "look at what changed, then accept_drift(server, tool)".to_owned();
        Err(self.rejected(text, hint).quoting(raw_name))
    }

    fn rejected(&self, text: String, hint: String) -> Error {
        Error::new(ErrorKind::ToolRejected, text)
            .naming_server(&self.server)
            .with_executed(Executed::No)
            .with_hint(hint)
    }

    fn filtered_out(&self, raw_name: &str) -> Option<String> {
        if let Some(refusal) =
            self.filter.as_ref().and_then(|filter| filter.filtered_out(&[raw_name]))
        {
            return Some(refusal.hint(&format!("the definition of server \"{}\"", self.server)));
        }
        let filter = self.settings.filter.as_ref()?;
        let [plain, suffixed] = self.settings.names.possible(&self.server, raw_name);
        Some(filter.filtered_out(&[raw_name, &plain, &suffixed])?.hint("the manager"))
    }

    /// Whether a tool of a prepared list is offered.
    pub(crate) fn has(&self, tool: &ServerTool) -> bool {
        let let_through = !self.filters() || self.filtered_out(tool.raw_name()).is_none();
        let_through && !(self.blocks() && self.pins.is_drifted(tool.raw_name()))
    }

    /// Whether a tool of a prepared list counts as read-only if it says so.
    pub(crate) fn trusts_hints(&self, tool: &ServerTool) -> bool {
        self.pins.was_read_only(tool.raw_name())
    }

    /// Compares a list with the pins, if they decide about its tools.
    pub(crate) fn prepare(&self, tools: &Tools, mask: impl FnOnce() -> Mask) {
        if self.goes_by_pins() && !self.pins.has_seen(tools) {
            self.review(tools, &mask(), PinLookup::Now);
        }
    }

    /// How many tools of this list are offered.
    pub(crate) fn count(&self, tools: &Tools, mask: impl FnOnce() -> Mask) -> usize {
        if !self.filters() && !self.blocks() {
            return tools.list.len();
        }
        self.prepare(tools, mask);
        let version = self.pins.version() + self.settings.names.answered_count();
        let counted = lock(&self.counted).clone();
        if let Some((of, at, count)) = counted
            && of.is_same(tools)
            && at == version
        {
            return count;
        }
        let count = tools.list.iter().filter(|tool| self.has(tool)).count();
        *lock(&self.counted) = Some((tools.clone(), version, count));
        count
    }

    /// Whether the pins of earlier sessions are not loaded yet.
    pub(crate) fn wants_pins(&self) -> bool {
        !self.settings.cache.is_off() && self.fingerprint.is_some() && !self.pins.is_loaded()
    }

    /// Whether no tool may be shown before those pins are loaded.
    pub(crate) fn needs_pins(&self) -> bool {
        self.goes_by_pins() && self.wants_pins()
    }

    /// Compares a list with the pins; returns the differences.
    pub(crate) fn review(&self, tools: &Tools, mask: &Mask, lookup: PinLookup) -> Vec<Drift> {
        if lookup == PinLookup::Later && !self.goes_by_pins() && self.wants_pins() {
            return Vec::new();
        }
        let earlier = || self.pin_file().map_or(StoredPins::None, |file| file.read());
        self.pins.review(tools, mask, earlier)
    }

    /// Emits drifts, each once; returns a line for the log, if there should be one.
    pub(crate) fn report_drift(&self, drifts: Vec<Drift>, events: &EventLog) -> Option<String> {
        let mut to_warn_of = Vec::new();
        for drift in drifts {
            if !self.is_news(&drift.fingerprint) {
                continue;
            }
            if self.settings.policy == DriftPolicy::Warn && !drift.warned {
                to_warn_of.push(quoted(&drift.tool));
            }
            let Drift { tool, pinned, fingerprint, changes, .. } = drift;
            let blocked = self.blocks();
            let drift = EventKind::ToolDrift { tool, pinned, fingerprint, changes, blocked };
            events.emit(&self.server, drift);
        }
        let lost = self.pins.lost().filter(|why| self.is_news(why));
        let lost = lost.map(|why| {
            format!("nobody knows what its tools were when first seen: {why}; {ACCEPT_ALL}")
        });
        let Some(line) = drift_line("tools", to_warn_of) else { return lost };
        Some(lost.map_or_else(|| line.clone(), |lost| format!("{lost}; {line}")))
    }

    /// Notes that a change is reported; false if it was before.
    fn is_news(&self, fingerprint: &str) -> bool {
        let mut reported = lock(&self.reported);
        let is_news = reported.insert(fingerprint.to_owned());
        // The oldest changes are dropped, so that an ever-changing server cannot fill the memory.
        if reported.len() > REPORTED {
            reported.drain(..MOST_KEPT);
        }
        is_news
    }

    /// The changes that the manager's log has a warning about: raw name and fingerprint.
    pub(crate) fn warned(&self) -> HashMap<String, String> {
        self.warned_of(&self.pins)
    }

    fn warned_of(&self, pins: &Pins) -> HashMap<String, String> {
        match self.settings.policy {
            DriftPolicy::Warn => pins.drifts().collect(),
            DriftPolicy::Allow | DriftPolicy::Block => HashMap::new(),
        }
    }

    /// Accepts the drift of one tool or skill, or of all. Blocks.
    pub(crate) fn accept(&self, tool: Option<&str>) -> Result<Vec<String>> {
        if tool.is_some_and(|name| !self.pins.knows(name) && self.skill_pins.knows(name)) {
            return Ok(self.accept_skills(tool));
        }
        if let Some(tool) = tool
            && !self.pins.knows(tool)
        {
            let text = format!("Server \"{}\" has no tool {}", self.server, quoted(tool));
            return Err(self.rejected(text, "name it as its server does".to_owned()));
        }
        let was_lost = self.pins.lost().is_some();
        if was_lost && tool.is_some() {
            let text = format!("What the tools of server \"{}\" were cannot be read", self.server);
            return Err(self.rejected(text, ACCEPT_ALL.to_owned()));
        }
        let accepted = self.pins.accept(tool);
        if let Some(file) = self.pin_file().filter(|_| !accepted.is_empty()) {
            file.accept(&accepted, was_lost);
        }
        let skills = if tool.is_none() { self.accept_skills(None) } else { Vec::new() };
        let tools = accepted.into_iter().map(|(name, _): (String, Bytes)| name);
        Ok(tools.chain(skills).collect())
    }

    /// Whether a change accepted here is also accepted there.
    pub(crate) fn shares_pins(&self, other: &Offer) -> bool {
        Arc::ptr_eq(&self.pins, &other.pins)
    }
}

/// A line for the log about changed tools or skills, by their quoted names.
fn drift_line(what: &str, mut names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let listed = names.join(", ");
    (!names.is_empty())
        .then(|| format!("{what} that are not as they were when first seen: {listed}{more}"))
}

/// When the pins of earlier sessions may be read from the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PinLookup {
    Now,
    /// Not while connecting, unless no tool may be offered before they are loaded.
    Later,
}
