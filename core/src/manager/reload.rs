//! Owns changing a manager's servers while it runs: unchanged servers are not touched, the rest is applied as a
//! difference.

use std::sync::Arc;

use futures_util::future::join_all;
use serde::Serialize;
use tokio::time::timeout;

use super::close::CLOSE_ONE;
use super::server::Server;
use super::{ConnectReport, Inner, Servers, in_scope, offers_of};
use crate::config::{Config, Declared, ServerConfig};
use crate::error::Result;
use crate::event::EventKind;
use crate::pool::Release;
use crate::subscribers::Subscriber;
use crate::sync::lock;

/// What a reload changed.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ReloadReport {
    /// New servers.
    pub added: Vec<String>,
    /// Removed servers.
    pub removed: Vec<String>,
    /// Servers that were replaced by another definition of the same name.
    pub restarted: Vec<String>,
    /// Servers whose settings changed while they ran on.
    pub updated: Vec<String>,
    /// Servers without any change.
    pub unchanged: Vec<String>,
    /// How connecting the added and restarted servers went.
    pub connect: ConnectReport,
}

/// Serialises reloads from the read to the end, so that an older config never overwrites a newer one.
pub(super) type ReloadGuard<'a> = tokio::sync::MutexGuard<'a, ()>;

/// How a server that is in both configs has changed.
enum ServerChange {
    None,
    Updated,
    Replaced,
}

fn compare(old: &Declared, new: &Declared) -> ServerChange {
    let (old_config, new_config) = match (&old.config, &new.config) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(old), Err(new)) if old == new => return ServerChange::None,
        _ => return ServerChange::Replaced,
    };
    let home = |config: &ServerConfig| (config.enabled, config.shared, config.isolate);
    if !old_config.identity_differences(new_config).is_empty()
        || home(old_config) != home(new_config)
    {
        ServerChange::Replaced
    } else if old_config.setting_differences(new_config).is_empty()
        && old_config.view_differences(new_config).is_empty()
        && old.required == new.required
        && old.source == new.source
        && old.subject == new.subject
    {
        ServerChange::None
    } else {
        ServerChange::Updated
    }
}

fn offers_differ(old: &Declared, new: &Declared) -> bool {
    let tools = |declared: &Declared| declared.config.as_ref().ok().map(|it| it.tools.clone());
    tools(old) != tools(new)
}

impl Inner {
    fn change(&self, old: &Server, new: &Declared) -> ServerChange {
        match compare(&old.declared, new) {
            ServerChange::None | ServerChange::Updated if self.is_trusted_otherwise(old, new) => {
                ServerChange::Replaced
            }
            change => change,
        }
    }

    /// Applies the difference to this config. The caller holds `_turn` since before it read the config.
    pub(super) async fn apply(
        &self,
        config: Config,
        _turn: ReloadGuard<'_>,
    ) -> Result<ReloadReport> {
        self.check_open()?;
        let Config { servers, mut warnings, project } = config;
        let servers: Vec<_> = servers
            .into_iter()
            .map(|(name, declared)| (name, in_scope(declared, &self.options)))
            .collect();
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        warnings
            .extend(self.options.warnings(servers.iter().map(|(name, declared)| (name, declared))));
        *lock(&self.warnings) = warnings;
        let old = self.servers.load_full();
        let mut report = ReloadReport::default();
        let mut next = Servers::new();
        let mut leaving = Vec::new();
        let mut coming = Vec::new();
        let mut filtered = Vec::new();
        let mut resourced = Vec::new();
        // The stored trust may have changed too.
        self.refresh_trust(servers.iter().map(|(_, declared)| declared)).await;
        self.project.store(Arc::new(project));
        self.ask_about_held_back();
        for (name, declared) in servers {
            let server = match old.get(&name) {
                None => {
                    report.added.push(name.clone());
                    let offer = self.offer(&name, &declared, None);
                    let server = Server::new(&name, declared, offer, &self.presenter_settings);
                    coming.push(server.clone());
                    server
                }
                Some(old) => match self.change(old, &declared) {
                    ServerChange::None => {
                        report.unchanged.push(name.clone());
                        if old.is_blocked() {
                            coming.push(old.clone());
                        }
                        old.clone()
                    }
                    ServerChange::Updated => {
                        report.updated.push(name.clone());
                        let offer = self.offer(&name, &declared, Some(&old.offer));
                        if offers_differ(&old.declared, &declared) {
                            filtered.push(name.clone());
                        }
                        let server = old.redefined(declared, offer, &self.presenter_settings);
                        if !server.offer.shares_pins(&old.offer) {
                            resourced.push(server.clone());
                        }
                        if server.is_blocked() {
                            coming.push(server.clone());
                        }
                        server
                    }
                    ServerChange::Replaced => {
                        report.restarted.push(name.clone());
                        leaving.push(old.clone());
                        let offer = self.offer(&name, &declared, Some(&old.offer));
                        let server = Server::new(&name, declared, offer, &self.presenter_settings);
                        coming.push(server.clone());
                        server
                    }
                },
            };
            next.insert(name, server);
        }
        let gone = old.iter().filter(|(name, _)| !next.contains_key(*name));
        for (name, server) in gone {
            report.removed.push(name.clone());
            leaving.push(server.clone());
        }
        let something_changed =
            [&report.added, &report.removed, &report.restarted, &report.updated]
                .iter()
                .any(|names| !names.is_empty());
        if !something_changed && coming.is_empty() {
            return Ok(report);
        }
        let is_over = |names: &[String], server: &str| names.iter().any(|name| name == server);
        self.sink.forget_warnings(|server| {
            is_over(&report.removed, server) || is_over(&report.restarted, server)
        });
        self.sink.set_offers(offers_of(&next));
        self.servers.store(Arc::new(next));
        let ending = leaving.iter().map(|server| server.leave(Release::Disconnect));
        let ending: Vec<_> = ending.map(|ending| timeout(CLOSE_ONE, ending)).collect();
        self.sink.invalidate_catalog();
        if something_changed {
            let ReloadReport { added, removed, restarted, updated, .. } = report.clone();
            let changed = EventKind::ConfigChanged { added, removed, restarted, updated };
            self.sink.events.emit("", changed);
        }
        for lease in resourced.iter().filter_map(|server| server.lease().clone()) {
            self.sink.compare_tools(lease.connection());
        }
        for name in filtered {
            self.emit_tool_count(&name);
        }
        // A replaced server waits by itself for the end of its predecessor.
        let (gate, starts) = self.begin_starts(coming).await;
        let (connected, _) = tokio::join!(gate.pass(starts), join_all(ending));
        report.connect = connected?;
        Ok(report)
    }
}
