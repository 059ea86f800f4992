//! Owns a manager's tools as agents see them: the catalog, rebuilt on a read after a change; the names that were given
//! out; and accepting drifted tools.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;

use super::server::Server;
use super::{Inner, Manager, on_runtime};
use crate::catalog::{Catalog, Tool, ToolNames};
use crate::connection::Live;
use crate::error::{Error, Result};
use crate::runtime;
use crate::session::Announcements;
use crate::subscribers::Subscriber;
use crate::sync::lock;
use crate::tool::ServerTool;

/// How many previous tool names are kept.
const FORMER_NAMES: usize = 20_000;

/// The catalog as it was last built.
#[derive(Default)]
pub(super) struct BuiltCatalog {
    version: u64,
    catalog: Arc<Catalog>,
    /// Previous names of tools that were renamed because of a conflict: server and raw name. An agent that knows such a
    /// name can keep using it.
    former: IndexMap<String, (String, String)>,
}

impl Manager {
    /// The tools of all servers that are up, or will be, sorted by name. If a server has announced a change of its
    /// tools, this blocks until they are known, for at most a second: the list after a call includes the changes made
    /// by the call.
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

    /// The tool with this name in [`Manager::get_tools`], or with one that it had before. A name without a tool is an
    /// error that suggests a similar one, as for [`Manager::call`].
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// let tool = manager.get_tool("mcp_time_get_current_time")?;
    /// println!("{}", tool.definition.description());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_tool(&self, name: &str) -> Result<Tool> {
        self.check_open()?;
        let catalog = self.get_tools();
        let index = self.find_index(&catalog, name);
        let index = index.ok_or_else(|| self.no_tool_named(&catalog, name))?;
        Ok(catalog.tools()[index].clone())
    }

    /// The index of [`Manager::get_tool`] in the list of this catalog, for hosts that keep the list.
    #[doc(hidden)]
    pub fn tool_index(&self, catalog: &Catalog, name: &str) -> Result<usize> {
        self.check_open()?;
        self.find_index(catalog, name).ok_or_else(|| self.no_tool_named(catalog, name))
    }

    /// The index of the offered tool with this current or previous name.
    fn find_index(&self, catalog: &Catalog, name: &str) -> Option<usize> {
        catalog.index_of(name).or_else(|| {
            let (server, raw_name) = self.former_tool_named(name)?;
            catalog.index_of(&catalog.find(&server, &raw_name)?.name)
        })
    }

    /// Whether a server has announced a change of its tools since the last wait for one, or may have done so before its
    /// last answer.
    #[doc(hidden)]
    pub fn has_announced_tools(&self) -> bool {
        self.0.heard_announcements.load(Ordering::Acquire) != self.0.sink.announcements()
            || self.0.servers.load().values().any(|server| server.may_announce_tools())
    }

    /// Blocks until the announced tools are known, within bounds. [`Manager::get_tools`] does this itself; this
    /// function is for hosts that have to release a lock first.
    #[doc(hidden)]
    pub fn await_announced_tools(&self) {
        let announced = self.0.sink.announcements();
        // Our own threads fetch the tools, so they must not block here.
        if !self.has_announced_tools() || runtime::is_own_thread() {
            return;
        }
        let servers = self.0.servers.load();
        // All begin to catch up before the first is waited for.
        let catch_up = |live: Arc<Live>| {
            let answered_us = match live.greeting.announces_tools {
                true => live.session.catch_up(),
                false => 0,
            };
            (live, answered_us)
        };
        let live = servers.values().filter_map(|server| server.live());
        let live: Vec<_> = live.map(catch_up).collect();
        let limit = Announcements::limit();
        for (live, answered_us) in &live {
            live.session.wait_for_announced_tools(*answered_us, limit);
        }
        self.0.heard_announcements.store(announced, Ordering::Release);
    }

    /// The catalog of the tools known now.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        let version = self.0.sink.catalog_version();
        {
            let built = lock(&self.0.catalog);
            if built.version == version {
                return built.catalog.clone();
            }
        }
        // Called without the lock: a naming function may belong to a language with its own lock.
        let catalog = Arc::new(self.build_catalog(self.0.offer_settings.names()));
        lock(&self.0.catalog).replace(version, catalog.clone());
        catalog
    }

    /// The best `k` tools for `query`, best first: for agents with more tools than fit into their context.
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

    /// The catalog as of the last read; calls no naming function.
    pub(super) fn built_catalog(&self) -> Arc<Catalog> {
        lock(&self.0.catalog).catalog.clone()
    }

    pub(super) fn build_catalog(&self, names: &ToolNames) -> Catalog {
        let (servers, policy) = (self.0.servers.load_full(), self.0.options.approval);
        let slices = servers.values().filter_map(|server| server.slice(policy)).collect();
        Catalog::build(slices, names, &self.executor())
    }

    /// Accepts drifted tools and skills as they are now: one tool by its raw name or one skill by its address, or all of
    /// the server. Returns the names of those that had drifted.
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

    /// The server and raw name of a tool with this current or previous name, even if the tool is gone.
    pub(super) fn former_tool_named(&self, name: &str) -> Option<(String, String)> {
        lock(&self.0.catalog).former.get(name).cloned()
    }

    /// Whether this tool was ever listed.
    pub(super) fn was_offered(&self, server: &str, raw_name: &str) -> bool {
        let built = lock(&self.0.catalog);
        let is_it = |(of, tool): &(String, String)| of == server && tool == raw_name;
        built.catalog.find(server, raw_name).is_some() || built.former.values().any(is_it)
    }

    /// The tool with this current or previous name, offered or not.
    pub(super) fn tool_named(&self, catalog: &Catalog, name: &str) -> Option<Arc<ServerTool>> {
        catalog.tool_named(name).cloned().or_else(|| {
            self.find_index(catalog, name).map(|index| catalog.tools()[index].definition.clone())
        })
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
        // The oldest names are dropped, so that a server with an ever-changing list cannot fill the memory.
        self.former.drain(..self.former.len().saturating_sub(FORMER_NAMES));
    }
}

impl Inner {
    /// Emits that the manager's offered tools of a server have changed.
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
    fn the_oldest_names_of_removed_tools_are_dropped() {
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
