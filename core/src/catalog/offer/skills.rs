//! Owns the pins of a server's skills: as for tools, the entry that was seen first is kept, and one that differs is
//! reported, and withheld by a manager that blocks drift. An entry has the digests of its files, so the pins hold for
//! their contents too.

use super::super::drift::DriftPolicy;
use super::super::pin_file::{PinFile, StoredPins};
use super::{Offer, drift_line};
use crate::error::{Error, Result};
use crate::event::{DriftChange, EventKind, EventLog};
use crate::redact::Mask;
use crate::tool::{Tools, quoted};

impl Offer {
    fn skill_pin_file(&self) -> Option<PinFile> {
        PinFile::for_key(&self.settings.cache, &self.key.of_skills())
    }

    /// Whether these skills were the last that were compared.
    pub(crate) fn has_seen_skills(&self, skills: &Tools) -> bool {
        self.skill_pins.has_seen(skills)
    }

    /// Compares skills with their pins and emits the differences, each once; new ones are pinned. Returns a line for the
    /// log, if there should be one. Blocks.
    pub(crate) fn review_skills(
        &self,
        skills: &Tools,
        mask: &Mask,
        events: &EventLog,
    ) -> Option<String> {
        let file = self.skill_pin_file();
        let earlier = || file.as_ref().map_or(StoredPins::None, PinFile::read);
        let drifts = self.skill_pins.review(skills, mask, earlier);
        if let Some(file) = file {
            let warned = self.warned_of(&self.skill_pins);
            let entries: Vec<_> = skills.list.iter().map(|it| mask.raw_json(it.raw())).collect();
            file.add(&entries, &warned);
        }
        let mut to_warn_of = Vec::new();
        for drift in drifts {
            if !self.is_news(&drift.fingerprint) {
                continue;
            }
            if self.settings.policy == DriftPolicy::Warn && !drift.warned {
                to_warn_of.push(quoted(&drift.tool));
            }
            let changes = drift.changes.into_iter().map(in_entry).collect();
            events.emit(
                &self.server,
                EventKind::SkillDrift {
                    skill: drift.tool,
                    pinned: drift.pinned,
                    fingerprint: drift.fingerprint,
                    changes,
                    blocked: self.blocks(),
                },
            );
        }
        if let Some(why) = self.skill_pins.lost().filter(|why| self.is_news(why)) {
            return Some(format!("nobody knows what its skills were when first seen: {why}"));
        }
        drift_line("skills", to_warn_of)
    }

    /// Whether a skill may be used as it is.
    pub(crate) fn check_skill(&self, uri: &str) -> Result<()> {
        if !self.hides_skill(uri) {
            return Ok(());
        }
        let text = format!(
            "Skill {} of server \"{}\" is blocked: it is not as it was when it was first seen",
            quoted(uri),
            self.server
        );
        let hint = "look at what changed, then accept_drift(server, uri)".to_owned();
        let error: Error = self.rejected(text, hint);
        Err(error.quoting(uri))
    }

    /// Whether a skill is withheld.
    pub(crate) fn hides_skill(&self, uri: &str) -> bool {
        self.blocks() && self.skill_pins.is_drifted(uri)
    }

    /// Accepts the drift of one skill or of all. Blocks.
    pub(super) fn accept_skills(&self, uri: Option<&str>) -> Vec<String> {
        let was_lost = self.skill_pins.lost().is_some();
        let accepted = self.skill_pins.accept(uri);
        if let Some(file) = self.skill_pin_file().filter(|_| !accepted.is_empty()) {
            file.accept(&accepted, was_lost);
        }
        accepted.into_iter().map(|(uri, _)| uri).collect()
    }
}

/// A change with its place in the entry of a skill, which is pinned in the form of a tool.
fn in_entry(change: DriftChange) -> DriftChange {
    let path = match change.path.split_once("/description") {
        Some(("", rest)) => format!("/frontmatter{rest}"),
        _ => change.path.strip_prefix("/inputSchema").unwrap_or(&change.path).to_owned(),
    };
    DriftChange { path, ..change }
}
