//! Owns looking at modules that the program may have loaded. Nothing is imported.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

/// The module with this name, if it is loaded.
pub(crate) fn loaded_module<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    MODULES.import(py, "sys", "modules")?.get_item(name)
}
