//! Owns the handle on a core manager. What waits ends in a letter for the key that JavaScript gave.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use mcpool::{CallOptions, Catalog, Config, Manager, ManagerOptions, Naming};
use napi::bindgen_prelude::{Either, Env, Function, Unknown};
use napi_derive::napi;

use crate::bridge::{Bridge, start};
use crate::calls::Caller;
use crate::catalog::NativeCatalog;
use crate::events::NativeEvents;
use crate::naming::{Named, NamedBy, Namer};
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
    _namer: Option<Namer>,
}

#[napi]
impl NativeManager {
    #[napi(
        constructor,
        ts_args_type = "bridge: Bridge, config: string, naming?: string | ((server: string, tool: string) => string | null), connectConcurrency?: number"
    )]
    pub fn new(
        env: Env,
        bridge: &Bridge,
        config: String,
        naming: Option<Either<String, Function<'_, NamedBy, Named>>>,
        connect_concurrency: Option<u32>,
    ) -> napi::Result<Self> {
        let config = Config::from_json(&config).map_err(thrown)?;
        let (naming, namer) = match naming {
            None => (Naming::default(), None),
            Some(Either::A(style)) => (Naming::from_style(&style).map_err(thrown)?, None),
            Some(Either::B(function)) => {
                let namer = Namer::new(env, function)?;
                (namer.naming(), Some(namer))
            }
        };
        let connect_concurrency = connect_concurrency.map(|count| count as usize);
        let core = Manager::new(config, ManagerOptions { naming, connect_concurrency });
        Ok(NativeManager {
            core,
            post: bridge.0.clone(),
            catalog: RefCell::default(),
            _namer: namer,
        })
    }

    /// Calls a tool; without a server, `tool` is a name of the catalog. True asks for a flush after this turn.
    #[napi(
        getter,
        ts_return_type = "(key: number, server: string | undefined, tool: string, argumentsJson?: string, timeoutMs?: number, progress?: boolean, metaJson?: string) => boolean"
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
        self.core.warnings().to_vec()
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
