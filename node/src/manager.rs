//! Owns the handle of a core manager, with the verbs that never wait.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mcpool::ToolRef;
use mcpool::host::CallFailure;
use mcpool::{Catalog, Config, Manager, ManagerOptions};
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::bridge::Bridge;
use crate::calls::Caller;
use crate::errors::OrThrow;
use crate::events::NativeEvents;
use crate::external_memory::ExternalMemory;
use crate::options::{Kept, NativeOptions};
use crate::post::Post;
use crate::result::ForModel;
use crate::text::to_json;
use crate::tool::NativeCatalog;

/// A manager of the core.
#[napi]
pub struct NativeManager {
    /// Shared with its `submit`, which may outlive it.
    pub(crate) core: Arc<Manager>,
    pub(crate) post: Rc<Post>,
    /// The catalog that was handed out last.
    catalog: RefCell<Option<Arc<Catalog>>>,
    pub(crate) kept: Kept,
    _memory: ExternalMemory,
}

/// About what a manager with a few servers takes in the core; `core/tests/idle_managers.rs` counts it.
const MANAGER_BYTES: i64 = 8 << 10;

#[napi]
impl NativeManager {
    /// `config` is JSON.
    #[napi(constructor)]
    pub fn new(
        env: Env,
        bridge: &Bridge,
        config: String,
        options: &NativeOptions,
    ) -> napi::Result<Self> {
        let config = Config::from_json(&config).or_throw(&env)?;
        let (options, kept) = options.read(&env, ManagerOptions::from_json)?;
        Ok(Self::from_core(Manager::new(config, options), bridge.0.clone(), kept))
    }

    /// On a config file.
    #[napi(factory)]
    pub fn open(
        env: Env,
        bridge: &Bridge,
        path: String,
        options: &NativeOptions,
    ) -> napi::Result<Self> {
        let (options, kept) = options.read(&env, ManagerOptions::for_file)?;
        let core = Manager::open(path, options).or_throw(&env)?;
        Ok(Self::from_core(core, bridge.0.clone(), kept))
    }

    /// For a sub-agent, on the same connections.
    #[napi]
    pub fn child(&self, env: Env) -> napi::Result<NativeManager> {
        let core = self.core.child().or_throw(&env)?;
        Ok(Self::from_core(core, self.post.clone(), self.kept.clone()))
    }

    pub(crate) fn from_core(core: Manager, post: Rc<Post>, kept: Kept) -> Self {
        let core = Arc::new(core);
        if let Some(wake) = post.wake.get() {
            wake.adopt(&core);
        }
        let _memory = ExternalMemory::new(post.env(), MANAGER_BYTES);
        NativeManager { core, post, catalog: RefCell::default(), kept, _memory }
    }

    /// JSON of what discovery found, `null` for a manager that was not made by it.
    #[napi]
    pub fn discovery(&self) -> Option<String> {
        self.core.discovery().map(|found| found.report_with_keys().to_string())
    }

