//! Owns the verbs about files without a manager: editing configs, and the trust store.

use std::future::Future;

use mcpool::config;
use mcpool::edit::{EditRequest, EditTarget, Edited};
use mcpool::host::Language;
use mcpool::{TrustRequest, Trusted};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::blocking::wait;
use crate::errors::OrRaise;
use crate::json::{self, to_json};
use crate::names::ServerName;
use crate::options::{check_keywords, json_text};
use crate::verbs::start;

#[pyfunction]
#[pyo3(signature = (verb, options, name, definition))]
pub(crate) fn edit<'py>(
    verb: &str,
    options: &Bound<'py, PyDict>,
    name: ServerName<'_>,
    definition: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let editing = editing(verb, options, &name, definition)?;
    start(options.py(), async move { editing.await.map(|edited| to_json(&edited)) })
}

#[pyfunction]
#[pyo3(signature = (verb, options, name, definition))]
pub(crate) fn block_edit<'py>(
    verb: &str,
    options: &Bound<'py, PyDict>,
    name: ServerName<'_>,
    definition: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, editing) = (options.py(), editing(verb, options, &name, definition)?);
    let edited = wait(py, editing)?.or_raise(py)?;
    json::from_serialize(py, &edited)
}

fn editing(
    verb: &str,
    options: &Bound<'_, PyDict>,
    name: &str,
    definition: Option<&Bound<'_, PyAny>>,
) -> PyResult<impl Future<Output = mcpool::Result<Edited>> + Send + 'static> {
    let definition = definition.map(json_text).transpose()?;
    check_keywords(options, EditTarget::OPTIONS)?;
    let place = json::write_options(options)?;
    let (definition, language) = (definition.as_deref(), Language::Python);
    let request = EditRequest::from_json(verb, &place, name, definition, language);
    let request = request.or_raise(options.py())?;
    Ok(mcpool::host::runtime::unblock(move || request.run()))
}

/// The JSON Schema of a config file.
#[pyfunction]
pub(crate) fn schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::from_serialize(py, &config::schema())
}

#[pyfunction]
pub(crate) fn trust<'py>(verb: &str, request: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let trusting = trusting(verb, request)?;
    start(request.py(), async move { trusting.await.map(|rows| to_json(&rows)) })
}

#[pyfunction]
pub(crate) fn block_trust<'py>(
    verb: &str,
    request: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, trusting) = (request.py(), trusting(verb, request)?);
    let rows = wait(py, trusting)?.or_raise(py)?;
    json::from_serialize(py, &rows)
}

fn trusting(
    verb: &str,
    request: &Bound<'_, PyDict>,
) -> PyResult<impl Future<Output = mcpool::Result<Vec<Trusted>>> + Send + 'static> {
    let text = json::write_options(request)?;
    let request = TrustRequest::from_json(verb, &text, Language::Python).or_raise(request.py())?;
    Ok(mcpool::host::runtime::unblock(move || request.run()))
}
