//! Owns passing a call to the core, and reading its options.

use std::sync::Arc;
use std::time::Duration;

use mcpool::ToolRef;
use mcpool::host::{Address, Given, Language, Letter, OptionInfo};
use mcpool::{Arguments, CallOptions, ErrorKind, Manager};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::bridge::running;
use crate::errors::OrRaise;
use crate::json;
use crate::manager::NativeManager;
use crate::names::{ServerName, ToolName};
use crate::options::find_option;
use crate::question::Asking;
use crate::tool::Tool;
use crate::waiting::Stop;

/// Calls a tool for the running loop and returns the future of its result; if `server` is None, `tool` is a name in the
/// catalog.
#[pyfunction]
#[pyo3(signature = (manager, server, tool, arguments, options))]
pub(crate) fn call<'py>(
    manager: &Bound<'py, NativeManager>,
    server: Option<ServerName<'_>>,
    tool: ToolName<'_>,
    arguments: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let native = manager.get();
    let asking = native.asking(manager.py());
    if let Some(asking) = &asking {
        running(manager.py())?.1.get().stand_for(manager, asking)?;
    }
    let arguments = read_arguments(manager.py(), arguments)?;
    submit(&native.core, asking, reference(server.as_deref(), &tool), arguments, options)
}

/// Calls a tool of any manager for the running loop, as `call` does.
#[pyfunction]
#[pyo3(signature = (tool, arguments, options))]
pub(crate) fn call_for<'py>(
    tool: &Bound<'py, Tool>,
    arguments: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, tool) = (tool.py(), tool.get());
    let arguments = read_model_arguments(py, arguments)?;
    submit(tool.manager(py)?, tool.asking(py), tool.reference(), arguments, options)
}

/// Without a server, `tool` is a name in the catalog.
pub(crate) fn reference<'a>(server: Option<&'a str>, tool: &'a str) -> ToolRef<'a> {
    match server {
        Some(server) => ToolRef::Of { server, tool },
        None => ToolRef::Named(tool),
    }
}

fn submit<'py>(
    manager: &Manager,
    asking: Option<Asking>,
    tool: ToolRef<'_>,
    arguments: Arguments,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = options.py();
    let (event_loop, bridge) = running(py)?;
    let waiting = bridge.get();
    let future = event_loop.call_method0(intern!(py, "create_future"))?;
    let address = Address { mailbox: waiting.mailbox.clone(), key: waiting.key_of(&future) };
    let key = address.key;
    let (mut options, on_progress) = read_options(options)?;
    if on_progress.is_some() {
        let Address { mailbox, key } = address.clone();
        options.on_progress =
            Some(Arc::new(move |progress| mailbox.post(key, Letter::Progress(progress))));
    }
    let mut answers = asking.map(|asking| waiting.listen(key, asking));
    if let Some(answers) = answers.as_mut().filter(|answers| answers.asking.asks_callers()) {
        answers.context = Some(caller_context(py)?);
    }
    let handle = manager.submit(tool, arguments, options, address).or_raise(py)?;
    waiting.remember(key, &future, on_progress, Stop::Call(handle), answers);
    if waiting.mailbox.wants_flush_scheduled() {
        let flush = bridge.getattr(intern!(py, "flush"))?;
        event_loop.call_method1(intern!(py, "call_soon"), (flush,))?;
    }
    Ok(future)
}

/// A copy of the current context variables.
fn caller_context(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static COPY_CONTEXT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let copy = COPY_CONTEXT.import(py, "contextvars", "copy_context")?;
    copy.call0().map(Bound::unbind)
}

/// The arguments that a model wrote, as a dict; raises if they are none.
#[pyfunction]
pub(crate) fn parse_arguments<'py>(
    py: Python<'py>,
    text: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = Arguments::from_model(text).or_raise(py)?;
    json::parse(py, &String::from_utf8_lossy(&arguments.into_json()))
}

/// The arguments of a call: a mapping or None.
pub(crate) fn read_arguments(
    py: Python<'_>,
    arguments: Option<&Bound<'_, PyAny>>,
) -> PyResult<Arguments> {
    let Some(arguments) = arguments else { return Ok(Arguments::none()) };
    let json = json::write(arguments, ErrorKind::InvalidArguments)?;
    Arguments::from_writer(json).or_raise(py)
}

/// The arguments of an agent's call: as for any call, or text as a model wrote it.
pub(crate) fn read_model_arguments(
    py: Python<'_>,
    arguments: Option<&Bound<'_, PyAny>>,
) -> PyResult<Arguments> {
    let text = arguments.and_then(|arguments| arguments.cast::<PyString>().ok()?.to_str().ok());
    match text {
        Some(text) => Arguments::from_model(Some(text)).or_raise(py),
        None => read_arguments(py, arguments),
    }
}

/// The options of a call, and its function for progress.
pub(crate) fn read_options(
    options: &Bound<'_, PyDict>,
) -> PyResult<(CallOptions, Option<Py<PyAny>>)> {
    let (mut read, mut on_progress) = (CallOptions::default(), None);
    for (name, value) in options.iter() {
        let option = find_option(&name, CallOptions::OPTIONS.iter())?;
        if option.name == "on_progress" && value.is_callable() {
            value.py().import("mcpool._calls")?.call_method1("require_plain", (&value,))?;
            on_progress = Some(value.unbind());
        } else {
            set_option(&mut read, option, &value)?;
        }
    }
    Ok((read, on_progress))
}

fn set_option(
    options: &mut CallOptions,
    option: &OptionInfo,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    let given = match number(value).filter(|_| (option.kind)().is_time()) {
        Some(seconds) => Given::Value(seconds.into()),
        None => Given::Json(json::write_option(option.name, value, ErrorKind::InvalidArguments)?),
    };
    options.set_given(option, given, Language::Python).or_raise(value.py())
}

/// A timeout in seconds; None for no limit.
pub(crate) fn read_timeout(timeout: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    if timeout.is_none() {
        return Ok(None);
    }
    let seconds = number(timeout).unwrap_or(f64::NAN);
    CallOptions::read_timeout(seconds).or_raise(timeout.py()).map(Some)
}

/// The number, if it is one that JSON has: not a boolean, and nothing that only converts to a number.
fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    if let Ok(number) = value.cast::<PyFloat>() {
        return Some(number.value());
    }
    let is_whole = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
    value.extract().ok().filter(|_| is_whole)
}
