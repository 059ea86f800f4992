//! Owns the Python view of a tool: parts are read on first use.

use mcpool::ToolRef;
use mcpool::host::{CallFailure, Origin};
use mcpool::{ForModel, Manager, ServerTool};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::blocking::wait_for_tools_to_approve;
use crate::errors::OrRaise;
use crate::json;
use crate::question::{Asking, Kept};
use crate::result::signals;
use crate::telemetry::telemetry;

/// A tool under the name that agents use; it keeps its manager alive. One that was pickled has none.
#[pyclass(frozen, module = "mcpool")]
pub(crate) struct Tool {
    core: mcpool::Tool,
    manager: Option<Manager>,
    asking: Kept,
}

impl Tool {
    pub(crate) fn new(core: mcpool::Tool, manager: Manager, asking: Option<Asking>) -> Tool {
        Tool { core, manager: Some(manager), asking: Kept::new(asking) }
    }

    pub(crate) fn definition(&self) -> &ServerTool {
        &self.core.definition
    }

    /// The manager that calls it.
    pub(crate) fn manager(&self, py: Python<'_>) -> PyResult<&Manager> {
        self.manager.as_ref().ok_or_else(|| self.core.no_manager()).or_raise(py)
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

/// The one of these names that `wanted` was most likely meant to be.
#[pyfunction]
pub(crate) fn similar_name(wanted: &str, names: Vec<String>) -> Option<String> {
    mcpool::host::similar_name(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

/// A tool from its pickled form.
#[pyfunction]
pub(crate) fn restore_tool(py: Python<'_>, stored: &str) -> PyResult<Tool> {
    let core = mcpool::Tool::from_stored(stored).or_raise(py)?;
    Ok(Tool { core, manager: None, asking: Kept::default() })
}

/// The text for a model when there is no result, and the signals in it.
pub(crate) fn text_and_signals(
    py: Python<'_>,
    for_model: ForModel,
) -> PyResult<(String, Bound<'_, PyAny>)> {
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
        match &self.manager {
            Some(manager) => telemetry(py, manager, self.reference()),
            None => Ok(None),
        }
    }

    /// Whether a framework has to ask a person before a call of it.
    #[pyo3(name = "_needs_framework_approval")]
    fn needs_framework_approval(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(manager) = &self.manager else { return Ok(false) };
        wait_for_tools_to_approve(py, manager)?;
        Ok(manager.needs_framework_approval(&self.core))
    }

    /// Raises if a call of it needs an approval that nobody was asked for.
    #[pyo3(name = "_check_framework_approval")]
    fn check_framework_approval(&self, py: Python<'_>) -> PyResult<()> {
        let Some(manager) = &self.manager else { return Ok(()) };
        wait_for_tools_to_approve(py, manager)?;
        manager.check_framework_approval(&self.core).or_raise(py)
    }

    /// Raises the error of a call that a person refused.
    #[pyo3(name = "_raise_not_approved", signature = (reason=None))]
    fn raise_not_approved(&self, py: Python<'_>, reason: Option<&str>) -> PyResult<()> {
        Err(self.core.not_approved(reason)).or_raise(py)
    }

    /// The text for a model when a call of it has no result, and the signals in it.
    #[pyo3(signature = (code, message, server, suggestion, executed, by_server))]
    #[expect(clippy::too_many_arguments, reason = "the words of an error")]
    fn failure_for_model<'py>(
        &self,
        py: Python<'py>,
        code: &str,
        message: Option<&str>,
        server: Option<&str>,
        suggestion: Option<&str>,
        executed: Option<&str>,
        by_server: bool,
    ) -> PyResult<(String, Bound<'py, PyAny>)> {
        let failure =
            CallFailure::from_words(code, message, server, suggestion, executed, by_server);
        let (server, tool) = (self.definition().server(), self.definition().raw_name());
        let for_model = match &self.manager {
            Some(manager) => manager.failure_for_model(server, tool, failure),
            None => Origin::detached(server, tool).present_failure(&failure),
        };
        text_and_signals(py, for_model)
    }

    /// A pickled tool is data: its manager stays here.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.import("mcpool._native")?.getattr("restore_tool")?;
        Ok((restore, (self.core.to_stored().or_raise(py)?,)))
    }

    /// Nothing of a tool can be changed, so a copy would be the same.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
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