    /// Calls a tool; without a server, `tool` is a name in the catalog. `options` are pairs of a place in `CALL_OPTIONS`
    /// and a value: a number as it is, anything else as JSON. True asks for a flush after this turn.
    #[napi(
        getter,
        ts_return_type = "(key: number, server: string | undefined, tool: string, argumentsJson?: string, progress?: boolean, ...options: (number | string)[]) => boolean"
    )]
    pub fn submit<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let (core, post) = (self.core.clone(), self.post.clone());
        Caller { core, post, questions: self.kept.questions.clone() }.into_function(env)
    }

    /// The catalog, if it has changed since the last time.
    #[napi]
    pub fn new_catalog(&self) -> Option<NativeCatalog> {
        let catalog = self.core.get_tools();
        let last = self.catalog.replace(Some(catalog.clone()));
        let same = last.is_some_and(|last| Arc::ptr_eq(&last, &catalog));
        (!same).then(|| NativeCatalog(catalog))
    }

    /// The tools that match a query, as places in the catalog that was handed out last.
    #[napi]
    pub fn search_tools(&self, query: String, k: f64) -> Vec<u32> {
        let catalog = self.catalog.borrow();
        let found = catalog.as_ref().map(|catalog| catalog.search(&query, k as usize));
        found.unwrap_or_default().into_iter().map(|place| place as u32).collect()
    }

    /// The index of a tool in the catalog that was handed out last.
    #[napi]
    pub fn tool_index(&self, env: Env, name: String) -> napi::Result<u32> {
        let catalog = self.catalog.borrow().clone().unwrap_or_default();
        self.core.tool_index(&catalog, &name).map(|index| index as u32).or_throw(&env)
    }

    /// The text for a model when a call has no result, and JSON of the signals in it.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own in JavaScript")]
    pub fn failure_for_model(
        &self,
        server: String,
        tool: String,
        code: String,
        message: Option<String>,
        error_server: Option<String>,
        suggestion: Option<String>,
        executed: Option<String>,
        by_server: bool,
    ) -> ForModel {
        let (of, suggestion) = (error_server.as_deref(), suggestion.as_deref());
        let (message, executed) = (message.as_deref(), executed.as_deref());
        let failure = CallFailure::from_words(&code, message, of, suggestion, executed, by_server);
        let for_model = self.core.failure_for_model(&server, &tool, failure);
        ForModel { text: for_model.text, signals: to_json(&for_model.signals) }
    }

    /// From now on, a framework has to ask a person about the tools that require approval.
    #[napi]
    pub fn require_framework_approval(&self) {
        self.core.require_framework_approval();
    }

    #[napi]
    pub fn requires_framework_approval(&self) -> bool {
        self.core.requires_framework_approval()
    }

    /// Whether a person has to be asked before a call of the tool at this place of a catalog.
    #[napi]
    pub fn needs_framework_approval(&self, catalog: &NativeCatalog, index: u32) -> bool {
        catalog.tool(index).is_none_or(|tool| self.core.needs_framework_approval(tool))
    }

    /// Throws if a call of the tool at this place of a catalog needs an approval that nobody was asked for.
    #[napi]
    pub fn check_framework_approval(
        &self,
        env: Env,
        catalog: &NativeCatalog,
        index: u32,
    ) -> napi::Result<()> {
        let tool = catalog.tool(index);
        tool.map_or(Ok(()), |tool| self.core.check_framework_approval(tool)).or_throw(&env)
    }

    /// The same for a name that a model gave.
    #[napi]
    pub fn check_framework_approval_of_name(&self, env: Env, name: String) -> napi::Result<()> {
        self.core.check_framework_approval_of_name(&name).or_throw(&env)
    }

    /// JSON of the attributes of a call for telemetry; null when it is switched off. Without a server, `tool` is a name in
    /// the catalog.
    #[napi]
    pub fn telemetry(&self, server: Option<String>, tool: String) -> Option<String> {
        let tool = match &server {
            Some(server) => ToolRef::Of { server, tool: &tool },
            None => ToolRef::Named(&tool),
        };
        self.core.telemetry(tool).map(|attributes| to_json(&attributes))
    }

    /// The same for a request besides calls, by the name of a verb; `params` is a JSON object.
    #[napi]
    pub fn request_telemetry(
        &self,
        server: String,
        verb: String,
        params: String,
    ) -> Option<String> {
        let told = self.core.request_telemetry(&server, &verb, &params);
        told.map(|attributes| to_json(&attributes))
    }

    /// `roots` is a JSON list.
    #[napi]
    pub fn set_roots(&self, env: Env, roots: String) -> napi::Result<()> {
        self.core.set_roots_json(&roots).or_throw(&env)
    }

    /// JSON of every server's status.
    #[napi]
    pub fn status(&self) -> String {
        to_json(&self.core.status())
    }

    /// JSON of one server's status.
    #[napi]
    pub fn status_of(&self, env: Env, server: String) -> napi::Result<String> {
        self.core.status_of(&server).map(|status| to_json(&status)).or_throw(&env)
    }

    #[napi]
    pub fn warnings(&self) -> Vec<String> {
        self.core.warnings()
    }

    #[napi]
    pub fn events(&self) -> NativeEvents {
        NativeEvents::new(self.core.events(), self.post.clone(), self.kept.questions.clone())
    }
}
