//! Owns what one manager receives from its connections: its event log, its catalog's version, its offered tools, and
//! what is reported and written about them. `connection` decides when.
//! Invariant: a warning, a suspicion or a drift is reported once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{Cache, Offer, PinFile, PinKey, PinLookup};
use crate::auth_prompt::{AuthPrompt, OnAuth};
use crate::caller::Identity;
use crate::connection::Connection;
use crate::event::{EventKind, EventLog, InjectionPlace};
use crate::login_store::LoginStore;
use crate::redact::Mask;
use crate::result::ManagerId;
use crate::runtime;
use crate::server_request::{ClientFeatures, Feature, Refusal, ServerRequest};
use crate::subscribers::{
    Listing, SessionSettings, Subscriber, Suspicion, TextOrigin, ToolStore, WrittenFiles, log_event,
};
use crate::sync::lock;
use crate::tool::Tools;

/// How many reported suspicions a manager remembers.
const SUSPICIONS: usize = 1024;
/// How many warnings about servers a manager keeps.
const WARNINGS: usize = 1024;

/// How a manager wants sign-ins.
#[derive(Clone)]
pub(crate) struct SignInOptions {
    pub(crate) on_auth: Option<OnAuth>,
    pub(crate) login_store: Option<LoginStore>,
    pub(crate) begin_auth: bool,
}

/// A manager, as its connections see it.
pub(crate) struct ManagerSink {
    pub(crate) events: Arc<EventLog>,
    /// Set on the sink of the connections that have another identity than the manager.
    identity: Option<Identity>,
    sign_in: SignInOptions,
    features: ClientFeatures,
    /// What the manager has set on its servers, by server.
    session_settings: Mutex<HashMap<String, SessionSettings>>,
    pub(crate) cache: Cache,
    catalog_version: AtomicU64,
    /// How many tool changes its servers have announced.
    announcements: AtomicU64,
    /// The manager's offers, by server.
    offers: Mutex<HashMap<String, Arc<Offer>>>,
    /// Warnings that came while connecting: server and line.
    warnings: Mutex<Vec<(String, String)>>,
    /// Reported suspicions, by server.
    suspicions: Mutex<Vec<(String, Suspicion)>>,
}

impl ManagerSink {
    pub(crate) fn new(cache: Cache, sign_in: SignInOptions, features: ClientFeatures) -> Arc<Self> {
        Arc::new(ManagerSink::unshared(cache, sign_in, features))
    }

    fn unshared(cache: Cache, sign_in: SignInOptions, features: ClientFeatures) -> ManagerSink {
        ManagerSink {
            events: Arc::default(),
            identity: None,
            sign_in,
            features,
            session_settings: Mutex::default(),
            cache,
            catalog_version: AtomicU64::new(1),
            announcements: AtomicU64::new(0),
            offers: Mutex::default(),
            warnings: Mutex::default(),
            suspicions: Mutex::default(),
        }
    }

    /// The sink of the manager's connections for another identity. It offers nothing: the manager's catalog and cache are
    /// those of its own identity.
    pub(crate) fn for_identity(&self, identity: &Identity) -> Arc<ManagerSink> {
        let (sign_in, features) = (self.sign_in.clone(), self.features.clone());
        let mut sink = ManagerSink::unshared(Cache::off(), sign_in, features);
        sink.events = self.events.clone();
        sink.identity = Some(identity.clone());
        Arc::new(sink)
    }

    pub(crate) fn set_offers(&self, offers: impl Iterator<Item = (String, Arc<Offer>)>) {
        *lock(&self.offers) = offers.collect();
    }

