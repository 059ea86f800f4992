//! Owns naming functions written in Python.

use std::sync::Arc;

use mcpool::Naming;
use pyo3::prelude::*;

pub(crate) fn by_function(function: Py<PyAny>) -> Naming {
    Naming::Function(Arc::new(move |server, tool| {
        Python::attach(|py| {
            // A failing function must not lose the tool.
            function.call1(py, (server, tool)).and_then(|name| name.extract(py)).ok()
        })
    }))
}
