//! Owns the way between one event loop and the core: futures wait under a key, letters come back in batches.
//! Invariant: every method runs on the loop's own thread, and no future is kept once it is done or cancelled.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpool::{Address, Arguments, CallHandle, CallOptions, Letter, Mailbox, Progress, ToolRef};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::{OrRaise, restore};
use crate::json;
use crate::manager::{NativeEvents, NativeManager};
use crate::result::ToolResult;

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct Bridge {
    mailbox: Arc<Mailbox>,
    waiting: Mutex<HashMap<u64, Waiting>>,
}

struct Waiting {
    future: Py<PyAny>,
    on_progress: Option<Py<PyAny>>,
    stop: Stop,
}

/// How to stop what a future waits for.
enum Stop {
    Call(CallHandle),
    Task(tokio::task::AbortHandle),
}

#[pymethods]
impl Bridge {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Bridge { mailbox: Mailbox::new()?, waiting: Mutex::default() })
    }

    /// Readable while letters wait.
    fn fileno(&self) -> i32 {
        self.mailbox.descriptor().as_raw_fd()
    }

    /// Blocks until letters may wait.
    fn wait(&self, py: Python<'_>) {
        py.detach(|| self.mailbox.wait());
    }

    /// Finishes every future whose letter has come.
    fn drain(&self, py: Python<'_>) {
        for (key, letter) in self.mailbox.drain() {
            // One future's trouble must not cost the others their answers.
            if let Err(error) = self.deliver(py, key, letter) {
                error.write_unraisable(py, None);
            }
        }
    }

    /// Sends what was held back.
    fn flush(&self) {
        self.mailbox.flush();
    }

    /// The future was cancelled: stop what it waited for.
    fn cancel(&self, future: &Bound<'_, PyAny>) {
        let waiting = self.waiting().remove(&(future.as_ptr() as u64));
        match waiting.map(|waiting| waiting.stop) {
            Some(Stop::Call(handle)) => handle.cancel(),
            Some(Stop::Task(task)) => task.abort(),
            None => {}
        }
    }

    fn connect_all<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        manager: &Bound<'py, NativeManager>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let verb = manager.get().core.connect_all();
        self.start(event_loop, async move { verb.await.map(|report| to_json(&report)) })
    }

    fn connect<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        manager: &Bound<'py, NativeManager>,
        server: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.start(event_loop, done(manager.get().core.connect(server)))
    }

    fn wait_for<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        manager: &Bound<'py, NativeManager>,
        server: &str,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let limit = read_timeout(event_loop.py(), timeout)?;
        self.start(event_loop, done(manager.get().core.wait_for(server, limit)))
    }

    fn disconnect<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        manager: &Bound<'py, NativeManager>,
        server: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.start(event_loop, done(manager.get().core.disconnect(server)))
    }

    fn disconnect_all<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        manager: &Bound<'py, NativeManager>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let verb = manager.get().core.disconnect_all();
        self.start(
            event_loop,
            done(async move {
                verb.await;
                Ok(())
            }),
        )
    }

    fn close<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        manager: &Bound<'py, NativeManager>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let verb = manager.get().core.close();
        self.start(
            event_loop,
            done(async move {
                verb.await;
                Ok(())
            }),
        )
    }

    /// The next event as a dict, None at the end.
    fn next_event<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        events: &Bound<'py, NativeEvents>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let events = events.get().0.clone();
        self.start(event_loop, async move { Ok(to_json(&events.lock().await.next().await)) })
    }
}

/// Calls a tool for the running loop and gives the future of its result; `server` None means that `tool` is a name
/// of the catalog.
#[pyfunction]
#[pyo3(signature = (manager, server, tool, arguments, timeout, on_progress, meta))]
pub(crate) fn call<'py>(
    manager: &Bound<'py, NativeManager>,
    server: Option<&str>,
    tool: &str,
    arguments: Option<&Bound<'py, PyAny>>,
    timeout: Option<f64>,
    on_progress: Option<Py<PyAny>>,
    meta: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = manager.py();
    let (event_loop, bridge) = running(py)?;
    let waiting = bridge.get();
    let future = event_loop.call_method0(intern!(py, "create_future"))?;
    let address = Address { mailbox: waiting.mailbox.clone(), key: future.as_ptr() as u64 };
    let arguments = read_arguments(py, arguments)?;
    let mut options = read_options(py, timeout, meta)?;
    if on_progress.is_some() {
        let Address { mailbox, key } = address.clone();
        options.on_progress =
            Some(Box::new(move |progress| mailbox.post(key, Letter::Progress(progress))));
    }
    let tool = match server {
        Some(server) => ToolRef::Of { server, tool },
        None => ToolRef::Named(tool),
    };
    let handle = manager.get().core.submit(tool, arguments, options, address).or_raise(py)?;
    waiting.remember(&future, on_progress, Stop::Call(handle));
    if waiting.mailbox.wants_flush_scheduled() {
        let flush = bridge.getattr(intern!(py, "flush"))?;
        event_loop.call_method1(intern!(py, "call_soon"), (flush,))?;
    }
    Ok(future)
}

