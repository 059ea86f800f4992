//! Owns the tools of a manager as agents see them: the catalog, built when somebody looks and something changed, the
//! names that were given out, and accepting what drifted.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;

use super::server::Server;
use super::{Inner, Manager, on_runtime};
use crate::catalog::{Catalog, Names, Tool};
use crate::error::{Error, Result};
use crate::runtime;
use crate::session::Announcements;
use crate::subscribers::Subscriber;
use crate::sync::lock;
use crate::tool::ServerTool;

/// How many names are kept that tools had before.
const FORMER_NAMES: usize = 20_000;

/// The catalog as it was last built.
#[derive(Default)]
pub(super) struct BuiltCatalog {
    version: u64,
    catalog: Arc<Catalog>,
    /// Names that tools had before others came that want the same: server and raw name. An agent that was told such a
    /// name may go on using it.
    former: IndexMap<String, (String, String)>,
}

impl Manager {
    /// The tools of all servers that are up, or will be, sorted by name. Where a server has announced that its tools
    /// changed, this blocks until they are known, for a second at most: the list after a call holds what the call has
    /// changed.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// for tool in manager.get_tools().tools() {
    ///     println!("{}: {}", tool.name, tool.definition.description());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_tools(&self) -> Arc<Catalog> {
        self.await_announced_tools();
        self.catalog()
    }

    /// Whether a server has announced a change of its tools since somebody last waited for that.
    #[doc(hidden)]
    pub fn has_announced_tools(&self) -> bool {
        self.0.heard_announcements.load(Ordering::Acquire) != self.0.sink.announcements()
    }

    /// Blocks until the tools that were announced are known, within bounds. [`Manager::get_tools`] does so itself; this is
    /// for hosts that have a lock to let go of meanwhile.
    #[doc(hidden)]
    pub fn await_announced_tools(&self) {
        let announced = self.0.sink.announcements();
        // Our own threads are those that bring the tools.
        if self.0.heard_announcements.load(Ordering::Acquire) == announced
            || runtime::is_own_thread()
        {
            return;
        }
        let limit = Announcements::limit();
        for server in self.0.servers.load().values() {
            let lease = server.lease().clone();
            let live = lease.and_then(|lease| lease.connection().published().live.clone());
            if let Some(live) = live {
                live.session.announcements().wait(limit);
            }
        }
        self.0.heard_announcements.store(announced, Ordering::Release);
    }

    /// The catalog of what is known now.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        let version = self.0.sink.catalog_version();
        {
            let built = lock(&self.0.catalog);
            if built.version == version {
                return built.catalog.clone();
            }
        }
        // Without the lock: a naming function may belong to a language with a lock of its own.
        let catalog = Arc::new(self.build_catalog(self.0.offer_settings.names()));
        lock(&self.0.catalog).replace(version, catalog.clone());
        catalog
    }

    /// At most `k` tools that serve the need in `query`, best first: for agents with more tools than they can read.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// for tool in manager.search_tools("what time is it in Tokyo", 5) {
    ///     println!("{}", tool.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn search_tools(&self, query: &str, k: usize) -> Vec<Tool> {
        let catalog = self.get_tools();
        let found = catalog.search(query, k).into_iter();
        found.map(|place| catalog.tools()[place].clone()).collect()
    }

    /// The catalog as it was when somebody last looked: no naming function is asked.
    pub(super) fn built_catalog(&self) -> Arc<Catalog> {
        lock(&self.0.catalog).catalog.clone()
    }

    pub(super) fn build_catalog(&self, names: &Names) -> Catalog {
        let (servers, policy) = (self.0.servers.load_full(), self.0.options.approval);
        let slices = servers.values().filter_map(|server| server.slice(policy)).collect();
        Catalog::build(slices, names, &self.executor())
    }

    /// Takes tools that are not as they were when they were first seen for what they are now: one, by its server's name
    /// for it, or all of the server's. Gives the names of those that had changed.
    pub fn accept_drift(
        &self,
        server: &str,
        tool: Option<&str>,
    ) -> impl Future<Output = Result<Vec<String>>> + Send + use<> {
        let (manager, name, tool) = (self.clone(), server.to_owned(), tool.map(str::to_owned));
        on_runtime(async move {
            manager.check_open()?;
            let server = manager.find(&name)?;
            let offer = server.offer.clone();
            let accept = move || offer.accept(tool.as_deref());
            let accepted = runtime::handle().spawn_blocking(accept).await;
            let accepted = accepted.unwrap_or_else(|_| Err(Error::closed()))?;
            if !accepted.is_empty() {
                manager.0.report_accepted(&server);
            }
            Ok(accepted)
        })
    }

    /// The server and the raw name of a tool that has this name or had it, though it may be gone.
    pub(super) fn former_tool_named(&self, name: &str) -> Option<(String, String)> {
        lock(&self.0.catalog).former.get(name).cloned()
    }

    /// Whether anybody was ever told of this tool.
    pub(super) fn was_offered(&self, server: &str, raw_name: &str) -> bool {
        let built = lock(&self.0.catalog);
        let is_it = |(of, tool): &(String, String)| of == server && tool == raw_name;
        built.catalog.find(server, raw_name).is_some() || built.former.values().any(is_it)
    }

    /// The tool that has this name, or had it before.
    pub(super) fn tool_named(&self, catalog: &Catalog, name: &str) -> Option<Arc<ServerTool>> {
        if let Some(tool) = catalog.tool_named(name) {
            return Some(tool.clone());
        }
        let (server, tool) = lock(&self.0.catalog).former.get(name).cloned()?;
        catalog.find(&server, &tool).map(|tool| tool.definition.clone())
    }
}

