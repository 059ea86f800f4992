//! Owns looking for servers, for its own sake and to make a manager of what is found.

use std::sync::{Arc, Mutex, PoisonError};

use mcpool::{DiscoverOptions, Manager};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::blocking::wait;
use crate::errors::OrRaise;
use crate::json;
use crate::manager::NativeManager;
use crate::options::{json_text, read_options};
use crate::pool::Pool;
use crate::question::Asking;
use crate::verbs::start;

fn read_request(request: &Bound<'_, PyAny>) -> PyResult<DiscoverOptions> {
    DiscoverOptions::from_json(&json_text(request)?).or_raise(request.py())
}

#[pyfunction]
pub(crate) fn discover<'py>(request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let options = read_request(request)?;
    let looking = mcpool::runtime::unblock(move || Ok(mcpool::discover(&options)));
    start(
        request.py(),
        async move { looking.await.map(|found| found.report_with_keys().to_string()) },
    )
}

#[pyfunction]
pub(crate) fn block_discover<'py>(request: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (py, options) = (request.py(), read_request(request)?);
    let looking = mcpool::runtime::unblock(move || Ok(mcpool::discover(&options)));
    let found = wait(py, looking)?.or_raise(py)?;
    json::from_serialize(py, &found.report_with_keys())
}

/// Where a manager is put once it is made; futures carry only JSON.
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

/// Makes a manager by discovery: where it will be, and the future of its being there.
#[pyfunction]
#[pyo3(signature = (request, naming, options, pool, trust))]
pub(crate) fn discover_manager<'py>(
    request: &Bound<'py, PyAny>,
    naming: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    pool: Option<&Bound<'py, Pool>>,
    trust: Option<&Bound<'py, PyAny>>,
) -> PyResult<(NativeFound, Bound<'py, PyAny>)> {
    let py = request.py();
    crate::logs::follow(py)?;
    let (options, asking) = read_options(naming, options, pool, trust)?;
    let looking = Manager::discover(read_request(request)?, options);
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
#[pyo3(signature = (request, naming, options, pool, trust))]
pub(crate) fn block_discover_manager(
    request: &Bound<'_, PyAny>,
    naming: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    pool: Option<&Bound<'_, Pool>>,
    trust: Option<&Bound<'_, PyAny>>,
) -> PyResult<NativeManager> {
    let py = request.py();
    crate::logs::follow(py)?;
    let (options, asking) = read_options(naming, options, pool, trust)?;
    let made = wait(py, Manager::discover(read_request(request)?, options))?.or_raise(py)?;
    Ok(NativeManager::new(made, asking))
}
