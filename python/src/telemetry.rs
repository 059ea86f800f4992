//! Owns passing telemetry attributes to Python, which makes the spans and metrics.

use mcpool::Manager;
use mcpool::ToolRef;
use pyo3::prelude::*;

use crate::json;

pub(crate) fn telemetry<'py>(
    py: Python<'py>,
    manager: &Manager,
    tool: ToolRef<'_>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    manager.telemetry(tool).map(|told| json::from_serialize(py, &told)).transpose()
}

/// The attributes that do not depend on a call.
#[pyfunction]
pub(crate) fn telemetry_words(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    json::from_serialize(py, &mcpool::telemetry_words())
}
