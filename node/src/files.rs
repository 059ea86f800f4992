//! Owns the verbs about files and no manager: editing configs, and the store of what is trusted.

use std::path::PathBuf;

use mcpool::config::{self, Place};
use mcpool::{Error, ErrorKind, Surroundings};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::Value;

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
        let at = Place::from_json(&place).map_err(thrown)?;
        let definition: Value = read(definition.as_deref().unwrap_or("null")).map_err(thrown)?;
        let editing = mcpool::runtime::unblock(move || match verb.as_str() {
            "add" => config::add(&at, &name, definition),
            "remove" => config::remove(&at, &name),
            "update" => config::update(&at, &name, definition),
            "enable" => config::enable(&at, &name),
            "disable" => config::disable(&at, &name),
            "hide" => config::hide(&at, &name),
            "unhide" => config::unhide(&at, &name),
            _ => Err(Error::new(ErrorKind::InvalidArguments, format!("There is no edit {verb:?}"))),
        });
        start(&self.0, key, true, async move { editing.await.map(|edited| to_json(&edited)) });
        Ok(())
    }

    /// Trusts, takes trust back, or lists what is trusted. `request` is JSON.
    #[napi]
    pub fn trust(&self, key: i64, verb: String, request: String) -> napi::Result<()> {
        let request: TrustRequest = read(&request).map_err(thrown)?;
        let surroundings =
            Surroundings::from_json(&request.surroundings.to_string()).map_err(thrown)?;
        let (path, only) = (request.path.unwrap_or_default(), request.servers);
        let trusting = mcpool::runtime::unblock(move || match verb.as_str() {
            "trust" => mcpool::trust(&path, only.as_deref(), &surroundings),
            "untrust" => mcpool::untrust(&path, only.as_deref(), &surroundings),
            _ => mcpool::trusted(&surroundings),
        });
        start(&self.0, key, true, async move { trusting.await.map(|rows| to_json(&rows)) });
        Ok(())
    }
}

#[derive(Deserialize)]
struct TrustRequest {
    path: Option<PathBuf>,
    servers: Option<Vec<String>>,
    #[serde(default)]
    surroundings: Value,
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> mcpool::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Error::new(ErrorKind::ConfigInvalid, format!("What was given cannot be used: {error}"))
    })
}
