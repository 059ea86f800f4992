//! Owns the handle on a core manager, with the verbs that never wait.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mcpool::{Catalog, Events, Manager};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};

use crate::errors::OrRaise;
use crate::json;
use crate::options::{read_config, read_options};
use crate::pool::Pool;
use crate::question::{Asking, Kept};
use crate::tool::Tool;

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeManager {
    pub(crate) core: Manager,
    /// The list made last, while its catalog is current.
    tools: Mutex<Option<(Arc<Catalog>, Py<PyList>)>>,
    asking: Kept,
}

impl NativeManager {
    pub(crate) fn new(core: Manager, asking: Option<Asking>) -> Self {
        NativeManager { core, tools: Mutex::default(), asking: Kept::new(asking) }
    }

    /// Who answers the manager's questions.
    pub(crate) fn asking(&self, py: Python<'_>) -> Option<Asking> {
        self.asking.get(py)
    }
}

#[pymethods]
impl NativeManager {
    #[new]
    #[pyo3(signature = (config, naming, options, pool, trust))]
    fn of(
        config: &Bound<'_, PyAny>,
        naming: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
        pool: Option<&Bound<'_, Pool>>,
        trust: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        crate::logs::follow(config.py())?;
        let (options, asking) = read_options(naming, options, pool, trust)?;
        Ok(NativeManager::new(Manager::new(read_config(config)?, options), asking))
    }

    #[staticmethod]
    #[pyo3(signature = (path, naming, options, pool, trust))]
    fn open(
        path: PathBuf,
        naming: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
        pool: Option<&Bound<'_, Pool>>,
        trust: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = naming.py();
        crate::logs::follow(py)?;
        let (options, asking) = read_options(naming, options, pool, trust)?;
        let core = py.detach(|| Manager::open(path, options)).or_raise(py)?;
        Ok(NativeManager::new(core, asking))
    }

    fn child(&self, py: Python<'_>) -> PyResult<Self> {
        let core = self.core.child().or_raise(py)?;
        Ok(NativeManager::new(core, self.asking(py)))
    }

    /// What discovery found, or None.
    fn discovery<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.check_process().or_raise(py)?;
        self.core
            .discovery()
            .map(|found| json::from_serialize(py, &found.report_with_keys()))
            .transpose()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.asking.traverse(&visit)
    }

    fn __clear__(&self) {
        self.asking.clear();
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
        let asking = self.asking(py).map(|asking| Asking { watches: true, ..asking });
        let stream = Arc::new(self.core.events());
        Ok(NativeEvents { stream, asking: Kept::new(asking) })
    }
}

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeEvents {
    pub(crate) stream: Arc<Events>,
    asking: Kept,
}

impl NativeEvents {
    /// Whoever reads the events answers the manager's questions while no verb is under way.
    pub(crate) fn asking(&self, py: Python<'_>) -> Option<Asking> {
        self.asking.get(py)
    }
}

#[pymethods]
impl NativeEvents {
    /// How many events this reader was too slow for.
    fn lost(&self) -> u64 {
        self.stream.lost()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.asking.traverse(&visit)
    }

    fn __clear__(&self) {
        self.asking.clear();
    }
}
