//! Owns the handle of an event stream.

use std::sync::Arc;

use mcpool::Events;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::json;
use crate::question::{Asking, Kept};

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeEvents {
    pub(crate) stream: Arc<Events>,
    asking: Kept,
}

impl NativeEvents {
    pub(crate) fn new(events: Events, asking: Option<Asking>) -> Self {
        NativeEvents { stream: Arc::new(events), asking: Kept::new(asking) }
    }

    /// Reading the events answers the manager's questions while no verb is running.
    pub(crate) fn asking(&self, py: Python<'_>) -> Option<Asking> {
        self.asking.get(py)
    }
}

#[pymethods]
impl NativeEvents {
    /// The events since the last call, as dicts; empty when all are read.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::from_serialize(py, &self.stream.take())
    }

    /// How many events this reader has missed because it was too slow.
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
