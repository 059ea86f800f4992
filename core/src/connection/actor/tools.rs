//! Owns the tools of a connection: those that stand in until the server's own are known, the refresh when the server says
//! that they changed, comparing them with what they were, and, when the rush is over, looking through them and writing
//! them to the caches.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::super::Shared;
use super::super::dial::tools_of;
use super::publish::Change;
use super::{Actor, Phase};
use crate::catalog::{Cache, Consult, Offer, PinFile, PinKey};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::Mask;
use crate::runtime;
use crate::session::list_tools;
use crate::subscribers::{Severity, View};
use crate::tool::Tools;

/// Changes of a tool list within this time after the first are fetched together.
const COALESCE: Duration = Duration::from_millis(300);
/// The disk is left alone until the rush of connecting is over.
const STORE_DELAY: Duration = Duration::from_millis(150);

/// Tools that are to be written.
pub(super) struct Store {
    pub(super) at: Instant,
    holders: Vec<Holder>,
}

/// A manager for which tools are written; it may be gone by then.
pub(crate) struct Holder {
    view: Weak<View>,
    cache: Cache,
    /// It is told of drift only while it takes the server from the same source.
    key: PinKey,
    pin_file: Option<PinFile>,
}

impl Holder {
    pub(crate) fn new(view: &Arc<View>, server: &str) -> Option<Holder> {
        let offer = view.offer(server)?;
        let (key, pin_file) = (offer.pin_key().clone(), offer.pin_file());
        Some(Holder { view: Arc::downgrade(view), cache: view.cache.clone(), key, pin_file })
    }

    fn offer(&self, server: &str) -> Option<(Arc<View>, Arc<Offer>)> {
        let view = self.view.upgrade()?;
        let offer = view.offer(server).filter(|offer| *offer.pin_key() == self.key)?;
        Some((view, offer))
    }
}

impl Actor {
    pub(super) fn adopt(&mut self, tools: Tools) {
        let unknown = self.live.is_none() && self.tools.list.is_empty();
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

    /// At once, unless that was done a moment ago. One that is under way goes on: what it misses is asked for after it.
    pub(super) fn refresh_soon(&mut self) {
        if self.refresh.is_none() {
            let at = self.refreshed_at.map_or_else(Instant::now, |began| began + COALESCE);
            self.refresh_at.get_or_insert(at);
        }
    }

    pub(super) fn begin_refresh(&mut self) {
        self.refresh_at = None;
        let Some(live) = self.live.clone() else { return };
        self.refreshed_at = Some(Instant::now());
        live.session.announcements().asked();
        let (shared, limit) = (self.shared.clone(), self.config.timeout);
        self.refresh = Some(Box::pin(async move {
            let listed = timeout(limit, list_tools(&live.session, &live.greeting)).await;
            match listed {
                Ok(listed) => Ok(tools_of(&shared, listed?, &live.session).await),
                Err(_) => Err(Error::new(ErrorKind::ToolTimeout, "tools/list was not answered")),
            }
        }));
    }

    pub(super) fn refreshed(&mut self, outcome: Result<Tools>) {
        self.refresh = None;
        let listed = outcome.is_ok();
        match outcome {
            Ok(tools) => {
                self.tools = tools;
                self.store_soon();
                self.publish(Change::Tools);
            }
            Err(error) => {
                let line = format!("the old tools are kept: {}", error.message());
                self.shared.subscribers.say(Severity::Warning, &self.shared.server, &line);
            }
        }
        let Some(live) = self.live.clone() else { return };
        // After the tools were published: whoever waits for them looks there.
        live.session.announcements().answered(listed);
        if live.session.announcements().is_pending() {
            self.refresh_soon();
        }
    }

    /// Notes who holds the connection: they may be gone when the tools are written.
    pub(super) fn store_soon(&mut self) {
        let views = self.shared.subscribers.views();
        let holders = views.iter().filter_map(|view| Holder::new(view, &self.shared.server));
        let holders = holders.collect();
        self.store = Some(Store { at: Instant::now() + STORE_DELAY, holders });
    }

    /// Writes the tools for somebody who came later, too.
    pub(super) fn store_for(&mut self, holder: Holder) {
        if self.live.is_none() {
            return;
        }
        let at = Instant::now() + STORE_DELAY;
        let store = self.store.get_or_insert_with(|| Store { at, holders: Vec::new() });
        store.holders.push(holder);
    }

    /// Looks through the tools and writes them to the caches, if that is still to be done. Whoever disconnects waits for
    /// it, also when it has begun long before.
    pub(super) fn store_now(&mut self) {
        let Some(Store { holders, .. }) = self.store.take() else { return };
        let Some(live) = &self.live else { return };
        let version = live.greeting.protocol_version.clone();
        let instructions = live.greeting.instructions.clone();
        let (tools, shared) = (self.tools.clone(), self.shared.clone());
        let mask = live.session.mask();
        let fingerprint = self.config.fingerprint();
        let stored = runtime::handle().spawn_blocking(move || {
            shared.inspect(&tools, instructions.as_deref(), &mask);
            if holders.iter().all(|holder| holder.cache.is_off()) {
                return;
            }
            // A server may describe its tools with a value that it was given; the disk is not to hold it.
            let listed: Vec<_> = tools.list.iter().map(|tool| mask.raw_json(tool.raw())).collect();
            let now_ms = shared.clock.wall_ms();
            let offers: Vec<_> =
                holders.iter().filter_map(|holder| holder.offer(&shared.server)).collect();
            shared.compare_with_the_disk(&offers, &tools, &mask);
            let pin_files: HashSet<_> =
                holders.iter().filter_map(|holder| holder.pin_file.as_ref()).collect();
            for file in pin_files {
                let here = offers.iter().map(|(_, offer)| offer);
                let here = here.filter(|offer| offer.pin_file().as_ref() == Some(file));
                file.add(&listed, &here.flat_map(|offer| offer.warned()).collect());
            }
            let caches: HashSet<_> = holders.iter().map(|holder| &holder.cache).collect();
            for cache in caches {
                cache.store(&shared.server, &fingerprint, Some(&version), &listed, now_ms);
            }
        });
        self.end_with(async move { drop(stored.await) });
    }

    /// Looks up how the tools were in earlier sessions, for those who offer none before that is known.
    pub(super) fn consult_pins(&self) -> Option<tokio::task::JoinHandle<()>> {
        let offers = self.shared.subscribers.views().into_iter();
        let offers: Vec<_> = offers.filter_map(|view| view.offer(&self.shared.server)).collect();
        if !offers.iter().any(|offer| offer.needs_pins()) {
            return None;
        }
        Some(runtime::handle().spawn_blocking(move || {
            for offer in offers.iter().filter(|offer| offer.needs_pins()) {
                offer.look(&Tools::default(), &Mask::default(), Consult::Now);
            }
        }))
    }
}

impl Shared {
    /// Tells those managers how the tools differ from earlier sessions, which was put off when they were listed. Blocks.
    pub(crate) fn compare_with_the_disk(
        &self,
        holders: &[(Arc<View>, Arc<Offer>)],
        tools: &Tools,
        mask: &Mask,
    ) {
        let mut lines = BTreeSet::new();
        for (view, offer) in holders.iter().filter(|(_, offer)| offer.wants_pins()) {
            let drifts = offer.look(tools, mask, Consult::Now);
            lines.extend(view.tell(&self.server, drifts));
        }
        for line in lines {
            tracing::warn!(server = &*self.server, "{line}");
        }
    }
}
