//! Owns the async verbs for the running loop: each returns the future of its answer.

use std::future::Future;

use mcpool::{AuthorizeOptions, Config, ErrorKind, Manager, ReloadReport};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bridge::running;
use crate::calls::read_timeout;
use crate::events::NativeEvents;
use crate::json::{self, to_json};
use crate::manager::NativeManager;
use crate::names::{RedirectUrl, ServerName, ToolName};
use crate::options::read_config;
use crate::question::Asking;

/// Starts a verb without questions.
pub(crate) fn start<'py>(
    py: Python<'py>,
    verb: impl Future<Output = mcpool::Result<String>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let (event_loop, bridge) = running(py)?;
    bridge.get().start(&event_loop, None, || verb)
}

/// Starts a verb that ends servers.
fn end_on<'py, V>(
    manager: &Bound<'py, NativeManager>,
    verb: impl FnOnce(&Manager) -> V,
) -> PyResult<Bound<'py, PyAny>>
where
    V: Future<Output = mcpool::Result<String>> + Send + 'static,
{
    let (event_loop, bridge) = running(manager.py())?;
    let asking = manager.get().asking(manager.py()).and_then(Asking::for_ending);
    bridge.get().start(&event_loop, asking, || verb(&manager.get().core))
}

/// Starts a verb that may start servers: the manager's questions are answered meanwhile.
fn start_on<'py, V>(
    manager: &Bound<'py, NativeManager>,
    verb: impl FnOnce(&Manager) -> V,
) -> PyResult<Bound<'py, PyAny>>
where
    V: Future<Output = mcpool::Result<String>> + Send + 'static,
{
    let (event_loop, bridge) = running(manager.py())?;
    let asking = manager.get().asking(manager.py());
    if let Some(asking) = &asking {
        bridge.get().stand_for(manager, asking)?;
    }
    bridge.get().start(&event_loop, asking, || verb(&manager.get().core))
}

async fn done(verb: impl Future<Output = mcpool::Result<()>> + Send) -> mcpool::Result<String> {
    verb.await.map(|()| "null".to_owned())
}

async fn ended(verb: impl Future<Output = ()> + Send) -> mcpool::Result<String> {
    verb.await;
    Ok("null".to_owned())
}

async fn reported<T: serde::Serialize>(
    verb: impl Future<Output = mcpool::Result<T>> + Send,
) -> mcpool::Result<String> {
    verb.await.map(|report| to_json(&report))
}

#[pyfunction]
pub(crate) fn connect_all<'py>(manager: &Bound<'py, NativeManager>) -> PyResult<Bound<'py, PyAny>> {
    crate::logs::follow(manager.py())?;
    start_on(manager, |core| reported(core.connect_all()))
}

#[pyfunction]
pub(crate) fn connect<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    start_on(manager, |core| done(core.connect(&server)))
}

#[pyfunction]
#[pyo3(signature = (manager, server, timeout))]
pub(crate) fn wait_for<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
    timeout: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let limit = read_timeout(timeout)?;
    start_on(manager, |core| done(core.wait_for(&server, limit)))
}

/// Applies the difference to `config`; None means that the config file is read again.
#[pyfunction]
#[pyo3(signature = (manager, config))]
pub(crate) fn reload<'py>(
    manager: &Bound<'py, NativeManager>,
    config: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    crate::logs::follow(manager.py())?;
    let config = config.map(read_config).transpose()?;
    start_on(manager, |core| reported(reload_to(core.clone(), config)))
}

pub(crate) async fn reload_to(
    core: Manager,
    config: Option<Config>,
) -> mcpool::Result<ReloadReport> {
    match config {
        Some(config) => core.reload_with(config).await,
        None => core.reload().await,
    }
}

/// Signs in to a server, and connects it.
#[pyfunction]
pub(crate) fn authorize<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
    fresh: bool,
    device: bool,
) -> PyResult<Bound<'py, PyAny>> {
    crate::logs::follow(manager.py())?;
    let options = AuthorizeOptions::default().fresh(fresh).device(device);
    start_on(manager, |core| done(core.authorize(&server, options)))
}

/// Finishes a sign-in with the URL that the browser was sent back to.
#[pyfunction]
pub(crate) fn complete_auth<'py>(
    manager: &Bound<'py, NativeManager>,
    redirect_url: RedirectUrl<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    start_on(manager, |core| done(core.complete_auth(&redirect_url)))
}

/// Forgets the login of a server.
#[pyfunction]
pub(crate) fn forget_auth<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    start_on(manager, |core| done(core.forget_auth(&server)))
}

/// Asks a server besides calling tools, by the name of a verb of the core.
#[pyfunction]
pub(crate) fn request<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
    verb: &str,
    params: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = request_params(params)?;
    start_on(manager, |core| core.request(&server, verb, &params))
}

/// The parameters of a request, as JSON.
pub(crate) fn request_params(params: &Bound<'_, PyDict>) -> PyResult<String> {
    let written = json::write(params.as_any(), ErrorKind::InvalidArguments)?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// Accepts tools that have changed since they were first seen; returns their names.
#[pyfunction]
#[pyo3(signature = (manager, server, tool))]
pub(crate) fn accept_drift<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
    tool: Option<ToolName<'_>>,
) -> PyResult<Bound<'py, PyAny>> {
    start(manager.py(), reported(manager.get().core.accept_drift(&server, tool.as_deref())))
}

#[pyfunction]
pub(crate) fn disconnect<'py>(
    manager: &Bound<'py, NativeManager>,
    server: ServerName<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    end_on(manager, |core| done(core.disconnect(&server)))
}

#[pyfunction]
pub(crate) fn disconnect_all<'py>(
    manager: &Bound<'py, NativeManager>,
) -> PyResult<Bound<'py, PyAny>> {
    end_on(manager, |core| ended(core.disconnect_all()))
}

#[pyfunction]
pub(crate) fn close<'py>(manager: &Bound<'py, NativeManager>) -> PyResult<Bound<'py, PyAny>> {
    end_on(manager, |core| ended(core.close()))
}

/// Waits until there are events to take; False at the end.
#[pyfunction]
pub(crate) fn events_ready<'py>(events: &Bound<'py, NativeEvents>) -> PyResult<Bound<'py, PyAny>> {
    let (event_loop, bridge) = running(events.py())?;
    let stream = events.get().stream.clone();
    let ready = || async move { Ok(to_json(&stream.ready().await)) };
    bridge.get().start(&event_loop, events.get().asking(event_loop.py()), ready)
}
