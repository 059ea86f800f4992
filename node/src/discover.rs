//! Owns discovery, and creating a manager from its result.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use mcpool::host::Language;
use mcpool::{DiscoverOptions, Manager};
use napi::Env;
use napi_derive::napi;

use crate::bridge::{Bridge, start};
use crate::errors::OrThrow;
use crate::manager::NativeManager;
use crate::options::{Kept, NativeOptions};
use crate::post::Post;

#[napi]
impl Bridge {
    /// Looks for servers; the answer is JSON of what was found.
    #[napi]
    pub fn discover(&self, env: Env, key: i64, options: String) -> napi::Result<()> {
        let options = DiscoverOptions::from_json(&options, Language::Node).or_throw(&env)?;
        let looking = mcpool::host::runtime::unblock(move || Ok(mcpool::discover(&options)));
        start(&self.0, key, true, async move {
            looking.await.map(|found| found.report_with_keys().to_string())
        });
        Ok(())
    }
}

/// Holds a manager once it is created; letters carry only text.
#[napi]
pub struct NativeFound {
    made: Arc<Mutex<Option<Manager>>>,
    post: Rc<Post>,
    kept: Kept,
}

#[napi]
impl NativeFound {
    /// Creates a manager by discovery; `key` gets a letter when it exists.
    #[napi(factory)]
    pub fn begin(
        env: Env,
        bridge: &Bridge,
        key: i64,
        options: &NativeOptions,
    ) -> napi::Result<Self> {
        let (discover, options, kept) = options.read_discovery(&env)?;
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
        made.map(|core| NativeManager::from_core(core, self.post.clone(), self.kept.clone()))
    }
}
