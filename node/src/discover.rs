//! Owns discovery, and creating a manager from its result.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use mcpool::host::Language;
use mcpool::{DiscoverOptions, Manager, ManagerOptions};
use napi::Env;
use napi_derive::napi;

use crate::bridge::{Bridge, start};
use crate::manager::{Kept, NativeManager, complete};
use crate::naming::NamingFunction;
use crate::pool::NativePool;
use crate::post::Post;
use crate::thrown;

#[napi]
impl Bridge {
    /// Looks for servers; the answer is JSON of what was found.
    #[napi]
    pub fn discover(&self, key: i64, options: String) -> napi::Result<()> {
        let options = DiscoverOptions::from_json(&options, Language::Node).map_err(thrown)?;
        let looking = mcpool::host::runtime::unblock(move || Ok(mcpool::discover(&options)));
        start(&self.0, key, true, async move {
            looking.await.map(|found| found.report_with_keys().to_string())
        });
        Ok(())
    }
}

/// Where a manager is put once it is made; letters carry only text.
#[napi]
pub struct NativeFound {
    made: Arc<Mutex<Option<Manager>>>,
    post: Rc<Post>,
    kept: Kept,
}

#[napi]
impl NativeFound {
    /// Makes a manager by discovery; `key` gets a letter when it is there.
    #[napi(
        factory,
        ts_args_type = "bridge: Bridge, key: number, options: string, naming?: (server: string, tool: string) => string | null, pool?: NativePool, asksTrust?: boolean, asksApproval?: boolean"
    )]
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own in JavaScript")]
    pub fn begin(
        env: Env,
        bridge: &Bridge,
        key: i64,
        options: String,
        naming: Option<NamingFunction<'_>>,
        pool: Option<&NativePool>,
        asks_trust: Option<bool>,
        asks_approval: Option<bool>,
    ) -> napi::Result<Self> {
        let (discover, options) =
            ManagerOptions::for_discovery(&options, Language::Node).map_err(thrown)?;
        let (options, kept) = complete(env, options, naming, pool, (asks_trust, asks_approval))?;
        let looking = Manager::discover(discover, options);
        let made: Arc<Mutex<Option<Manager>>> = Arc::default();
        let place = made.clone();
        start(&bridge.0, key, true, async move {
            let manager = looking.await?;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(manager);
            Ok("null".to_owned())
        });
        Ok(NativeFound { made, post: bridge.0.clone(), kept })
    }

    /// The manager, once.
    #[napi]
    pub fn take(&self) -> Option<NativeManager> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.map(|core| NativeManager::around(core, self.post.clone(), self.kept.clone()))
    }
}
