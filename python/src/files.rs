//! Owns the verbs about files and no manager: editing configs, and the store of what is trusted.

use std::future::Future;
use std::path::PathBuf;

use mcpool::config::{self, Edited, Place};
use mcpool::{Error, ErrorKind, Surroundings, Trusted};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::blocking::wait;
use crate::errors::OrRaise;
use crate::json;
use crate::options::json_text;
use crate::verbs::{start, to_json};

#[pyfunction]
#[pyo3(signature = (verb, place, name, definition))]
pub(crate) fn edit<'py>(
    verb: &str,
    place: &Bound<'py, PyAny>,
    name: String,
    definition: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let editing = editing(verb, place, name, definition)?;
    start(place.py(), async move { editing.await.map(|edited| to_json(&edited)) })
}

#[pyfunction]
#[pyo3(signature = (verb, place, name, definition))]
pub(crate) fn block_edit<'py>(
    verb: &str,
    place: &Bound<'py, PyAny>,
    name: String,
    definition: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, editing) = (place.py(), editing(verb, place, name, definition)?);
    let edited = wait(py, editing)?.or_raise(py)?;
    json::from_serialize(py, &edited)
}

fn editing(
    verb: &str,
    place: &Bound<'_, PyAny>,
    name: String,
    definition: Option<&Bound<'_, PyAny>>,
) -> PyResult<impl Future<Output = mcpool::Result<Edited>> + Send + 'static> {
    let py = place.py();
    let at = Place::from_json(&json_text(place)?).or_raise(py)?;
    let definition: Value = match definition {
        Some(definition) => read(&json_text(definition)?).or_raise(py)?,
        None => Value::Null,
    };
    let verb = verb.to_owned();
    Ok(mcpool::runtime::unblock(move || match verb.as_str() {
        "add" => config::add(&at, &name, definition),
        "remove" => config::remove(&at, &name),
        "update" => config::update(&at, &name, definition),
        "enable" => config::enable(&at, &name),
        "disable" => config::disable(&at, &name),
        "hide" => config::hide(&at, &name),
        "unhide" => config::unhide(&at, &name),
        _ => Err(Error::new(ErrorKind::InvalidArguments, format!("There is no edit {verb:?}"))),
    }))
}

/// The JSON Schema of a config file.
#[pyfunction]
pub(crate) fn schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::from_serialize(py, &config::schema())
}

#[pyfunction]
pub(crate) fn trust<'py>(verb: &str, request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let trusting = trusting(verb, request)?;
    start(request.py(), async move { trusting.await.map(|rows| to_json(&rows)) })
}

#[pyfunction]
pub(crate) fn block_trust<'py>(
    verb: &str,
    request: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, trusting) = (request.py(), trusting(verb, request)?);
    let rows = wait(py, trusting)?.or_raise(py)?;
    json::from_serialize(py, &rows)
}

#[derive(Deserialize)]
struct TrustRequest {
    path: Option<PathBuf>,
    servers: Option<Vec<String>>,
    surroundings: Value,
}

fn trusting(
    verb: &str,
    request: &Bound<'_, PyAny>,
) -> PyResult<impl Future<Output = mcpool::Result<Vec<Trusted>>> + Send + 'static> {
    let py = request.py();
    let request: TrustRequest = read(&json_text(request)?).or_raise(py)?;
    let surroundings = Surroundings::from_json(&request.surroundings.to_string()).or_raise(py)?;
    let (path, only) = (request.path.unwrap_or_default(), request.servers);
    let verb = verb.to_owned();
    Ok(mcpool::runtime::unblock(move || match verb.as_str() {
        "trust" => mcpool::trust(&path, only.as_deref(), &surroundings),
        "untrust" => mcpool::untrust(&path, only.as_deref(), &surroundings),
        _ => mcpool::trusted(&surroundings),
    }))
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> mcpool::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Error::new(ErrorKind::ConfigInvalid, format!("What was given cannot be used: {error}"))
    })
}
