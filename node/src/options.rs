//! Owns a manager's options from JavaScript. The core reads them as JSON; functions and the pool are set afterwards.

use std::rc::Rc;

use mcpool::host::{Language, Questions};
use mcpool::{ManagerOptions, Naming, OnApproval, OnIdentity, Pool};
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
    asks_trust: bool,
    asks_approval: bool,
    asks_identity: bool,
}

/// What belongs to a manager besides the core's.
#[derive(Clone)]
pub(crate) struct Kept {
    _namer: Option<Rc<Namer>>,
    /// The core's questions about trust, when JavaScript answers them.
    pub(crate) questions: Option<Questions>,
}

#[napi]
impl NativeOptions {
    /// `json` has what JSON can represent. JavaScript answers questions about trust if `asksTrust`, and about a call's
    /// approval and identity if `asksApproval` and `asksIdentity`.
    #[napi(
        constructor,
        ts_args_type = "json: string, naming: ((server: string, tool: string) => string | null) | undefined, pool: NativePool | undefined, asksTrust: boolean, asksApproval: boolean, asksIdentity: boolean"
    )]
    pub fn new(
        env: Env,
        json: String,
        naming: Option<NamingFunction<'_>>,
        pool: Option<&NativePool>,
        asks_trust: bool,
        asks_approval: bool,
        asks_identity: bool,
    ) -> napi::Result<Self> {
        let naming = naming.map(|function| naming::by_function(env, function)).transpose()?;
        let pool = pool.map(|pool| pool.0.clone());
        Ok(NativeOptions { json, naming, pool, asks_trust, asks_approval, asks_identity })
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
        let questions = self.asks_trust.then(Questions::default);
        if let Some(questions) = &questions {
            options = options.trust(questions.trust());
        }
        if self.asks_approval {
            options = options.on_approval(OnApproval::of_caller());
        }
        if self.asks_identity {
            options = options.on_identity(OnIdentity::of_caller());
        }
        let mut kept = Kept { _namer: None, questions };
        if let Some((naming, namer)) = &self.naming {
            options = options.naming(naming.clone());
            kept._namer = Some(namer.clone());
        }
        (options.pool(self.pool.clone()), kept)
    }
}