    pub(crate) fn offer(&self, server: &str) -> Option<Arc<Offer>> {
        lock(&self.offers).get(server).cloned()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).iter().map(|(_, line)| line.clone()).collect()
    }

    /// Drops the warnings and suspicions of removed servers.
    pub(crate) fn forget_warnings(&self, is_gone: impl Fn(&str) -> bool) {
        lock(&self.warnings).retain(|(server, _)| !is_gone(server));
        lock(&self.suspicions).retain(|(server, _)| !is_gone(server));
    }

    /// Changes with every invalidation of the catalog.
    pub(crate) fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    /// How often a server announced a change of its tools.
    pub(crate) fn announcements(&self) -> u64 {
        self.announcements.load(Ordering::Acquire)
    }

    /// Emits how many of these tools the manager offers.
    pub(crate) fn emit_tool_count(&self, server: &str, tools: &Tools, mask: &Mask) {
        let tool_count = match self.offer(server) {
            Some(offer) => offer.count(tools, || mask.clone()),
            None => tools.list.len(),
        };
        self.emit(server, EventKind::ToolsChanged { tool_count });
    }

    /// Reports the drift of the tools of a connection that the manager has joined, or now has from another source; also
    /// writes the tools to the manager's cache.
    pub(crate) fn compare_tools(self: &Arc<Self>, connection: &Connection) {
        let (server, published) = (connection.server().clone(), connection.published().clone());
        let Some(offer) = self.offer(&server) else { return };
        if offer.wants_pins()
            && let Some(store) = self.clone().tool_store(&server)
        {
            connection.store_tools_in(store);
        }
        let mask = published.mask();
        let drifts = offer.review(&published.tools, &mask, PinLookup::Later);
        if let Some(line) = self.report_drift(&offer, drifts) {
            tracing::warn!(server = &*server, "{line}");
        }
        if offer.wants_pins() {
            let sink = self.clone();
            runtime::spawn_blocking(move || {
                if let Some(line) = sink.compare_with_disk(&offer, &published.tools, &mask) {
                    tracing::warn!(server = &*server, "{line}");
                }
            });
        }
    }

    /// Reports the drift since earlier sessions, if that was deferred. Blocks.
    fn compare_with_disk(&self, offer: &Offer, tools: &Tools, mask: &Mask) -> Option<String> {
        if !offer.wants_pins() {
            return None;
        }
        self.report_drift(offer, offer.review(tools, mask, PinLookup::Now))
    }

    /// What the manager offers to its servers.
    pub(crate) fn features(&self) -> &ClientFeatures {
        &self.features
    }

    /// Changes what the manager has set on a server.
    pub(crate) fn change_settings<T>(
        &self,
        server: &str,
        change: impl FnOnce(&mut SessionSettings) -> T,
    ) -> T {
        change(lock(&self.session_settings).entry(server.to_owned()).or_default())
    }

    /// Where the program keeps logins, if not in files.
    pub(crate) fn login_store(&self) -> Option<&LoginStore> {
        self.sign_in.login_store.as_ref()
    }

    fn report_drift(&self, offer: &Offer, drifts: Vec<super::Drift>) -> Option<String> {
        let line = offer.report_drift(drifts, &self.events)?;
        self.emit(offer.server(), log_event("warning", &line));
        Some(line)
    }
}

