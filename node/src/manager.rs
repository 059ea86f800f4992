//! Owns the handle of a core manager. Async verbs end in a letter for the key that JavaScript gave.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use mcpool::ToolRef;
use mcpool::host::{Failure, Language, Questions};
use mcpool::{CallOptions, Catalog, Config, Manager, ManagerOptions, OnApproval};
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::bridge::{Bridge, start_listening};
use crate::calls::Caller;
use crate::catalog::NativeCatalog;
use crate::events::NativeEvents;
use crate::naming::{self, Namer, NamingFunction};
use crate::pool::NativePool;
use crate::post::Post;
use crate::question::listen;
use crate::text::to_json;
use crate::thrown;

/// A manager of the core.
#[napi]
pub struct NativeManager {
    core: Manager,
    post: Rc<Post>,
    /// The catalog that was handed out last.
    catalog: RefCell<Option<Arc<Catalog>>>,
    kept: Kept,
}

/// What belongs to a manager besides the core's.
#[derive(Clone)]
pub(crate) struct Kept {
    _namer: Option<Rc<Namer>>,
    /// The core's questions about trust, when JavaScript answers them.
    questions: Option<Questions>,
}

/// What a model is given.
#[napi(object)]
pub struct ForModel {
    pub text: String,
    /// JSON array.
    pub signals: String,
}

