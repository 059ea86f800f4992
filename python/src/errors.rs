//! Owns turning the core's errors into Python exceptions; the classes themselves are Python's.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::json;

/// The exception for `error`, of the class that its code names.
pub(crate) fn restore(py: Python<'_>, error: &mcpool::Error) -> PyErr {
    static RESTORE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let exception = || -> PyResult<Bound<'_, PyAny>> {
        let restore = RESTORE.import(py, "mcpool._errors", "restore_raised")?;
        restore.call1((json::from_serialize(py, error)?,))
    };
    exception().map_or_else(|failure| failure, PyErr::from_value)
}

/// Lets `?` carry the core's errors out of functions that Python called.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for mcpool::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| restore(py, &error))
    }
}
