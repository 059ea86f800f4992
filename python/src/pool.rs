//! Owns the handle of a pool of the core.

use mcpool::host::Language;
use mcpool::{ClientInfo, ErrorKind, PoolOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::json::{write, write_options};
use crate::options::check_keywords;

/// The connections that managers share.
///
/// Managers without an explicit pool share the one of the process; your own pool is separate.
#[pyclass(frozen, module = "mcpool")]
pub(crate) struct Pool(pub(crate) mcpool::Pool);

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(py: Python<'_>, options: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = options.unwrap_or_else(|| PyDict::new(py));
        check_keywords(&options, PoolOptions::OPTIONS)?;
        let options =
            PoolOptions::from_json(&write_options(&options)?, Language::Python).or_raise(py)?;
        Ok(Pool(mcpool::Pool::new(options)))
    }

    /// Advances a manual clock and runs what is due by then. Has no effect on the system clock.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.0.advance(seconds, Language::Python).or_raise(py)
    }
}

/// Sets what servers are told about their client; nothing is our own name.
#[pyfunction]
#[pyo3(signature = (info))]
pub(crate) fn set_client_info(py: Python<'_>, info: Option<Bound<'_, PyAny>>) -> PyResult<()> {
    let info = match info {
        Some(info) => {
            let json = write(&info, ErrorKind::ConfigInvalid)?;
            Some(ClientInfo::from_json(&String::from_utf8_lossy(&json)).or_raise(py)?)
        }
        None => None,
    };
    mcpool::set_client_info(info);
    Ok(())
}
