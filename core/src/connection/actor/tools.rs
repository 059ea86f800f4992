//! Owns when the tools of a connection are listed, inspected and written. Cached tools are used until the server's own
//! are known; an announcement refreshes them; they are written after the initial connects and before a disconnect ends.
//! The managers' `ToolStore`s decide what is written.

use std::time::Duration;

use tokio::time::Instant;

use super::publish::EmittedChange;
use super::{Actor, PendingStore, Phase};
use crate::error::Result;
use crate::redact::Mask;
use crate::runtime;
use crate::subscribers::{Listing, Severity, ToolStore, WrittenFiles, log_warnings};
use crate::tool::Tools;

/// Writes are delayed until the initial connects are over.
const STORE_DELAY: Duration = Duration::from_millis(150);

impl Actor {
    pub(super) fn adopt(&mut self, tools: Tools) {
        let unknown = self.link.is_none() && self.tools.list.is_empty();
        let expected =
            matches!(self.phase, Phase::Idle | Phase::Dialing { .. } | Phase::Waiting { .. });
        if unknown && expected {
            self.tools = tools.clone();
            self.publish(EmittedChange::Tools);
            let shared = self.shared.clone();
            runtime::spawn_blocking(move || shared.inspect(&tools, None, &Mask::default()));
        }
    }

    pub(super) fn on_refreshed(&mut self, outcome: Result<Tools>) {
        let listed = outcome.is_ok();
        match outcome {
            Ok(tools) => {
                self.tools = tools;
                self.store_soon();
                self.publish(EmittedChange::Tools);
            }
            Err(error) => {
                let line = format!("the old tools are kept: {}", error.message());
                self.shared.subscribers.log(Severity::Warning, &self.shared.server, &line);
            }
        }
        let Some(link) = &mut self.link else { return };
        // Done after the tools were published, because the waiters read them there.
        let session = link.live.session.clone();
        session.announcements().answered(listed);
        if session.announcements().is_pending() {
            link.refresh_soon();
        }
    }

    /// Schedules the write of the tools for all current holders, after the initial connects.
    pub(super) fn store_soon(&mut self) {
        let Some(link) = &mut self.link else { return };
        let stores = self.shared.subscribers.tool_stores(&self.shared.server);
        link.store = Some(PendingStore { due: Instant::now() + STORE_DELAY, stores });
    }

    /// Writes the tools also for a manager that joined later.
    pub(super) fn store_in(&mut self, store: Box<dyn ToolStore>) {
        let Some(link) = &mut self.link else { return };
        let due = Instant::now() + STORE_DELAY;
        let pending = link.store.get_or_insert_with(|| PendingStore { due, stores: Vec::new() });
        pending.stores.push(store);
    }

    /// Inspects and writes the tools, if that is still pending. A disconnect waits for it, however early it comes.
    pub(super) fn store_now(&mut self) {
        let Some(link) = &mut self.link else { return };
        let Some(PendingStore { stores, .. }) = link.store.take() else { return };
        let live = &link.live;
        let instructions = live.greeting.instructions.clone();
        let shared = self.shared.clone();
        let mut listing = Listing {
            server: shared.server.clone(),
            tools: self.tools.clone(),
            mask: live.session.mask(),
            masked_entries: Vec::new(),
            fingerprint: self.config.cache_fingerprint(),
            protocol_version: live.greeting.protocol_version.clone(),
            time_ms: shared.clock.wall_ms(),
        };
        let stored = runtime::spawn_blocking(move || {
            shared.inspect(&listing.tools, instructions.as_deref(), &listing.mask);
            if stores.iter().all(|store| store.is_off()) {
                return;
            }
            let lines = stores.iter().filter_map(|store| store.report_drift(&listing)).collect();
            log_warnings(&listing.server, lines);
            // A server may repeat a value that it was given in its tools; that value must not be written to disk.
            let Listing { tools, mask, .. } = &listing;
            let masked = tools.list.iter().map(|tool| mask.raw_json(tool.raw())).collect();
            listing.masked_entries = masked;
            let mut written = WrittenFiles::default();
            for store in stores {
                store.write(&listing, &mut written);
            }
        });
        self.end_with(async move { drop(stored.await) });
    }

    /// Loads the pins of earlier sessions, for managers that show no tool before the pins are known.
    pub(super) fn load_pins(&self) -> Option<tokio::task::JoinHandle<()>> {
        let load = self.shared.subscribers.load_pins(&self.shared.server)?;
        Some(runtime::spawn_blocking(load))
    }
}
