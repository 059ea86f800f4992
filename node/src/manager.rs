//! Owns the handle on a core manager. What waits ends in a letter for the key that JavaScript gave.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use mcpool::{CallOptions, Catalog, Config, Manager, ManagerOptions};
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::bridge::{Bridge, start};
use crate::calls::Caller;
use crate::catalog::NativeCatalog;
use crate::events::NativeEvents;
use crate::naming::{self, Chosen, Namer};
use crate::pool::NativePool;
use crate::post::Post;
use crate::text::to_json;
use crate::thrown;

/// A manager of the core.
#[napi]
pub struct NativeManager {
    core: Manager,
    post: Rc<Post>,
    /// The catalog that was handed out last.
    catalog: RefCell<Option<Arc<Catalog>>>,
    namer: Option<Rc<Namer>>,
}

#[napi]
impl NativeManager {
    /// `config` and `options` are JSON.
    #[napi(
        constructor,
        ts_args_type = "bridge: Bridge, config: string, options: string, naming?: string | ((server: string, tool: string) => string | null), pool?: NativePool"
    )]
    pub fn new(
        env: Env,
        bridge: &Bridge,
        config: String,
        options: String,
        naming: Option<Chosen<'_>>,
        pool: Option<&NativePool>,
    ) -> napi::Result<Self> {
        let config = Config::from_json(&config).map_err(thrown)?;
        let (options, namer) = read_options(env, &options, naming, pool)?;
        Ok(Self::around(Manager::new(config, options), bridge.0.clone(), namer))
    }

    /// On a config file.
    #[napi(
        factory,
        ts_args_type = "bridge: Bridge, path: string, options: string, naming?: string | ((server: string, tool: string) => string | null), pool?: NativePool"
    )]
    pub fn open(
        env: Env,
        bridge: &Bridge,
        path: String,
        options: String,
        naming: Option<Chosen<'_>>,
        pool: Option<&NativePool>,
    ) -> napi::Result<Self> {
        let (options, namer) = read_options(env, &options, naming, pool)?;
        let core = Manager::open(path, options).map_err(thrown)?;
        Ok(Self::around(core, bridge.0.clone(), namer))
    }

    /// For a sub-agent, on the same connections.
    #[napi]
    pub fn child(&self) -> napi::Result<NativeManager> {
        let core = self.core.child().map_err(thrown)?;
        Ok(Self::around(core, self.post.clone(), self.namer.clone()))
    }

    fn around(core: Manager, post: Rc<Post>, namer: Option<Rc<Namer>>) -> Self {
        NativeManager { core, post, catalog: RefCell::default(), namer }
    }

    /// Calls a tool; without a server, `tool` is a name of the catalog. True asks for a flush after this turn.
    #[napi(
        getter,
        ts_return_type = "(key: number, server: string | undefined, tool: string, argumentsJson?: string, timeoutMs?: number, progress?: boolean, metaJson?: string, maxTotalTimeoutMs?: number, retry?: string) => boolean"
    )]
    pub fn submit<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        Caller { core: self.core.clone(), post: self.post.clone() }.into_function(env)
    }

    #[napi]
    pub fn connect_all(&self, key: i64) {
        let verb = self.core.connect_all();
        start(&self.post, key, true, async move { verb.await.map(|report| to_json(&report)) });
    }

    #[napi]
    pub fn connect(&self, key: i64, server: String) {
        self.run(key, self.core.connect(&server));
    }

    #[napi]
    pub fn wait_for(&self, key: i64, server: String, timeout_ms: Option<f64>) {
        let limit = timeout_ms.map(|ms| CallOptions::read_timeout(ms / 1000.0)).transpose();
        let verb = limit.map(|limit| self.core.wait_for(&server, limit));
        self.run(key, async move { verb?.await });
    }

    #[napi]
    pub fn disconnect(&self, key: i64, server: String) {
        self.run(key, self.core.disconnect(&server));
    }

    #[napi]
    pub fn disconnect_all(&self, key: i64) {
        self.run(key, ending(self.core.disconnect_all()));
    }

    #[napi]
    pub fn close(&self, key: i64) {
        self.run(key, ending(self.core.close()));
    }

    /// Without a config, the file is read again.
    #[napi]
    pub fn reload(&self, key: i64, config: Option<String>) {
        let manager = self.core.clone();
        start(&self.post, key, true, async move {
            let report = match config {
                Some(config) => manager.reload_with(Config::from_json(&config)?).await,
                None => manager.reload().await,
            };
            report.map(|report| to_json(&report))
        });
    }

    fn run(&self, key: i64, verb: impl Future<Output = mcpool::Result<()>> + Send + 'static) {
        start(&self.post, key, true, async move { verb.await.map(|()| "null".to_owned()) });
    }

    /// The catalog, when it is another than the last time.
    #[napi]
    pub fn new_catalog(&self) -> Option<NativeCatalog> {
        let catalog = self.core.get_tools();
        let last = self.catalog.replace(Some(catalog.clone()));
        let same = last.is_some_and(|last| Arc::ptr_eq(&last, &catalog));
        (!same).then(|| NativeCatalog(catalog))
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
        NativeEvents::new(self.core.events(), self.post.clone())
    }
}

async fn ending(verb: impl Future<Output = ()>) -> mcpool::Result<()> {
    verb.await;
    Ok(())
}

fn read_options(
    env: Env,
    json: &str,
    naming: Option<Chosen<'_>>,
    pool: Option<&NativePool>,
) -> napi::Result<(ManagerOptions, Option<Rc<Namer>>)> {
    let options = ManagerOptions::from_json(json).map_err(thrown)?;
    let (naming, namer) = naming::read(env, naming)?;
    let pool = pool.map(|pool| pool.0.clone());
    Ok((ManagerOptions { naming, pool, ..options }, namer))
}