#[napi]
impl NativeManager {
    /// `config` and `options` are JSON.
    #[napi(
        constructor,
        ts_args_type = "bridge: Bridge, config: string, options: string, naming?: (server: string, tool: string) => string | null, pool?: NativePool, asksTrust?: boolean, asksApproval?: boolean"
    )]
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own in JavaScript")]
    pub fn new(
        env: Env,
        bridge: &Bridge,
        config: String,
        options: String,
        naming: Option<NamingFunction<'_>>,
        pool: Option<&NativePool>,
        asks_trust: Option<bool>,
        asks_approval: Option<bool>,
    ) -> napi::Result<Self> {
        let config = Config::from_json(&config).map_err(thrown)?;
        let options = ManagerOptions::from_json(&options, Language::Node).map_err(thrown)?;
        let (options, kept) = complete(env, options, naming, pool, (asks_trust, asks_approval))?;
        Ok(Self::around(Manager::new(config, options), bridge.0.clone(), kept))
    }

    /// On a config file.
    #[napi(
        factory,
        ts_args_type = "bridge: Bridge, path: string, options: string, naming?: (server: string, tool: string) => string | null, pool?: NativePool, asksTrust?: boolean, asksApproval?: boolean"
    )]
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own in JavaScript")]
    pub fn open(
        env: Env,
        bridge: &Bridge,
        path: String,
        options: String,
        naming: Option<NamingFunction<'_>>,
        pool: Option<&NativePool>,
        asks_trust: Option<bool>,
        asks_approval: Option<bool>,
    ) -> napi::Result<Self> {
        let options = ManagerOptions::for_file(&options, Language::Node).map_err(thrown)?;
        let (options, kept) = complete(env, options, naming, pool, (asks_trust, asks_approval))?;
        let core = Manager::open(path, options).map_err(thrown)?;
        Ok(Self::around(core, bridge.0.clone(), kept))
    }

    /// For a sub-agent, on the same connections.
    #[napi]
    pub fn child(&self) -> napi::Result<NativeManager> {
        let core = self.core.child().map_err(thrown)?;
        Ok(Self::around(core, self.post.clone(), self.kept.clone()))
    }

    pub(crate) fn around(core: Manager, post: Rc<Post>, kept: Kept) -> Self {
        NativeManager { core, post, catalog: RefCell::default(), kept }
    }

    /// JSON of what discovery found, `null` for a manager that was not made by it.
    #[napi]
    pub fn discovery(&self) -> Option<String> {
        self.core.discovery().map(|found| found.report_with_keys().to_string())
    }

    /// Calls a tool; without a server, `tool` is a name of the catalog. True asks for a flush after this turn.
    #[napi(
        getter,
        ts_return_type = "(key: number, server: string | undefined, tool: string, argumentsJson?: string, timeoutMs?: number, progress?: boolean, metaJson?: string, maxTotalTimeoutMs?: number, retry?: string) => boolean"
    )]
    pub fn submit<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let (core, post) = (self.core.clone(), self.post.clone());
        Caller { core, post, questions: self.kept.questions.clone() }.into_function(env)
    }

    #[napi]
    pub fn connect_all(&self, key: i64) {
        self.start(key, |core| {
            let verb = core.connect_all();
            async move { verb.await.map(|report| to_json(&report)) }
        });
    }

    #[napi]
    pub fn connect(&self, key: i64, server: String) {
        self.run(key, |core| core.connect(&server));
    }

    #[napi]
    pub fn wait_for(&self, key: i64, server: String, timeout_ms: Option<f64>) {
        let limit = timeout_ms.map(|ms| CallOptions::read_timeout(ms / 1000.0)).transpose();
        self.run(key, |core| {
            let verb = limit.map(|limit| core.wait_for(&server, limit));
            async move { verb?.await }
        });
    }

    #[napi]
    pub fn accept_drift(&self, key: i64, server: String, tool: Option<String>) {
        let verb = self.core.accept_drift(&server, tool.as_deref());
        let verb = async move { verb.await.map(|names| to_json(&names)) };
        start_listening(&self.post, key, true, None, || verb);
    }

    #[napi]
    pub fn disconnect(&self, key: i64, server: String) {
        self.end(key, self.core.disconnect(&server));
    }

    #[napi]
    pub fn disconnect_all(&self, key: i64) {
        self.end(key, ending(self.core.disconnect_all()));
    }

    #[napi]
    pub fn close(&self, key: i64) {
        self.end(key, ending(self.core.close()));
    }

    /// Without a config, the file is read again.
    #[napi]
    pub fn reload(&self, key: i64, config: Option<String>) {
        let manager = self.core.clone();
        self.start(key, |_| async move {
            let report = match config {
                Some(config) => manager.reload_with(Config::from_json(&config)?).await,
                None => manager.reload().await,
            };
            report.map(|report| to_json(&report))
        });
    }

    fn run<V>(&self, key: i64, verb: impl FnOnce(&Manager) -> V)
    where
        V: Future<Output = mcpool::Result<()>> + Send + 'static,
    {
        self.start(key, |core| {
            let verb = verb(core);
            async move { verb.await.map(|()| "null".to_owned()) }
        });
    }

    /// Runs what starts nothing, so that nothing is asked meanwhile.
    fn end(&self, key: i64, verb: impl Future<Output = mcpool::Result<()>> + Send + 'static) {
        let verb = async move { verb.await.map(|()| "null".to_owned()) };
        start_listening(&self.post, key, true, None, || verb);
    }

    /// Runs a verb that may start servers: the core's questions are answered meanwhile.
    fn start<V>(&self, key: i64, verb: impl FnOnce(&Manager) -> V)
    where
        V: Future<Output = mcpool::Result<String>> + Send + 'static,
    {
        let questions = self.kept.questions.as_ref();
        let listening = questions.map(|questions| listen(questions, &self.post, key));
        start_listening(&self.post, key, true, listening, || verb(&self.core));
    }

    /// The catalog, when it is another than the last time.
    #[napi]
    pub fn new_catalog(&self) -> Option<NativeCatalog> {
        let catalog = self.core.get_tools();
        let last = self.catalog.replace(Some(catalog.clone()));
        let same = last.is_some_and(|last| Arc::ptr_eq(&last, &catalog));
        (!same).then(|| NativeCatalog(catalog))
    }

    /// The places, in the catalog that was given last, of the tools that serve a need.
    #[napi]
    pub fn search_tools(&self, query: String, k: f64) -> Vec<u32> {
        let catalog = self.catalog.borrow();
        let found = catalog.as_ref().map(|catalog| catalog.search(&query, k as usize));
        found.unwrap_or_default().into_iter().map(|place| place as u32).collect()
    }

    /// What a model is told where there is no result, and JSON of what is suspicious in it.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own in JavaScript")]
    pub fn failure_for_model(
        &self,
        server: String,
        tool: String,
        code: String,
        message: String,
        hint: Option<String>,
        executed: Option<String>,
        by_server: bool,
    ) -> ForModel {
        let (hint, executed) = (hint.as_deref(), executed.as_deref());
        let failure = Failure::from_words(&code, &message, hint, executed, by_server);
        let told = self.core.failure_for_model(&server, &tool, failure);
        ForModel { text: told.text, signals: to_json(&told.signals) }
    }

    /// JSON of what telemetry says of a call; null when it is switched off. Without a server, `tool` is a name of the catalog.
    #[napi]
    pub fn telemetry(&self, server: Option<String>, tool: String) -> Option<String> {
        let of = match &server {
            Some(server) => ToolRef::Of { server, tool: &tool },
            None => ToolRef::Named(&tool),
        };
        self.core.telemetry(of).map(|told| to_json(&told))
    }

    /// JSON of every server's status.
    #[napi]
    pub fn status(&self) -> String {
        to_json(&self.core.status())
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

async fn ending(verb: impl Future<Output = ()>) -> mcpool::Result<()> {
    verb.await;
    Ok(())
}

/// Puts what JSON cannot say into the options.
pub(crate) fn complete(
    env: Env,
    mut options: ManagerOptions,
    naming: Option<NamingFunction<'_>>,
    pool: Option<&NativePool>,
    (asks_trust, asks_approval): (Option<bool>, Option<bool>),
) -> napi::Result<(ManagerOptions, Kept)> {
    let questions = (asks_trust == Some(true)).then(Questions::default);
    if let Some(questions) = &questions {
        options = options.trust(questions.trust());
    }
    if asks_approval == Some(true) {
        options = options.on_approval(OnApproval::of_caller());
    }
    let mut kept = Kept { _namer: None, questions };
    if let Some(function) = naming {
        let (naming, namer) = naming::by_function(env, function)?;
        options = options.naming(naming);
        kept._namer = Some(namer);
    }
    Ok((options.pool(pool.map(|pool| pool.0.clone())), kept))
}
