//! Owns the verbs about files without a manager: editing configs, and the trust store.

use std::future::Future;

use mcpool::config::{self, EditRequest, Edited};
use mcpool::{TrustRequest, Trusted};
use pyo3::prelude::*;

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
    name: &str,
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
    name: &str,
    definition: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, editing) = (place.py(), editing(verb, place, name, definition)?);
    let edited = wait(py, editing)?.or_raise(py)?;
    json::from_serialize(py, &edited)
}

fn editing(
    verb: &str,
    place: &Bound<'_, PyAny>,
    name: &str,
    definition: Option<&Bound<'_, PyAny>>,
) -> PyResult<impl Future<Output = mcpool::Result<Edited>> + Send + 'static> {
    let definition = definition.map(json_text).transpose()?;
    let request = EditRequest::from_json(verb, &json_text(place)?, name, definition.as_deref());
    let request = request.or_raise(place.py())?;
    Ok(mcpool::host::runtime::unblock(move || request.run()))
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

fn trusting(
    verb: &str,
    request: &Bound<'_, PyAny>,
) -> PyResult<impl Future<Output = mcpool::Result<Vec<Trusted>>> + Send + 'static> {
    let request = TrustRequest::from_json(verb, &json_text(request)?).or_raise(request.py())?;
    Ok(mcpool::host::runtime::unblock(move || request.run()))
}
