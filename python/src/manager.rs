//! Owns the handle of a core manager, with the verbs that never wait.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mcpool::host::CallFailure;
use mcpool::{Catalog, ErrorKind, Manager, ManagerOptions};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};

use crate::blocking;
use crate::calls::reference;
use crate::errors::OrRaise;
use crate::events::NativeEvents;
use crate::json;
use crate::names::{Query, ServerName, ToolName};
use crate::options::{read_config, read_options};
use crate::question::{Asking, Kept};
use crate::standing::StandingListener;
use crate::telemetry::{request_telemetry, telemetry};
use crate::tool::{Tool, text_and_signals};

#[pyclass(frozen, weakref, module = "mcpool._native")]
pub(crate) struct NativeManager {
    pub(crate) core: Manager,
    /// The last list, while its catalog is current.
    tools: Mutex<Option<(Arc<Catalog>, Py<PyList>)>>,
    asking: Kept,
    pub(crate) standing: StandingListener,
}

impl NativeManager {
    pub(crate) fn new(core: Manager, asking: Option<Asking>) -> Self {
        NativeManager {
            core,
            tools: Mutex::default(),
            asking: Kept::new(asking),
            standing: StandingListener::default(),
        }
    }

    /// The catalog and its list, which is made once for each catalog.
    fn catalog_and_list<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Arc<Catalog>, Bound<'py, PyList>)> {
        blocking::wait_for_announced_tools(py, &self.core)?;
        let catalog = self.core.get_tools();
        let cached = self
            .tools
            .lock()
            .expect("nothing panics while it is held")
            .as_ref()
            .and_then(|(of, list)| Arc::ptr_eq(of, &catalog).then(|| list.clone_ref(py)));
        if let Some(list) = cached {
            return Ok((catalog, list.into_bound(py)));
        }
        let tools = catalog.tools().iter().cloned();
        let tools = tools.map(|tool| Tool::new(tool, self.core.clone(), self.asking(py)));
        let list = PyList::new(py, tools)?;
        let remembered = (catalog.clone(), list.clone().unbind());
        // The old list is dropped without the lock: that may wait for other threads of Python.
        let before =
            self.tools.lock().expect("nothing panics while it is held").replace(remembered);
        drop(before);
        Ok((catalog, list))
    }

    /// The functions that answer the manager's questions.
    pub(crate) fn asking(&self, py: Python<'_>) -> Option<Asking> {
        self.asking.get(py)
    }
}

#[pymethods]
impl NativeManager {
    #[new]
    fn from_config(config: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        crate::logs::follow(config.py())?;
        let (options, asking) = read_options(options, ManagerOptions::from_json)?;
        Ok(NativeManager::new(Manager::new(read_config(config)?, options), asking))
    }

    #[staticmethod]
    fn open(path: PathBuf, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = options.py();
        crate::logs::follow(py)?;
        let (options, asking) = read_options(options, ManagerOptions::for_file)?;
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
        self.asking.traverse(&visit)?;
        match self.tools.try_lock() {
            Ok(tools) => tools.as_ref().map_or(Ok(()), |(_, list)| visit.call(list)),
            // It is in use, so it is not garbage.
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.asking.clear();
        let tools = self.tools.lock().expect("nothing panics while it is held").take();
        drop(tools);
    }

    /// The cached list itself: callers copy it before they return it.
    fn get_tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.catalog_and_list(py).map(|(_, list)| list)
    }

    /// The tool with this name, of the cached list.
    fn get_tool<'py>(&self, py: Python<'py>, name: ToolName<'_>) -> PyResult<Bound<'py, PyAny>> {
        let (catalog, list) = self.catalog_and_list(py)?;
        list.get_item(self.core.tool_index(&catalog, &name).or_raise(py)?)
    }

    fn search_tools<'py>(
        &self,
        py: Python<'py>,
        query: Query<'_>,
        k: i64,
    ) -> PyResult<Bound<'py, PyList>> {
        let (catalog, list) = self.catalog_and_list(py)?;
        let k = usize::try_from(k).unwrap_or_default();
        let found = py.detach(|| catalog.search(&query, k));
        let found: Vec<_> =
            found.into_iter().map(|place| list.get_item(place)).collect::<PyResult<_>>()?;
        PyList::new(py, found)
    }

    /// The attributes of a call for telemetry; None when it is switched off.
    #[pyo3(signature = (server, tool))]
    fn telemetry<'py>(
        &self,
        py: Python<'py>,
        server: Option<ServerName<'_>>,
        tool: ToolName<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        telemetry(py, &self.core, reference(server.as_deref(), &tool))
    }

    /// The attributes of a request besides calls, by the name of a verb.
    fn request_telemetry<'py>(
        &self,
        server: ServerName<'_>,
        verb: &str,
        params: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        request_telemetry(&self.core, &server, verb, params)
    }

    /// The text for a model when a call by name has no result, and the signals in it.
    #[pyo3(signature = (tool, code, message, server, suggestion, executed, by_server))]
    #[expect(clippy::too_many_arguments, reason = "the words of an error")]
    fn failure_for_model<'py>(
        &self,
        py: Python<'py>,
        tool: &str,
        code: &str,
        message: Option<&str>,
        server: Option<&str>,
        suggestion: Option<&str>,
        executed: Option<&str>,
        by_server: bool,
    ) -> PyResult<(String, Bound<'py, PyAny>)> {
        let failure =
            CallFailure::from_words(code, message, server, suggestion, executed, by_server);
        text_and_signals(py, self.core.failure_for_model("", tool, failure))
    }

    /// From now on, a framework has to ask a person about the tools that require approval.
    fn require_framework_approval(&self) {
        self.core.require_framework_approval();
    }

    fn requires_framework_approval(&self) -> bool {
        self.core.requires_framework_approval()
    }

    /// Raises if a call by this name needs an approval that nobody was asked for.
    fn check_framework_approval(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        blocking::wait_for_tools_to_approve(py, &self.core)?;
        self.core.check_framework_approval_of_name(name).or_raise(py)
    }

    fn set_roots(&self, py: Python<'_>, roots: &Bound<'_, PyAny>) -> PyResult<()> {
        let roots = json::write(roots, ErrorKind::InvalidArguments)?;
        self.core.set_roots_json(&String::from_utf8_lossy(&roots)).or_raise(py)
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.core.check_process().or_raise(py)?;
        json::from_serialize(py, &self.core.status())
    }

    fn status_of<'py>(
        &self,
        py: Python<'py>,
        server: ServerName<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        json::from_serialize(py, &self.core.status_of(&server).or_raise(py)?)
    }

    /// Whether it belongs to this process and is open.
    fn is_usable(&self) -> bool {
        self.core.is_usable()
    }

    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.core.check_process().or_raise(py)?;
        Ok(self.core.warnings())
    }

    fn events(&self, py: Python<'_>) -> PyResult<NativeEvents> {
        self.core.check_process().or_raise(py)?;
        let asking = self.asking(py).map(|asking| Asking { watches: true, ..asking });
        Ok(NativeEvents::new(self.core.events(), asking))
    }

    /// Events for an observer: reading them answers no question.
    fn observe(&self, py: Python<'_>) -> PyResult<NativeEvents> {
        self.core.check_process().or_raise(py)?;
        Ok(NativeEvents::new(self.core.events(), None))
    }
}
