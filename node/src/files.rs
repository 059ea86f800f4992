//! Owns the verbs about files without a manager: editing configs, and the trust store.

use mcpool::TrustRequest;
use mcpool::edit::EditRequest;
use mcpool::host::Language;
use napi::Env;
use napi_derive::napi;

use crate::bridge::{Bridge, start};
use crate::errors::OrThrow;
use crate::text::to_json;

#[napi]
impl Bridge {
    /// Changes a config file. `options` and `definition` are JSON.
    #[napi]
    pub fn edit(
        &self,
        env: Env,
        key: i64,
        verb: String,
        options: String,
        name: String,
        definition: Option<String>,
    ) -> napi::Result<()> {
        let (definition, language) = (definition.as_deref(), Language::Node);
        let request = EditRequest::from_json(&verb, &options, &name, definition, language);
        let request = request.or_throw(&env)?;
        let editing = mcpool::host::runtime::unblock(move || request.run());
        start(&self.0, key, true, async move { editing.await.map(|edited| to_json(&edited)) });
        Ok(())
    }

    /// Trusts, revokes trust, or lists what is trusted. `request` is JSON.
    #[napi]
    pub fn trust(&self, env: Env, key: i64, verb: String, request: String) -> napi::Result<()> {
        let request = TrustRequest::from_json(&verb, &request, Language::Node).or_throw(&env)?;
        let trusting = mcpool::host::runtime::unblock(move || request.run());
        start(&self.0, key, true, async move { trusting.await.map(|rows| to_json(&rows)) });
        Ok(())
    }
}
