//! Owns a manager's options from JavaScript. The core reads them as JSON; functions and the pool are set afterwards.

use std::rc::Rc;

use mcpool::host::{Language, Questions};
use mcpool::{ManagerOptions, Naming, Pool};
use napi::Env;
use napi_derive::napi;

use crate::errors::OrThrow;
use crate::naming::{self, Namer, NamingFunction};
use crate::pool::NativePool;

/// Options of a manager.
#[napi]
pub struct NativeOptions {
    json: String,
    naming: Option<(Naming, Rc<Namer>)>,
    pool: Option<Pool>,
    asks: Vec<String>,
}

/// What belongs to a manager besides the core's.
#[derive(Clone)]
pub(crate) struct Kept {
    _namer: Option<Rc<Namer>>,
    /// The core's questions that no call asks, when JavaScript answers them.
    pub(crate) questions: Option<Questions>,
}

#[napi]
impl NativeOptions {
    /// `json` has what JSON can represent. JavaScript answers the kinds of questions in `asks`.
    #[napi(
        constructor,
        ts_args_type = "json: string, naming: ((server: string, tool: string) => string | null) | undefined, pool: NativePool | undefined, asks: string[]"
    )]
    pub fn new(
        env: Env,
        json: String,
        naming: Option<NamingFunction<'_>>,
        pool: Option<&NativePool>,
        asks: Vec<String>,
    ) -> napi::Result<Self> {
        let naming = naming.map(|function| naming::by_function(env, function)).transpose()?;
        let pool = pool.map(|pool| pool.0.clone());
        Ok(NativeOptions { json, naming, pool, asks })
    }
}

impl NativeOptions {
    /// The options by `read`, the core's reader for this kind of manager, with what JSON cannot represent.
    pub(crate) fn read(
        &self,
        env: &Env,
        read: fn(&str, Language) -> mcpool::Result<ManagerOptions>,
    ) -> napi::Result<(ManagerOptions, Kept)> {
        let options = read(&self.json, Language::Node).or_throw(env)?;
        Ok(self.complete(options))
    }

    /// Same, for a manager that is made by discovery.
    pub(crate) fn read_discovery(
        &self,
        env: &Env,
    ) -> napi::Result<(mcpool::DiscoverOptions, ManagerOptions, Kept)> {
        let (discover, options) =
            ManagerOptions::for_discovery(&self.json, Language::Node).or_throw(env)?;
        let (options, kept) = self.complete(options);
        Ok((discover, options, kept))
    }

    fn complete(&self, mut options: ManagerOptions) -> (ManagerOptions, Kept) {
        let questions;
        (options, questions) = options.answered_by_host(self.asks.iter().map(String::as_str));
        let mut kept = Kept { _namer: None, questions };
        if let Some((naming, namer)) = &self.naming {
            options = options.naming(naming.clone());
            kept._namer = Some(namer.clone());
        }
        (options.pool(self.pool.clone()), kept)
    }
}
