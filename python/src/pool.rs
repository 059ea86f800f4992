//! Owns the handle of a pool of the core.

use std::time::Duration;

use mcpool::host::Language;
use mcpool::{Error, ErrorKind, PoolOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::options::json_text;

/// The connections that managers share.
///
/// Managers without an explicit pool share the one of the process; your own pool is separate.
/// `keep_alive` (seconds, or "always") is how long a connection stays up when the last manager that held
/// it has closed. With `clock="manual"`, for tests of agents, restarts and other waits of supervision are due
/// only by `advance`.
#[pyclass(frozen, module = "mcpool")]
pub(crate) struct Pool(pub(crate) mcpool::Pool);

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (*, keep_alive=None, clock="system"))]
    fn new(py: Python<'_>, keep_alive: Option<Bound<'_, PyAny>>, clock: &str) -> PyResult<Self> {
        let options = PyDict::new(py);
        options.set_item("keep_alive", keep_alive)?;
        options.set_item("clock", clock)?;
        let options =
            PoolOptions::from_json(&json_text(&options)?, Language::Python).or_raise(py)?;
        Ok(Pool(mcpool::Pool::new(options)))
    }

    /// Advances a manual clock and runs what is due by then. Has no effect on the system clock.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let by = Duration::try_from_secs_f64(seconds)
            .map_err(|error| Error::new(ErrorKind::InvalidArguments, error.to_string()))
            .or_raise(py)?;
        self.0.clock().advance(by);
        Ok(())
    }
}
