//! Owns the verbs of `mcpool.blocking`: the thread waits without the interpreter's lock and stays open to Ctrl-C.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use pyo3::prelude::*;

use crate::calls::{read_arguments, read_options, read_timeout};
use crate::errors::OrRaise;
use crate::json;
use crate::manager::{NativeEvents, NativeManager};
use crate::options::read_config;
use crate::result::ToolResult;
use crate::verbs::reload_to;

const SIGNAL_CHECK: Duration = Duration::from_millis(50);

fn wait<T: Send>(py: Python<'_>, verb: impl Future<Output = T> + Send) -> PyResult<T> {
    let mut verb = pin!(verb);
    loop {
        let slice = py.detach(|| {
            mcpool::runtime::block_on(async { tokio::time::timeout(SIGNAL_CHECK, &mut verb).await })
        });
        if let Ok(outcome) = slice {
            return Ok(outcome);
        }
        py.check_signals()?;
    }
}

#[pyfunction]
pub(crate) fn block_connect_all<'py>(
    py: Python<'py>,
    manager: &Bound<'py, NativeManager>,
) -> PyResult<Bound<'py, PyAny>> {
    crate::logs::follow(py)?;
    let report = wait(py, manager.get().core.connect_all())?.or_raise(py)?;
    json::from_serialize(py, &report)
}

#[pyfunction]
pub(crate) fn block_connect(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: &str,
) -> PyResult<()> {
    wait(py, manager.get().core.connect(server))?.or_raise(py)
}

#[pyfunction]
#[pyo3(signature = (manager, server, timeout))]
pub(crate) fn block_wait_for(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: &str,
    timeout: Option<f64>,
) -> PyResult<()> {
    let limit = read_timeout(py, timeout)?;
    wait(py, manager.get().core.wait_for(server, limit))?.or_raise(py)
}

/// Calls a tool; `server` None means that `tool` is a name of the catalog.
#[pyfunction]
#[pyo3(signature = (manager, server, tool, arguments, timeout, max_total_timeout, retry, meta))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python calls it by position, which is the cheapest way"
)]
pub(crate) fn block_call(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: Option<&str>,
    tool: &str,
    arguments: Option<&Bound<'_, PyAny>>,
    timeout: Option<f64>,
    max_total_timeout: Option<f64>,
    retry: Option<&str>,
    meta: Option<&Bound<'_, PyAny>>,
) -> PyResult<ToolResult> {
    let arguments = read_arguments(py, arguments)?;
    let options = read_options(py, timeout, max_total_timeout, retry, meta)?;
    let core = &manager.get().core;
    let outcome = match server {
        Some(server) => wait(py, core.call_tool(server, tool, arguments, options))?,
        None => wait(py, core.call(tool, arguments, options))?,
    };
    outcome.or_raise(py).map(ToolResult::new)
}

#[pyfunction]
#[pyo3(signature = (manager, config))]
pub(crate) fn block_reload<'py>(
    py: Python<'py>,
    manager: &Bound<'py, NativeManager>,
    config: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    crate::logs::follow(py)?;
    let config = config.map(read_config).transpose()?;
    let report = wait(py, reload_to(manager.get().core.clone(), config))?.or_raise(py)?;
    json::from_serialize(py, &report)
}

#[pyfunction]
pub(crate) fn block_disconnect(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: &str,
) -> PyResult<()> {
    wait(py, manager.get().core.disconnect(server))?.or_raise(py)
}

#[pyfunction]
pub(crate) fn block_disconnect_all(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
) -> PyResult<()> {
    wait(py, manager.get().core.disconnect_all())
}

#[pyfunction]
pub(crate) fn block_close(py: Python<'_>, manager: &Bound<'_, NativeManager>) -> PyResult<()> {
    wait(py, manager.get().core.close())
}

/// The next event as a dict; None at the end, or when `timeout` seconds have passed.
#[pyfunction]
#[pyo3(signature = (events, timeout))]
pub(crate) fn block_next_event<'py>(
    py: Python<'py>,
    events: &Bound<'py, NativeEvents>,
    timeout: Option<f64>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let limit = read_timeout(py, timeout)?;
    let events = events.get().0.clone();
    let next = async move {
        match limit {
            Some(limit) => tokio::time::timeout(limit, events.next()).await.ok().flatten(),
            None => events.next().await,
        }
    };
    wait(py, next)?.map(|event| json::from_serialize(py, &event)).transpose()
}
