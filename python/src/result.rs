//! Owns the Python view of a call's result: parsed once, on first use.

use std::hash::{DefaultHasher, Hash, Hasher};

use mcpool::host::Origin;
use mcpool::{Image, Signal};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

use crate::json;

/// What a tool answered.
#[pyclass(frozen, module = "mcpool")]
pub(crate) struct ToolResult {
    core: mcpool::ToolResult,
    raw: PyOnceLock<Py<PyAny>>,
}

impl ToolResult {
    pub(crate) fn new(core: mcpool::ToolResult) -> Self {
        ToolResult { core, raw: PyOnceLock::new() }
    }

    fn field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.raw(py)?.cast::<PyDict>() {
            Ok(raw) => raw.get_item(name),
            Err(_) => Ok(None),
        }
    }
}

type OriginParts = (String, String, usize, bool);
/// The arguments of `restore_result`.
type Stored<'a> = (&'a str, Option<OriginParts>);

/// A result from its pickled form.
#[pyfunction]
#[pyo3(signature = (json, origin))]
pub(crate) fn restore_result(json: String, origin: Option<OriginParts>) -> ToolResult {
    ToolResult::new(match &origin {
        Some((server, tool, max_chars, wrap)) => {
            Origin::from_parts((server, tool, *max_chars, *wrap)).result(json)
        }
        None => mcpool::ToolResult::from_json(json),
    })
}

/// A list of the Python records.
pub(crate) fn signals<'py>(py: Python<'py>, found: &[Signal]) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.import(py, "mcpool._events", "Signal")?;
    let record = |signal: &Signal| class.call1((signal.kind.name(), &signal.excerpt));
    let records = found.iter().map(record).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, records)?.into_any())
}

fn image_records<'py>(py: Python<'py>, found: &[Image]) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.import(py, "mcpool._result", "Image")?;
    let record = |image: &Image| class.call1((&image.mime_type, &image.data));
    let records = found.iter().map(record).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, records)?.into_any())
}

#[pymethods]
impl ToolResult {
    /// The whole result as the server sent it, parsed.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let raw = self
            .raw
            .get_or_try_init(py, || json::parse(py, self.core.json()).map(Bound::unbind))?;
        Ok(raw.bind(py).clone())
    }

    /// Results are equal if the same server and tool answered the same.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<ToolResult>().is_ok_and(|other| {
            let (ours, theirs) = (&self.core, &other.get().core);
            let origin = |result: &mcpool::ToolResult| {
                result.origin().map(|origin| {
                    let (server, tool, ..) = origin.parts();
                    (server.to_owned(), tool.to_owned())
                })
            };
            ours.json() == theirs.json() && origin(ours) == origin(theirs)
        })
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.core.json().hash(&mut hasher);
        hasher.finish()
    }

    /// The whole result as the server wrote it.
    #[getter]
    fn json(&self) -> &str {
        self.core.json()
    }

    /// The task that the server works on, if the call returned that in place of a result.
    #[getter]
    fn task<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(task) = self.core.task() else { return Ok(None) };
        let row = json::from_serialize(py, &task)?;
        py.import("mcpool._task")?.call_method1("read_task", (row,)).map(Some)
    }

    /// The content blocks.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let content =
            self.field(py, "content")?.filter(|content| content.is_instance_of::<PyList>());
        Ok(content.unwrap_or_else(|| PyList::empty(py).into_any()))
    }

    /// The structured content, or None.
    #[getter]
    fn structured<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.field(py, "structuredContent")
    }

    /// Whether the tool reports a failure.
    #[getter]
    fn is_error(&self) -> bool {
        self.core.is_error()
    }

    /// The result as text.
    #[getter]
    fn text(&self) -> String {
        self.core.text()
    }

    /// The text to give to a model: cut to the server's `maxResultChars`, scanned, and marked as untrusted output.
    fn for_model(&self, py: Python<'_>) -> &str {
        py.detach(|| self.core.for_model())
    }

    /// What in that text looks like instructions to a model.
    #[getter]
    fn signals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.core.signals());
        signals(py, found)
    }

    /// The images among the content blocks and in embedded resources.
    #[getter]
    fn images<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        image_records(py, &py.detach(|| self.core.images()))
    }

    /// The images to show to a model beside the text.
    #[getter]
    fn model_images<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        image_records(py, &py.detach(|| self.core.model_images()))
    }

    /// The server's own words are pickled, and what `for_model` needs to know.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Stored<'_>)> {
        let restore = py.import("mcpool._native")?.getattr("restore_result")?;
        let origin = self.core.origin().map(|origin| {
            let (server, tool, max_chars, wrap) = origin.parts();
            (server.to_owned(), tool.to_owned(), max_chars, wrap)
        });
        Ok((restore, (self.core.json(), origin)))
    }

    fn __copy__(&self) -> ToolResult {
        ToolResult::new(self.core.clone())
    }

    /// What was parsed can be changed by its owner, so it is not shared.
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> ToolResult {
        ToolResult::new(self.core.clone())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mcpool._html")?.call_method1("result", (slf,))
    }

    fn __repr__(&self) -> String {
        let text = self.core.text();
        let shown: String = text.chars().take(80).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        format!("<ToolResult {shown:?}{more}>")
    }
}