impl BuiltCatalog {
    fn replace(&mut self, version: u64, catalog: Arc<Catalog>) {
        let before = std::mem::replace(&mut self.catalog, catalog);
        self.version = version;
        for tool in before.tools() {
            if self.catalog.tool_named(&tool.name).is_none() {
                let of =
                    (tool.definition.server().to_owned(), tool.definition.raw_name().to_owned());
                self.former.insert(tool.name.clone(), of);
            }
        }
        // A server that always lists others has its oldest forgotten.
        self.former.drain(..self.former.len().saturating_sub(FORMER_NAMES));
    }
}

impl Inner {
    /// Emits that the manager offers other tools of a server now.
    pub(super) fn emit_tool_count(&self, server: &str) {
        let servers = self.servers.load();
        let lease = servers.get(server).and_then(|server| server.lease().clone());
        if let Some(lease) = lease {
            let published = lease.connection().published();
            self.sink.emit_tool_count(server, &published.tools, &published.mask());
        }
    }

    /// Reports an accepted change to every manager that shares the pins.
    fn report_accepted(&self, server: &Server) {
        let Some(lease) = server.lease().clone() else { return };
        let published = lease.connection().published();
        for sink in lease.holders() {
            let offer = sink.offer(&server.name);
            if offer.is_some_and(|offer| offer.shares_pins(&server.offer)) {
                sink.invalidate_catalog();
                sink.emit_tool_count(&server.name, &published.tools, &published.mask());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approval::{ApprovalPolicy, Rule};
    use crate::catalog::{Slice, ToolState};
    use crate::config::{Config, Declared, Source};
    use crate::manager::ManagerOptions;
    use crate::redact::Mask;
    use crate::tool::Tools;

    #[test]
    fn names_of_tools_that_are_gone_are_forgotten_in_the_end() {
        let manager = Manager::new(Config::default(), ManagerOptions::default());
        let declared = Declared::new(Err(Error::closed()), false, Source::code());
        let listing = |round: usize| {
            let entry = |at: usize| json!({"name": format!("t{round}-{at}")}).to_string().into();
            let (tools, _) =
                Tools::read(&"s".into(), (0..5000).map(entry).collect(), &Mask::default());
            let slice = Slice {
                tools,
                offer: crate::catalog::Offer::new("s", &declared, &manager.0.offer_settings, None),
                state: ToolState::Live,
                approval: Rule { policy: ApprovalPolicy::Never, wanted: false },
                provider: "mcp:s via code".into(),
                untrusted: false,
            };
            Arc::new(Catalog::build(
                vec![slice],
                manager.0.offer_settings.names(),
                &manager.executor(),
            ))
        };
        let mut built = BuiltCatalog::default();
        for round in 0..8 {
            built.replace(round as u64, listing(round));
        }
        assert_eq!(built.former.len(), FORMER_NAMES);
        let names = [2, 3, 6].map(|round| built.former.contains_key(&format!("mcp_s_t{round}_1")));
        assert_eq!(names, [false, true, true]);
    }
}
