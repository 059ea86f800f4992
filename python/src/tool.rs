//! Owns the Python view of a tool: parts are read when looked at.

use pyo3::prelude::*;

use crate::json;

/// A tool under the name that agents use.
#[pyclass(frozen, module = "mcpool")]
pub(crate) struct Tool(pub(crate) mcpool::Tool);

fn parsed<'py>(py: Python<'py>, text: Option<&str>) -> PyResult<Option<Bound<'py, PyAny>>> {
    text.map(|text| json::parse(py, text)).transpose()
}

#[pymethods]
impl Tool {
    /// The name in the catalog.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }
    /// The server it belongs to.
    #[getter]
    fn server(&self) -> &str {
        self.0.of.server()
    }
    /// The server's name for it.
    #[getter]
    fn raw_name(&self) -> &str {
        self.0.of.raw_name()
    }
    /// Its title for people, or None.
    #[getter]
    fn title(&self) -> Option<String> {
        self.0.of.title()
    }
    /// Its description for the model.
    #[getter]
    fn description(&self) -> String {
        self.0.of.description()
    }
    /// The JSON Schema of its arguments.
    #[getter]
    fn input_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::parse(py, &self.0.of.input_schema())
    }
    /// The JSON Schema of its structured results, or None.
    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        parsed(py, self.0.of.output_schema())
    }
    /// The server's hints about it, or None.
    #[getter]
    fn annotations<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        parsed(py, self.0.of.annotations())
    }
    /// Its icons, or None.
    #[getter]
    fn icons<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        parsed(py, self.0.of.icons())
    }
    /// The whole entry as the server sent it, parsed.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::parse(py, self.0.of.json())
    }
    /// Whether a person should approve its calls.
    #[getter]
    fn requires_approval(&self) -> bool {
        self.0.requires_approval
    }
    /// Where it comes from, for people.
    #[getter]
    fn provider(&self) -> String {
        self.0.provider()
    }
    /// Changes when name, description, schema or annotations change.
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.of.fingerprint()
    }
    /// `live`: its server is connected; `deferred`: known from before, a call waits for the server.
    #[getter]
    fn state(&self) -> &'static str {
        self.0.state.name()
    }

    fn __repr__(&self) -> String {
        format!("<Tool {}>", self.0.name)
    }
}
