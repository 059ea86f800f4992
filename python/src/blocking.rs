//! Owns the verbs of `mcpool.blocking`: the thread waits without the interpreter's lock, and Ctrl-C works meanwhile.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcpool::{CallOptions, Manager, Question};
use pyo3::prelude::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::calls::{Limits, read_arguments, read_options, read_timeout};
use crate::errors::{OrRaise, restore};
use crate::json;
use crate::manager::{NativeEvents, NativeManager};
use crate::options::read_config;
use crate::question::{Asking, hand_over};
use crate::result::ToolResult;
use crate::tool::Tool;
use crate::verbs::reload_to;

const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Waits for a verb without questions.
pub(crate) fn wait<T: Send>(py: Python<'_>, verb: impl Future<Output = T> + Send) -> PyResult<T> {
    wait_and_answer(py, None, |_| verb)
}

/// Waits for a verb that may start servers; the manager's questions are answered on this thread.
fn wait_on<T: Send, V>(
    manager: &Bound<'_, NativeManager>,
    verb: impl FnOnce(&Manager) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let (py, manager) = (manager.py(), manager.get());
    wait_and_answer(py, manager.asking(py), |_| verb(&manager.core))
}

/// Same for a call, which may need approval.
fn wait_for_call<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    mut options: CallOptions,
    call: impl FnOnce(CallOptions) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let asks = asking.as_ref().is_some_and(|asking| asking.approval.is_some());
    wait_and_answer(py, asking, |tell| {
        if asks {
            options.on_question = Some(Arc::new(move |question| drop(tell.send(question))));
        }
        call(options)
    })
}

/// Calls a tool of any manager.
#[pyfunction]
#[pyo3(signature = (tool, arguments, timeout, max_total_timeout, retry, meta))]
pub(crate) fn block_call_for(
    tool: &Bound<'_, Tool>,
    arguments: Option<&Bound<'_, PyAny>>,
    timeout: Option<f64>,
    max_total_timeout: Option<f64>,
    retry: Option<&str>,
    meta: Option<&Bound<'_, PyAny>>,
) -> PyResult<ToolResult> {
    let (py, tool) = (tool.py(), tool.get());
    let arguments = read_arguments(py, arguments)?;
    let options = read_options(py, Limits { timeout, max_total_timeout, retry }, meta)?;
    let (server, raw_name) = (tool.of().server(), tool.of().raw_name());
    let call = |options| tool.manager().call_tool(server, raw_name, arguments, options);
    wait_for_call(py, tool.asking(py), options, call)?.or_raise(py).map(ToolResult::new)
}

fn wait_and_answer<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    verb: impl FnOnce(UnboundedSender<Question>) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let (tell, mut asked) = unbounded_channel();
    let answers = asking.map(|asking| {
        let tell = tell.clone();
        let listening = asking.listen(move |question| drop(tell.send(question)));
        (asking, listening)
    });
    let mut verb = pin!(verb(tell));
    if let Err(error) = mcpool::host::runtime::start() {
        // A manager that never started a runtime can still be closed.
        let mut context = Context::from_waker(Waker::noop());
        return match verb.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => Ok(outcome),
            Poll::Pending => Err(restore(py, &error)),
        };
    }
    loop {
        let slice = py.detach(|| {
            mcpool::host::runtime::block_on(async {
                tokio::select! {
                    biased;
                    outcome = &mut verb => Slice::Ended(outcome),
                    Some(question) = asked.recv() => Slice::Asked(question),
                    () = tokio::time::sleep(SIGNAL_CHECK) => Slice::Over,
                }
            })
        });
        match (slice, &answers) {
            (Slice::Ended(outcome), _) => return Ok(outcome),
            (Slice::Asked(question), Some((asking, _))) => {
                hand_over(py, &question, asking, "answer_now")?;
            }
            _ => py.check_signals()?,
        }
    }
}

/// What came first.
enum Slice<T> {
    Ended(T),
    Asked(Question),
    Over,
}

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
    server: &str,
) -> PyResult<()> {
    wait_on(manager, |core| core.connect(server))?.or_raise(py)
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
    wait_on(manager, |core| core.wait_for(server, limit))?.or_raise(py)
}

/// Calls a tool; if `server` is None, `tool` is a name in the catalog.
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
    let options = read_options(py, Limits { timeout, max_total_timeout, retry }, meta)?;
    let (core, asking) = (&manager.get().core, manager.get().asking(py));
    let outcome = match server {
        Some(server) => wait_for_call(py, asking, options, |options| {
            core.call_tool(server, tool, arguments, options)
        })?,
        None => wait_for_call(py, asking, options, |options| core.call(tool, arguments, options))?,
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
    let report = wait_on(manager, |core| reload_to(core.clone(), config))?.or_raise(py)?;
    json::from_serialize(py, &report)
}

#[pyfunction]
#[pyo3(signature = (manager, server, tool))]
pub(crate) fn block_accept_drift(
    py: Python<'_>,
    manager: &Bound<'_, NativeManager>,
    server: &str,
    tool: Option<&str>,
) -> PyResult<Vec<String>> {
    wait(py, manager.get().core.accept_drift(server, tool))?.or_raise(py)
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
pub(crate) fn block_disconnect_all(manager: &Bound<'_, NativeManager>) -> PyResult<()> {
    wait(manager.py(), manager.get().core.disconnect_all())
}

#[pyfunction]
pub(crate) fn block_close(manager: &Bound<'_, NativeManager>) -> PyResult<()> {
    wait(manager.py(), manager.get().core.close())
}

/// Waits until there are events to take; False at the end, or when `timeout` seconds have passed.
#[pyfunction]
#[pyo3(signature = (events, timeout))]
pub(crate) fn block_events_ready(
    py: Python<'_>,
    events: &Bound<'_, NativeEvents>,
    timeout: Option<f64>,
) -> PyResult<bool> {
    let limit = read_timeout(py, timeout)?;
    let stream = events.get().stream.clone();
    let ready = |_| async move {
        match limit {
            Some(limit) => tokio::time::timeout(limit, stream.ready()).await.unwrap_or(false),
            None => stream.ready().await,
        }
    };
    wait_and_answer(py, events.get().asking(py), ready)
}
