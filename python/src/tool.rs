//! Owns the Python view of a tool: parts are read on first use.

use mcpool::ToolRef;
use mcpool::host::CallFailure;
use mcpool::{Manager, ServerTool};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::json;
use crate::question::{Asking, Kept};
use crate::result::signals;
use crate::telemetry::telemetry;

/// A tool under the name that agents use; it keeps its manager alive.
#[pyclass(frozen, module = "mcpool")]
pub(crate) struct Tool {
    core: mcpool::Tool,
    manager: Manager,
    asking: Kept,
}

impl Tool {
    pub(crate) fn new(core: mcpool::Tool, manager: Manager, asking: Option<Asking>) -> Tool {
        Tool { core, manager, asking: Kept::new(asking) }
    }

    pub(crate) fn definition(&self) -> &ServerTool {
        &self.core.definition
    }

    pub(crate) fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The tool by its raw name, which does not depend on the catalog.
    pub(crate) fn reference(&self) -> ToolRef<'_> {
        ToolRef::Of { server: self.definition().server(), tool: self.definition().raw_name() }
    }

    /// The functions that answer its manager's questions.
    pub(crate) fn asking(&self, py: Python<'_>) -> Option<Asking> {
        self.asking.get(py)
    }
}

/// The text for a model when there is no result, and the signals in it.
pub(crate) fn failure_for_model<'py>(
    py: Python<'py>,
    manager: &Manager,
    (server, tool): (&str, &str),
    failure: &CallFailure<'_>,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let for_model = manager.failure_for_model(server, tool, *failure);
    Ok((for_model.text, signals(py, &for_model.signals)?))
}

fn parsed<'py>(py: Python<'py>, text: Option<&str>) -> PyResult<Option<Bound<'py, PyAny>>> {
    text.map(|text| json::parse(py, text)).transpose()
}

#[pymethods]
impl Tool {
    /// The name in the catalog.
    #[getter]
    fn name(&self) -> &str {
        &self.core.name
    }
    /// The server it belongs to.
    #[getter]
    fn server(&self) -> &str {
        self.definition().server()
    }
    /// The server's name for it.
    #[getter]
    fn raw_name(&self) -> &str {
        self.definition().raw_name()
    }
    /// Its title for people, or None.
    #[getter]
    fn title(&self) -> Option<String> {
        self.definition().title()
    }
    /// Its description for the model.
    #[getter]
    fn description(&self) -> String {
        self.definition().description()
    }
    /// The JSON Schema of its arguments.
    #[getter]
    fn input_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::parse(py, &self.definition().input_schema())
    }
    /// The same in the form that every provider accepts: an object schema with `properties`.
    #[getter]
    fn object_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::parse(py, &self.definition().object_schema())
    }
    /// The JSON Schema of its structured results, or None.
    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        parsed(py, self.definition().output_schema())
    }
    /// The server's hints about it, or None.
    #[getter]
    fn annotations<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        parsed(py, self.definition().annotations())
    }
    /// Its icons, or None.
    #[getter]
    fn icons<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        parsed(py, self.definition().icons())
    }
    /// The whole entry as the server sent it, parsed.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::parse(py, self.definition().json())
    }
    /// Whether a person should approve its calls.
    #[getter]
    fn requires_approval(&self) -> bool {
        self.core.requires_approval
    }
    /// Where it comes from, for people.
    #[getter]
    fn provider(&self) -> String {
        self.core.provider()
    }
    /// Changes when name, description, schema or annotations change.
    #[getter]
    fn fingerprint(&self) -> String {
        self.definition().fingerprint()
    }
    /// What in its texts and schemas looks like instructions to a model.
    #[getter]
    fn signals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        signals(py, self.definition().signals())
    }
    /// `live`: its server is connected; `deferred`: known from before, a call waits for the server.
    #[getter]
    fn state(&self) -> &'static str {
        self.core.state.name()
    }

    /// What telemetry says of a call of it; None when it is switched off.
    #[pyo3(name = "_telemetry")]
    fn telemetry<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        telemetry(py, &self.manager, self.reference())
    }

    /// The text for a model when a call of it has no result, and the signals in it.
    fn failure_for_model<'py>(
        &self,
        py: Python<'py>,
        code: &str,
        message: &str,
        hint: Option<&str>,
        executed: Option<&str>,
        by_server: bool,
    ) -> PyResult<(String, Bound<'py, PyAny>)> {
        let names = (self.definition().server(), self.definition().raw_name());
        let failure = CallFailure::from_words(code, message, hint, executed, by_server);
        failure_for_model(py, &self.manager, names, &failure)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.asking.traverse(&visit)
    }

    fn __clear__(&self) {
        self.asking.clear();
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mcpool._html")?.call_method1("tool", (slf,))
    }

    fn __repr__(&self) -> String {
        format!("<Tool {}>", self.core.name)
    }
}
