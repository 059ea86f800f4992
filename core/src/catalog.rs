//! Owns the tools that an agent can call: the catalog of all servers' tools, under names that are legal, unique and
//! stable.
//! Invariant: calls are routed by a map, never by parsing a name.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::approval::Rule;
use crate::call::{Arguments, CallOptions};
use crate::error::{Error, Result};
use crate::result::ToolOutput;
use crate::tool::{ServerTool, Tools};

mod cache;
mod drift;
mod filter;
mod manager_sink;
mod name;
mod offer;
mod pin_file;
mod search;
mod stored;

pub(crate) use cache::Cache;
use drift::Drift;
pub use drift::DriftPolicy;
pub(crate) use manager_sink::{ManagerSink, SignInOptions};
pub(crate) use name::ToolNames;
pub use name::{Naming, NamingFunction};
pub(crate) use offer::{Offer, OfferSettings, PinLookup};
use pin_file::{PinFile, PinKey};

/// A tool with its name in the catalog.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tool {
    /// The name in the catalog.
    pub name: String,
    /// The tool as its server lists it.
    pub definition: Arc<ServerTool>,
    /// Whether it can be called at once.
    pub state: ToolState,
    /// Whether its calls need approval.
    pub requires_approval: bool,
    provider: Arc<str>,
    executor: Arc<dyn ToolExecutor>,
}

/// Calls tools for agents: a weak reference to the manager behind a catalog.
pub(crate) trait ToolExecutor: fmt::Debug + Send + Sync {
    fn execute(&self, tool: &Tool, arguments: Result<Arguments>, options: CallOptions)
    -> Execution;
}

/// A tool call for an agent. Dropping it cancels the call.
pub(crate) type Execution = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

impl Tool {
    /// Where it comes from, for people: its server, and the product whose config declares the server.
    pub fn provider(&self) -> String {
        self.provider.to_string()
    }

    pub(crate) fn provider_shared(&self) -> Arc<str> {
        self.provider.clone()
    }

    /// Calls the tool for an agent: the output always has text for the model, and failures are part of it. Arguments
    /// are [`Arguments`], or JSON that is converted. Dropping the future cancels the call and notifies the server. The
    /// tool does not keep its manager alive.
    pub fn execute<A>(
        &self,
        arguments: A,
        options: CallOptions,
    ) -> impl Future<Output = ToolOutput> + Send + use<A>
    where
        A: TryInto<Arguments>,
        A::Error: Into<Error>,
    {
        self.executor.execute(self, arguments.try_into().map_err(Into::into), options)
    }
}

/// Where the tools of a server come from, for people.
pub(crate) fn provider_of(server: &str, via: &str) -> String {
    format!("mcp:{server} via {via}")
}

/// Whether a tool's server is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// Its server is up.
    Live,
    /// Known from before; a call waits for the server.
    Deferred,
}

impl ToolState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            ToolState::Live => "live",
            ToolState::Deferred => "deferred",
        }
    }
}

/// The tools of one server, as a manager offers them.
pub(crate) struct Slice {
    pub(crate) tools: Tools,
    pub(crate) offer: Arc<Offer>,
    pub(crate) state: ToolState,
    pub(crate) approval: Rule,
    /// Where the tools come from, for people: [`provider_of`].
    pub(crate) provider: Arc<str>,
    /// The definition is not trusted.
    pub(crate) untrusted: bool,
}

/// All tools of a manager at one moment, sorted by name.
#[derive(Debug, Default)]
pub struct Catalog {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    /// Built on first use.
    index: OnceLock<search::Index>,
    /// Tools that have a name but are not offered: filters and blocks do not rename other tools.
    withheld: HashMap<String, Arc<ServerTool>>,
}

impl Catalog {
    pub(crate) fn build(
        slices: Vec<Slice>,
        names: &ToolNames,
        executor: &Arc<dyn ToolExecutor>,
    ) -> Self {
        let all: Vec<_> =
            slices.iter().flat_map(|slice| slice.tools.list.iter().cloned()).collect();
        let shown = || slices.iter().flat_map(|slice| slice.tools.list.iter().map(move |_| slice));
        let untrusted: Vec<bool> = shown().map(|slice| slice.untrusted).collect();
        let named = names.name_all(&all, &untrusted);
        let mut withheld = HashMap::new();
        let mut tools = Vec::with_capacity(all.len());
        for ((name, definition), slice) in named.into_iter().zip(all).zip(shown()) {
            if !slice.offer.has(&definition) {
                withheld.insert(name, definition);
                continue;
            }
            tools.push(Tool {
                name,
                requires_approval: slice.approval.applies(&definition, || {
                    slice.state == ToolState::Live && slice.offer.trusts_hints(&definition)
                }),
                definition,
                state: slice.state,
                provider: slice.provider.clone(),
                executor: executor.clone(),
            });
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let by_name = tools.iter().enumerate().map(|(at, tool)| (tool.name.clone(), at)).collect();
        Catalog { tools, by_name, withheld, index: OnceLock::new() }
    }

    /// The tool with this name, offered or not.
    pub(crate) fn tool_named(&self, name: &str) -> Option<&Arc<ServerTool>> {
        self.get(name).map(|tool| &tool.definition).or_else(|| self.withheld.get(name))
    }

    /// The tool of this server with this raw name, if there is one.
    pub(crate) fn find(&self, server: &str, raw_name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| {
            tool.definition.raw_name() == raw_name && tool.definition.server() == server
        })
    }

    /// All tools, sorted by name.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.index_of(name).map(|index| &self.tools[index])
    }

    /// The index in [`Catalog::tools`] of the tool with this name.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The positions in [`Catalog::tools`] of the best `k` tools for `query`, best first.
    pub fn search(&self, query: &str, k: usize) -> Vec<usize> {
        self.index
            .get_or_init(|| search::Index::build(self.tools.iter().map(|tool| &*tool.definition)))
            .search(query, k)
    }
}