/// The running loop and its bridge, remembered per thread.
fn running(py: Python<'_>) -> PyResult<(Bound<'_, PyAny>, Bound<'_, Bridge>)> {
    static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    thread_local! {
        static LAST: RefCell<Option<(Py<PyAny>, Py<Bridge>)>> = const { RefCell::new(None) };
    }
    let event_loop = GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
    let known = LAST.with_borrow(|last| {
        let (of, bridge) = last.as_ref()?;
        of.is(&event_loop).then(|| bridge.clone_ref(py))
    });
    let bridge = match known {
        Some(bridge) => bridge,
        None => {
            let bridge = py
                .import("mcpool._loop")?
                .call_method1("bridge_of", (&event_loop,))?
                .cast_into::<Bridge>()?
                .unbind();
            let now = Some((event_loop.clone().unbind(), bridge.clone_ref(py)));
            // Dropped outside the borrow: an old loop's end may run any code.
            let before = LAST.replace(now);
            drop(before);
            bridge
        }
    };
    Ok((event_loop, bridge.into_bound(py)))
}

impl Bridge {
    /// Starts a verb of the core; its answer will be the future's result.
    fn start<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        verb: impl Future<Output = mcpool::Result<String>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let future = event_loop.call_method0(intern!(event_loop.py(), "create_future"))?;
        let (mailbox, key) = (self.mailbox.clone(), future.as_ptr() as u64);
        let task = mcpool::runtime::spawn(async move {
            let letter = verb.await.map_or_else(Letter::Failed, Letter::Json);
            mailbox.post(key, letter);
        });
        self.remember(&future, None, Stop::Task(task.abort_handle()));
        Ok(future)
    }

    fn remember(&self, future: &Bound<'_, PyAny>, on_progress: Option<Py<PyAny>>, stop: Stop) {
        let waiting = Waiting { future: future.clone().unbind(), on_progress, stop };
        self.waiting().insert(future.as_ptr() as u64, waiting);
    }

    fn deliver(&self, py: Python<'_>, key: u64, letter: Letter) -> PyResult<()> {
        if let Letter::Progress(progress) = &letter {
            let told = self
                .waiting()
                .get(&key)
                .and_then(|waiting| waiting.on_progress.as_ref().map(|told| told.clone_ref(py)));
            if let Some(told) = told {
                // A callback that raises must not cost the call.
                if let Err(error) = tell(py, &told, progress) {
                    error.write_unraisable(py, None);
                }
            }
            return Ok(());
        }
        let Some(Waiting { future, .. }) = self.waiting().remove(&key) else { return Ok(()) };
        let future = future.into_bound(py);
        let answer = match letter {
            Letter::Result(result) => Bound::new(py, ToolResult::new(result)).map(Bound::into_any),
            Letter::Json(text) => json::parse(py, &text),
            Letter::Failed(error) => Err(restore(py, &error)),
            Letter::Progress(_) => return Ok(()),
        };
        let told = match answer {
            Ok(value) => future.call_method1(intern!(py, "set_result"), (value,)),
            Err(error) => future.call_method1(intern!(py, "set_exception"), (error,)),
        };
        match told {
            // Cancelled in the same turn: there is nobody to tell.
            Err(_) if future.call_method0(intern!(py, "done"))?.is_truthy()? => Ok(()),
            told => told.map(drop),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(py: Python<'_>, told: &Py<PyAny>, progress: &Progress) -> PyResult<()> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.import(py, "mcpool._types", "Progress")?;
    let progress = class.call1((progress.progress, progress.total, progress.message.as_deref()))?;
    told.call1(py, (progress,)).map(drop)
}

async fn done(verb: impl Future<Output = mcpool::Result<()>> + Send) -> mcpool::Result<String> {
    verb.await.map(|()| "null".to_owned())
}

fn to_json(value: &impl serde::Serialize) -> String {
    // The core's own types serialise; anything else would be a mistake of ours.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

pub(crate) fn read_arguments(
    py: Python<'_>,
    arguments: Option<&Bound<'_, PyAny>>,
) -> PyResult<Arguments> {
    match arguments {
        None => Ok(Arguments::none()),
        Some(arguments) => Arguments::from_writer(json::write(arguments)?).or_raise(py),
    }
}

pub(crate) fn read_options(
    py: Python<'_>,
    timeout: Option<f64>,
    meta: Option<&Bound<'_, PyAny>>,
) -> PyResult<CallOptions> {
    let meta = match meta {
        None => None,
        Some(meta) => Some(CallOptions::read_meta(&json::write(meta)?).or_raise(py)?),
    };
    Ok(CallOptions { timeout: read_timeout(py, timeout)?, meta, on_progress: None })
}

pub(crate) fn read_timeout(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    seconds.map(|seconds| CallOptions::read_timeout(seconds).or_raise(py)).transpose()
}
