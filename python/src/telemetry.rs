//! Owns passing telemetry attributes to Python, which makes the spans and metrics.

use mcpool::Manager;
use mcpool::ToolRef;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::json;
use crate::verbs::request_params;

pub(crate) fn telemetry<'py>(
    py: Python<'py>,
    manager: &Manager,
    tool: ToolRef<'_>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    manager.telemetry(tool).map(|told| json::from_serialize(py, &told)).transpose()
}

/// The attributes of a request besides calls; None when it is switched off, or if the request will be refused.
pub(crate) fn request_telemetry<'py>(
    manager: &Manager,
    server: &str,
    verb: &str,
    params: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(written) = request_params(params) else { return Ok(None) };
    let told = manager.request_telemetry(server, verb, &written);
    told.map(|told| json::from_serialize(params.py(), &told)).transpose()
}

/// The attributes that do not depend on a call.
#[pyfunction]
pub(crate) fn telemetry_words(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::from_serialize(py, &mcpool::telemetry_words())
}
