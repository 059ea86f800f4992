//! Owns the handle of a pool of the core.

use std::time::Duration;

use mcpool::host::Language;
use mcpool::{Error, ErrorKind, Pool, PoolOptions};
use napi::Env;
use napi_derive::napi;

use crate::errors::OrThrow;

/// A pool of the core.
#[napi]
pub struct NativePool(pub(crate) Pool);

#[napi]
impl NativePool {
    /// `options` is JSON.
    #[napi(constructor)]
    pub fn new(env: Env, options: String) -> napi::Result<Self> {
        let options = PoolOptions::from_json(&options, Language::Node).or_throw(&env)?;
        Ok(NativePool(Pool::new(options)))
    }

    /// Advances a manual clock.
    #[napi]
    pub fn advance_ms(&self, env: Env, ms: f64) -> napi::Result<()> {
        let by = Duration::try_from_secs_f64(ms / 1000.0)
            .map_err(|_| Error::new(ErrorKind::InvalidArguments, NO_ADVANCE))
            .or_throw(&env)?;
        self.0.clock().advance(by);
        Ok(())
    }
}

const NO_ADVANCE: &str = "advanceMs takes a number of milliseconds, 0 or more";
