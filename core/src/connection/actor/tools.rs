//! Owns when the tools of a connection are listed, inspected and written: cached tools stand in until the server's own
//! are known, an announcement refreshes them, and the disk is written after the rush of connecting and before a
//! disconnect ends. What is written is left to the managers' `ToolStore`s.

use std::time::Duration;

use tokio::time::Instant;

use super::publish::Change;
use super::{Actor, PendingStore, Phase};
use crate::error::Result;
use crate::redact::Mask;
use crate::runtime;
use crate::subscribers::{Listing, Severity, ToolStore, WrittenFiles, log_warnings};
use crate::tool::Tools;

/// The disk is left alone until the rush of connecting is over.
const STORE_DELAY: Duration = Duration::from_millis(150);

impl Actor {
    pub(super) fn adopt(&mut self, tools: Tools) {
        let unknown = self.link.is_none() && self.tools.list.is_empty();
        let expected =
            matches!(self.phase, Phase::Idle | Phase::Dialing { .. } | Phase::Waiting { .. });
        if unknown && expected {
            self.tools = tools.clone();
            self.publish(Change::Tools);
            let shared = self.shared.clone();
            runtime::handle()
                .spawn_blocking(move || shared.inspect(&tools, None, &Mask::default()));
        }
    }

    pub(super) fn refreshed(&mut self, outcome: Result<Tools>) {
        let listed = outcome.is_ok();
        match outcome {
            Ok(tools) => {
                self.tools = tools;
                self.store_soon();
                self.publish(Change::Tools);
            }
            Err(error) => {
                let line = format!("the old tools are kept: {}", error.message());
                self.shared.subscribers.log(Severity::Warning, &self.shared.server, &line);
            }
        }
        let Some(link) = &mut self.link else { return };
        // After the tools were published: whoever waits for them reads them there.
        let session = link.live.session.clone();
        session.announcements().answered(listed);
        if session.announcements().is_pending() {
            link.refresh_soon();
        }
    }

    /// Writes the tools when the rush of connecting is over, for everybody who holds the connection now.
    pub(super) fn store_soon(&mut self) {
        let Some(link) = &mut self.link else { return };
        let stores = self.shared.subscribers.tool_stores(&self.shared.server);
        link.store = Some(PendingStore { due: Instant::now() + STORE_DELAY, stores });
    }

    /// Writes the tools for a manager that joined later, too.
    pub(super) fn store_in(&mut self, store: Box<dyn ToolStore>) {
        let Some(link) = &mut self.link else { return };
        let due = Instant::now() + STORE_DELAY;
        let pending = link.store.get_or_insert_with(|| PendingStore { due, stores: Vec::new() });
        pending.stores.push(store);
    }

    /// Inspects the tools and writes them, if that is still to be done. Disconnecting waits for it, however early it was
    /// begun.
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
            fingerprint: self.config.fingerprint(),
            protocol_version: live.greeting.protocol_version.clone(),
            time_ms: shared.clock.wall_ms(),
        };
        let stored = runtime::handle().spawn_blocking(move || {
            shared.inspect(&listing.tools, instructions.as_deref(), &listing.mask);
            if stores.iter().all(|store| store.is_off()) {
                return;
            }
            let lines = stores.iter().filter_map(|store| store.report_drift(&listing)).collect();
            log_warnings(&listing.server, lines);
            // A server may describe its tools with a value that it was given; the disk must not hold it.
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

    /// Loads the pins of earlier sessions, for managers that show no tool before those are known.
    pub(super) fn load_pins(&self) -> Option<tokio::task::JoinHandle<()>> {
        let load = self.shared.subscribers.load_pins(&self.shared.server)?;
        Some(runtime::handle().spawn_blocking(load))
    }
}
