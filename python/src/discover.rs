//! Owns discovery, and creating a manager from its result.

use std::sync::{Arc, Mutex, PoisonError};

use mcpool::host::Language;
use mcpool::{DiscoverOptions, Manager};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::blocking::wait;
use crate::errors::OrRaise;
use crate::json;
use crate::manager::NativeManager;
use crate::options::read_discovery;
use crate::question::Asking;
use crate::verbs::start;

fn read(options: &Bound<'_, PyDict>) -> PyResult<DiscoverOptions> {
    DiscoverOptions::from_json(&json::write_options(options)?, Language::Python)
        .or_raise(options.py())
}

#[pyfunction]
pub(crate) fn discover<'py>(options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let (py, options) = (options.py(), read(options)?);
    let looking = mcpool::host::runtime::unblock(move || Ok(mcpool::discover(&options)));
    start(py, async move { looking.await.map(|found| found.report_with_keys().to_string()) })
}

#[pyfunction]
pub(crate) fn block_discover<'py>(options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let (py, options) = (options.py(), read(options)?);
    let looking = mcpool::host::runtime::unblock(move || Ok(mcpool::discover(&options)));
    let found = wait(py, looking)?.or_raise(py)?;
    json::from_serialize(py, &found.report_with_keys())
}

/// Holds a manager once it is created; futures carry only JSON.
#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeFound {
    made: Arc<Mutex<Option<Manager>>>,
    asking: Mutex<Option<Asking>>,
}

#[pymethods]
impl NativeFound {
    /// The manager, once.
    fn take(&self) -> Option<NativeManager> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        let asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.map(|core| NativeManager::new(core, asking))
    }
}

/// Creates a manager by discovery: its holder, and the future of its creation.
#[pyfunction]
pub(crate) fn discover_manager<'py>(
    options: &Bound<'py, PyDict>,
) -> PyResult<(NativeFound, Bound<'py, PyAny>)> {
    let py = options.py();
    crate::logs::follow(py)?;
    let (discover, options, asking) = read_discovery(options)?;
    let looking = Manager::discover(discover, options);
    let made: Arc<Mutex<Option<Manager>>> = Arc::default();
    let place = made.clone();
    let future = start(py, async move {
        let manager = looking.await?;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(manager);
        Ok("null".to_owned())
    })?;
    Ok((NativeFound { made, asking: Mutex::new(asking) }, future))
}

#[pyfunction]
pub(crate) fn block_discover_manager(options: &Bound<'_, PyDict>) -> PyResult<NativeManager> {
    let py = options.py();
    crate::logs::follow(py)?;
    let (discover, options, asking) = read_discovery(options)?;
    let made = wait(py, Manager::discover(discover, options))?.or_raise(py)?;
    Ok(NativeManager::new(made, asking))
}
