//! Owns the verbs of `mcpool.blocking`.

use mcpool::AuthorizeOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{wait, wait_and_answer, wait_for_call, wait_for_end, wait_on};
use crate::calls::{read_arguments, read_model_arguments, read_options, read_timeout};
use crate::errors::OrRaise;
use crate::events::NativeEvents;
use crate::json;
use crate::manager::NativeManager;
use crate::names::{RedirectUrl, ServerName, ToolName};
use crate::options::read_config;
use crate::result::ToolResult;
use crate::tool::Tool;
use crate::verbs::{reload_to, request_params};

#[pyfunction]
pub(crate) fn block_connect_all<'py>(
    py: Python<'py>,
    manager: &Bound<'py, NativeManager>,
) -> PyResult<Bound<'py, PyAny>> {
    crate::logs::follow(py)?;
    let report = wait_on(manager, |core| core.connect_all())?.or_raise(py)?;
    json::from_serialize(py, &report)
}

#[pyfunction]
pub(crate) fn block_connect(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: ServerName<'_>,
) -> PyResult<()> {
    wait_on(manager, |core| core.connect(&server))?.or_raise(py)
}

#[pyfunction]
#[pyo3(signature = (manager, server, timeout))]
pub(crate) fn block_wait_for(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: ServerName<'_>,
    timeout: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let limit = read_timeout(timeout)?;
    wait_on(manager, |core| core.wait_for(&server, limit))?.or_raise(py)
}

#[pyfunction]
pub(crate) fn block_authorize(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: ServerName<'_>,
    fresh: bool,
    device: bool,
) -> PyResult<()> {
    crate::logs::follow(py)?;
    let options = AuthorizeOptions::default().fresh(fresh).device(device);
    wait_on(manager, |core| core.authorize(&server, options))?.or_raise(py)
}

#[pyfunction]
pub(crate) fn block_complete_auth(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    redirect_url: RedirectUrl<'_>,
) -> PyResult<()> {
    wait_on(manager, |core| core.complete_auth(&redirect_url))?.or_raise(py)
}

#[pyfunction]
pub(crate) fn block_forget_auth(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: ServerName<'_>,
) -> PyResult<()> {
    wait_on(manager, |core| core.forget_auth(&server))?.or_raise(py)
}

/// Calls a tool; if `server` is None, `tool` is a name in the catalog.
#[pyfunction]
#[pyo3(signature = (manager, server, tool, arguments, options))]
pub(crate) fn block_call(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: Option<ServerName<'_>>,
    tool: ToolName<'_>,
    arguments: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<ToolResult> {
    let arguments = read_arguments(py, arguments)?;
    let options = read_options(options)?;
    let (core, asking) = (&manager.get().core, manager.get().asking(py));
    let outcome = match server {
        Some(server) => wait_for_call(py, asking, options, |options| {
            core.call_tool(&server, &tool, arguments, options)
        })?,
        None => wait_for_call(py, asking, options, |options| core.call(&tool, arguments, options))?,
    };
    outcome.or_raise(py).map(ToolResult::new)
}

/// Calls a tool of any manager.
#[pyfunction]
#[pyo3(signature = (tool, arguments, options))]
pub(crate) fn block_call_for(
    tool: &Bound<'_, Tool>,
    arguments: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<ToolResult> {
    let (py, tool) = (tool.py(), tool.get());
    let arguments = read_model_arguments(py, arguments)?;
    let options = read_options(options)?;
    let (server, raw_name) = (tool.definition().server(), tool.definition().raw_name());
    let manager = tool.manager(py)?;
    let call = |options| manager.call_tool(server, raw_name, arguments, options);
    wait_for_call(py, tool.asking(py), options, call)?.or_raise(py).map(ToolResult::new)
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
    let report = wait_on(manager, |core| reload_to(core.clone(), config))?.or_raise(py)?;
    json::from_serialize(py, &report)
}

#[pyfunction]
pub(crate) fn block_request<'py>(
    py: Python<'py>,
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
    verb: &str,
    params: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = request_params(params)?;
    let answer = wait_on(manager, |core| core.request(&server, verb, &params))?.or_raise(py)?;
    json::parse(py, &answer)
}

#[pyfunction]
#[pyo3(signature = (manager, server, tool))]
pub(crate) fn block_accept_drift(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: ServerName<'_>,
    tool: Option<ToolName<'_>>,
) -> PyResult<Vec<String>> {
    wait(py, manager.get().core.accept_drift(&server, tool.as_deref()))?.or_raise(py)
}

#[pyfunction]
pub(crate) fn block_disconnect(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: ServerName<'_>,
) -> PyResult<()> {
    wait_for_end(manager, |core| core.disconnect(&server))?.or_raise(py)
}

#[pyfunction]
pub(crate) fn block_disconnect_all(manager: &Bound<'_, NativeManager>) -> PyResult<()> {
    wait_for_end(manager, |core| core.disconnect_all())
}

#[pyfunction]
pub(crate) fn block_close(manager: &Bound<'_, NativeManager>) -> PyResult<()> {
    wait_for_end(manager, |core| core.close())
}

/// Waits until there are events to take; False at the end, or when `timeout` seconds have passed.
#[pyfunction]
#[pyo3(signature = (events, timeout))]
pub(crate) fn block_events_ready(
    py: Python<'_>,
    events: &Bound<'_, NativeEvents>,
    timeout: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let limit = read_timeout(timeout)?;
    let stream = events.get().stream.clone();
    let ready = |_| async move {
        match limit {
            Some(limit) => tokio::time::timeout(limit, stream.ready()).await.unwrap_or(false),
            None => stream.ready().await,
        }
    };
    wait_and_answer(py, events.get().asking(py), ready)
}
