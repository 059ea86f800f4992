//! Owns the handle on a core manager, with the verbs that never wait.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mcpool::{Catalog, Events, Manager};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::OrRaise;
use crate::json;
use crate::options::{read_config, read_options};
use crate::pool::Pool;
use crate::tool::Tool;

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeManager {
    pub(crate) core: Manager,
    /// The list made last, while its catalog is current.
    tools: Mutex<Option<(Arc<Catalog>, Py<PyList>)>>,
}

impl From<Manager> for NativeManager {
    fn from(core: Manager) -> Self {
        NativeManager { core, tools: Mutex::default() }
    }
}

#[pymethods]
impl NativeManager {
    #[new]
    #[pyo3(signature = (config, naming, options, pool))]
    fn new(
        config: &Bound<'_, PyAny>,
        naming: &Bound<'_, PyAny>,
        options: &Bound<'_, PyAny>,
        pool: Option<&Bound<'_, Pool>>,
    ) -> PyResult<Self> {
        crate::logs::follow(config.py())?;
        let options = read_options(naming, options, pool)?;
        Ok(Manager::new(read_config(config)?, options).into())
    }

    #[staticmethod]
    #[pyo3(signature = (path, naming, options, pool))]
    fn open(
        path: PathBuf,
        naming: &Bound<'_, PyAny>,
        options: &Bound<'_, PyAny>,
        pool: Option<&Bound<'_, Pool>>,
    ) -> PyResult<Self> {
        let py = naming.py();
        crate::logs::follow(py)?;
        let options = read_options(naming, options, pool)?;
        py.detach(|| Manager::open(path, options)).or_raise(py).map(Into::into)
    }

    fn child(&self, py: Python<'_>) -> PyResult<Self> {
        self.core.child().or_raise(py).map(Into::into)
    }

    fn get_tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.core.check_process().or_raise(py)?;
        let catalog = self.core.get_tools();
        let cached = self
            .tools
            .lock()
            .expect("nothing panics while it is held")
            .as_ref()
            .and_then(|(of, list)| Arc::ptr_eq(of, &catalog).then(|| list.clone_ref(py)));
        let list = match cached {
            Some(list) => list.into_bound(py),
            None => {
                let list = PyList::new(py, catalog.tools().iter().cloned().map(Tool))?;
                let remembered = Some((catalog, list.clone().unbind()));
                *self.tools.lock().expect("nothing panics while it is held") = remembered;
                list
            }
        };
        // The caller's own list: changing it changes nobody else's.
        list.get_slice(0, list.len()).into_any().cast_into().map_err(Into::into)
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.core.check_process().or_raise(py)?;
        json::from_serialize(py, &self.core.status())
    }

    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.core.check_process().or_raise(py)?;
        Ok(self.core.warnings())
    }

    fn events(&self, py: Python<'_>) -> PyResult<NativeEvents> {
        self.core.check_process().or_raise(py)?;
        Ok(NativeEvents(Arc::new(self.core.events())))
    }
}

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeEvents(pub(crate) Arc<Events>);

#[pymethods]
impl NativeEvents {
    /// How many events this reader was too slow for.
    fn lost(&self) -> u64 {
        self.0.lost()
    }
}
