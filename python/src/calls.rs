//! Owns passing a call to the core, and reading its options.

use std::sync::Arc;
use std::time::Duration;

use mcpool::ToolRef;
use mcpool::host::{Address, Letter};
use mcpool::{Arguments, CallOptions, ErrorKind, Manager, Retry};
use pyo3::intern;
use pyo3::prelude::*;

use crate::bridge::{Stop, running};
use crate::errors::OrRaise;
use crate::json;
use crate::manager::NativeManager;
use crate::question::Asking;
use crate::tool::Tool;

/// Calls a tool for the running loop and returns the future of its result; if `server` is None, `tool` is a name in the
/// catalog.
#[pyfunction]
#[pyo3(signature = (manager, server, tool, arguments, timeout, max_total_timeout, retry, on_progress, meta))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python calls it by position, which is the cheapest way"
)]
pub(crate) fn call<'py>(
    manager: &Bound<'py, NativeManager>,
    server: Option<&str>,
    tool: &str,
    arguments: Option<&Bound<'py, PyAny>>,
    timeout: Option<f64>,
    max_total_timeout: Option<f64>,
    retry: Option<&str>,
    on_progress: Option<Py<PyAny>>,
    meta: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let of = reference(server, tool);
    let limits = Limits { timeout, max_total_timeout, retry };
    let native = manager.get();
    submit(
        manager.py(),
        &native.core,
        native.asking(manager.py()),
        of,
        arguments,
        limits,
        on_progress,
        meta,
    )
}

/// Calls a tool of any manager for the running loop, as `call` does.
#[pyfunction]
#[pyo3(signature = (tool, arguments, timeout, max_total_timeout, retry, on_progress, meta))]
pub(crate) fn call_for<'py>(
    tool: &Bound<'py, Tool>,
    arguments: Option<&Bound<'py, PyAny>>,
    timeout: Option<f64>,
    max_total_timeout: Option<f64>,
    retry: Option<&str>,
    on_progress: Option<Py<PyAny>>,
    meta: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let limits = Limits { timeout, max_total_timeout, retry };
    let (py, tool) = (tool.py(), tool.get());
    submit(
        py,
        tool.manager(),
        tool.asking(py),
        tool.reference(),
        arguments,
        limits,
        on_progress,
        meta,
    )
}

/// Without a server, `tool` is a name in the catalog.
pub(crate) fn reference<'a>(server: Option<&'a str>, tool: &'a str) -> ToolRef<'a> {
    match server {
        Some(server) => ToolRef::Of { server, tool },
        None => ToolRef::Named(tool),
    }
}

/// The timeouts and the retry option of a call.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub(crate) timeout: Option<f64>,
    pub(crate) max_total_timeout: Option<f64>,
    pub(crate) retry: Option<&'a str>,
}

#[expect(clippy::too_many_arguments, reason = "all that a caller can say, and whom it is said to")]
fn submit<'py>(
    py: Python<'py>,
    manager: &Manager,
    asking: Option<Asking>,
    tool: ToolRef<'_>,
    arguments: Option<&Bound<'py, PyAny>>,
    limits: Limits<'_>,
    on_progress: Option<Py<PyAny>>,
    meta: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (event_loop, bridge) = running(py)?;
    let waiting = bridge.get();
    let future = event_loop.call_method0(intern!(py, "create_future"))?;
    let address = Address { mailbox: waiting.mailbox.clone(), key: waiting.key_of(&future) };
    let key = address.key;
    let arguments = read_arguments(py, arguments)?;
    let mut options = read_options(py, limits, meta)?;
    if on_progress.is_some() {
        let Address { mailbox, key } = address.clone();
        options.on_progress =
            Some(Arc::new(move |progress| mailbox.post(key, Letter::Progress(progress))));
    }
    let answers = asking.map(|asking| waiting.listen(key, asking));
    let handle = manager.submit(tool, arguments, options, address).or_raise(py)?;
    waiting.remember(key, &future, on_progress, Stop::Call(handle), answers);
    if waiting.mailbox.wants_flush_scheduled() {
        let flush = bridge.getattr(intern!(py, "flush"))?;
        event_loop.call_method1(intern!(py, "call_soon"), (flush,))?;
    }
    Ok(future)
}

pub(crate) fn read_arguments(
    py: Python<'_>,
    arguments: Option<&Bound<'_, PyAny>>,
) -> PyResult<Arguments> {
    match arguments {
        None => Ok(Arguments::none()),
        Some(arguments) => {
            Arguments::from_writer(json::write(arguments, ErrorKind::InvalidArguments)?)
                .or_raise(py)
        }
    }
}

pub(crate) fn read_options(
    py: Python<'_>,
    Limits { timeout, max_total_timeout, retry }: Limits<'_>,
    meta: Option<&Bound<'_, PyAny>>,
) -> PyResult<CallOptions> {
    let meta = match meta {
        None => None,
        Some(meta) => {
            let json = json::write(meta, ErrorKind::InvalidArguments)?;
            Some(CallOptions::read_meta(json).or_raise(py)?)
        }
    };
    Ok(CallOptions::default()
        .timeout(read_timeout(py, timeout)?)
        .max_total_timeout(read_timeout(py, max_total_timeout)?)
        .retry(retry.map(|name| Retry::from_name(name).or_raise(py)).transpose()?)
        .meta(meta))
}

pub(crate) fn read_timeout(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    seconds.map(|seconds| CallOptions::read_timeout(seconds).or_raise(py)).transpose()
}
