//! Owns the verbs about files without a manager: editing configs, and the trust store.

use mcpool::TrustRequest;
use mcpool::config::EditRequest;
use napi_derive::napi;

use crate::bridge::{Bridge, start};
use crate::text::to_json;
use crate::thrown;

#[napi]
impl Bridge {
    /// Changes a config file. `place` and `definition` are JSON.
    #[napi]
    pub fn edit(
        &self,
        key: i64,
        verb: String,
        place: String,
        name: String,
        definition: Option<String>,
    ) -> napi::Result<()> {
        let request = EditRequest::from_json(&verb, &place, &name, definition.as_deref());
        let request = request.map_err(thrown)?;
        let editing = mcpool::host::runtime::unblock(move || request.run());
        start(&self.0, key, true, async move { editing.await.map(|edited| to_json(&edited)) });
        Ok(())
    }

    /// Trusts, takes trust back, or lists what is trusted. `request` is JSON.
    #[napi]
    pub fn trust(&self, key: i64, verb: String, request: String) -> napi::Result<()> {
        let request = TrustRequest::from_json(&verb, &request).map_err(thrown)?;
        let trusting = mcpool::host::runtime::unblock(move || request.run());
        start(&self.0, key, true, async move { trusting.await.map(|rows| to_json(&rows)) });
        Ok(())
    }
}
