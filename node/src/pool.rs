//! Owns the handle of a pool of the core.

use std::time::Duration;

use mcpool::host::Language;
use mcpool::{Error, ErrorKind, Pool, PoolOptions};
use napi_derive::napi;

use crate::thrown;

/// A pool of the core.
#[napi]
pub struct NativePool(pub(crate) Pool);

#[napi]
impl NativePool {
    /// `options` is JSON.
    #[napi(constructor)]
    pub fn new(options: String) -> napi::Result<Self> {
        Ok(NativePool(Pool::new(PoolOptions::from_json(&options, Language::Node).map_err(thrown)?)))
    }

    /// Moves a manual clock on.
    #[napi]
    pub fn advance_ms(&self, ms: f64) -> napi::Result<()> {
        let by = Duration::try_from_secs_f64(ms / 1000.0)
            .map_err(|error| thrown(Error::new(ErrorKind::InvalidArguments, error.to_string())))?;
        self.0.clock().advance(by);
        Ok(())
    }
}