impl Subscriber for ManagerSink {
    fn ask_auth(&self, prompt: &AuthPrompt) -> Option<BoxFuture<'static, Option<String>>> {
        self.sign_in.on_auth.as_ref().map(|on_auth| on_auth.ask(prompt))
    }

    fn begin_auth(&self) -> bool {
        self.sign_in.begin_auth
    }

    fn manager(&self) -> ManagerId {
        ManagerId::from(&self.events)
    }

    fn offers(&self, feature: Feature) -> bool {
        self.features.offers(feature)
    }

    fn answer_request(&self, request: ServerRequest) -> BoxFuture<'static, Result<Value, Refusal>> {
        let identity = self.identity.as_ref().map(|identity| identity.as_str().to_owned());
        self.features.answer(request, identity)
    }

    fn session_settings(&self, server: &str) -> SessionSettings {
        lock(&self.session_settings).get(server).cloned().unwrap_or_default()
    }

    fn emit(&self, server: &str, kind: EventKind) {
        // The session may be one of others who have subscribed to it.
        if let EventKind::ResourceUpdated { uri } = &kind
            && !self.session_settings(server).subscriptions.contains(uri)
        {
            return;
        }
        match (&self.identity, kind) {
            // The catalog has the tools of the manager's own identity.
            (Some(_), EventKind::ToolsChanged { .. }) => {}
            (identity, kind) => self.events.emit_for(server, identity.as_ref(), kind),
        }
    }

    fn note_announcement(&self) {
        self.announcements.fetch_add(1, Ordering::Release);
    }

    fn invalidate_catalog(&self) {
        self.catalog_version.fetch_add(1, Ordering::Release);
    }

    fn warn_once(&self, server: &str, line: &str) -> bool {
        let is_new = insert_new(&self.warnings, WARNINGS, (server.to_owned(), line.to_owned()));
        if is_new {
            self.emit(server, log_event("warning", line));
        }
        is_new
    }

    fn report_suspicion(&self, server: &str, suspicion: &Suspicion) -> bool {
        let entry = (server.to_owned(), suspicion.clone());
        let is_new = insert_new(&self.suspicions, SUSPICIONS, entry);
        if is_new {
            let Suspicion { origin, signals } = suspicion.clone();
            let (place, tool, skill) = match origin {
                TextOrigin::Instructions => (InjectionPlace::Instructions, None, None),
                TextOrigin::Tool(name) => (InjectionPlace::Description, Some(name), None),
                TextOrigin::Skill(uri) => (InjectionPlace::Skill, None, Some(uri)),
            };
            self.emit(server, EventKind::Injection { place, tool, skill, signals });
        }
        is_new
    }

    fn review_tools(&self, server: &str, tools: &Tools, mask: &Mask) {
        if let Some(offer) = self.offer(server) {
            offer.review(tools, mask, PinLookup::Later);
        }
    }

    fn report_tools(&self, server: &str, tools: &Tools, mask: &Mask) -> Option<String> {
        let line = self.offer(server).and_then(|offer| {
            let drifts = offer.review(tools, mask, PinLookup::Later);
            self.report_drift(&offer, drifts)
        });
        self.emit_tool_count(server, tools, mask);
        line
    }

    fn load_pins(&self, server: &str) -> Option<Box<dyn FnOnce() + Send>> {
        let offer = self.offer(server).filter(|offer| offer.needs_pins())?;
        Some(Box::new(move || {
            if offer.needs_pins() {
                offer.review(&Tools::default(), &Mask::default(), PinLookup::Now);
            }
        }))
    }

    fn tool_store(self: Arc<Self>, server: &str) -> Option<Box<dyn ToolStore>> {
        let offer = self.offer(server)?;
        Some(Box::new(ManagerStore {
            sink: Arc::downgrade(&self),
            cache: self.cache.clone(),
            key: offer.pin_key().clone(),
            pin_file: offer.pin_file(),
        }))
    }
}

/// Adds an entry; returns false if it exists. The oldest entries are dropped above the limit: a server with
/// ever-changing texts must not fill the memory.
fn insert_new<T: PartialEq>(entries: &Mutex<Vec<T>>, most: usize, entry: T) -> bool {
    let mut entries = lock(entries);
    if entries.contains(&entry) {
        return false;
    }
    let excess = (entries.len() + 1).saturating_sub(most);
    entries.drain(..excess);
    entries.push(entry);
    true
}

/// A manager's cache and pins of one server.
struct ManagerStore {
    sink: Weak<ManagerSink>,
    cache: Cache,
    key: PinKey,
    pin_file: Option<PinFile>,
}

impl ManagerStore {
    /// The manager and its offer, while the manager uses the server from the same source.
    fn offer(&self, server: &str) -> Option<(Arc<ManagerSink>, Arc<Offer>)> {
        let sink = self.sink.upgrade()?;
        let offer = sink.offer(server).filter(|offer| *offer.pin_key() == self.key)?;
        Some((sink, offer))
    }
}

impl ToolStore for ManagerStore {
    fn is_off(&self) -> bool {
        self.cache.is_off()
    }

    fn cached_protocol(&self, server: &str, fingerprint: &str, now_ms: u64) -> Option<String> {
        self.cache.load(server, fingerprint, now_ms)?.protocol_version
    }

    fn report_drift(&self, Listing { server, tools, mask, .. }: &Listing) -> Option<String> {
        let (sink, offer) = self.offer(server)?;
        sink.compare_with_disk(&offer, tools, mask)
    }

    fn write(&self, listing: &Listing, written: &mut WrittenFiles) {
        if let Some(file) = &self.pin_file {
            let warned = self.offer(&listing.server).map(|(_, offer)| offer.warned());
            let warned = warned.unwrap_or_default();
            // Every manager's warnings are added, also to a file that was written for another one.
            if written.is_first(file.path()) || !warned.is_empty() {
                file.add(&listing.masked_entries, &warned);
            }
        }
        if self.cache.directory().is_some_and(|directory| written.is_first(directory)) {
            self.cache.store(
                &listing.server,
                &listing.fingerprint,
                Some(&listing.protocol_version),
                &listing.masked_entries,
                listing.time_ms,
            );
        }
    }
}
