//! Owns waiting on a thread without an event loop: without the interpreter's lock, and Ctrl-C works meanwhile. In a
//! greenlet, the hub runs meanwhile.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcpool::host::runtime;
use mcpool::{CallOptions, Manager, Progress, Question};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::bridge::report_progress;
use crate::errors::{OrRaise, restore};
use crate::greenlets::{GreenletWait, run_blocking};
use crate::loaded::loaded_module;
use crate::manager::NativeManager;
use crate::question::{Asking, hand_over};

pub(crate) mod verbs;

const SIGNAL_CHECK: Duration = Duration::from_millis(50);
/// How much progress waits for a slow function.
const MAX_PROGRESS: usize = 1024;

/// Waits for a verb without questions.
pub(crate) fn wait<T: Send>(py: Python<'_>, verb: impl Future<Output = T> + Send) -> PyResult<T> {
    wait_and_answer(py, None, |_| verb)
}

/// Waits for a verb that ends servers.
fn wait_for_end<T: Send, V>(
    manager: &Bound<'_, NativeManager>,
    verb: impl FnOnce(&Manager) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let (py, manager) = (manager.py(), manager.get());
    let asking = manager.asking(py).and_then(Asking::for_ending);
    wait_and_answer(py, asking, |_| verb(&manager.core))
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

/// Same for a call, which may need approval or an identity, and may report progress.
fn wait_for_call<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    (mut options, on_progress): (CallOptions, Option<Py<PyAny>>),
    call: impl FnOnce(CallOptions) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let asks = asking.as_ref().is_some_and(Asking::asks_callers);
    let reports = on_progress.map(|function| (Arc::<ProgressQueue>::default(), function));
    let queue = reports.as_ref().map(|(queue, _)| queue.clone());
    wait_and_report(py, asking, reports, |sender| {
        if let Some(queue) = queue {
            let sender = sender.clone();
            options.on_progress = Some(Arc::new(move |progress| {
                if queue.push(progress) {
                    let _ = sender.send(Note::Progress);
                }
            }));
        }
        if asks {
            options.on_question =
                Some(Arc::new(move |question| drop(sender.send(Note::Question(question)))));
        }
        call(options)
    })
}

/// Waits for announced tools if a framework has to ask a person about them.
pub(crate) fn wait_for_tools_to_approve(py: Python<'_>, manager: &Manager) -> PyResult<()> {
    if !manager.requires_framework_approval() {
        return Ok(());
    }
    wait_for_announced_tools(py, manager)
}

/// Waits for the tools that servers have announced, for a bounded time.
pub(crate) fn wait_for_announced_tools(py: Python<'_>, manager: &Manager) -> PyResult<()> {
    manager.check_process().or_raise(py)?;
    if !manager.has_announced_tools() {
        return Ok(());
    }
    let manager = manager.clone();
    run_blocking(py, move || manager.await_announced_tools())
}

fn wait_and_answer<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    verb: impl FnOnce(UnboundedSender<Note>) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    wait_and_report(py, asking, None, verb)
}

fn wait_and_report<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    reports: Option<(Arc<ProgressQueue>, Py<PyAny>)>,
    verb: impl FnOnce(UnboundedSender<Note>) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let greenlet = GreenletWait::new(py)?;
    if greenlet.is_none() {
        warn_inside_loop(py)?;
    }
    let (sender, mut notes) = unbounded_channel();
    let answers = asking.map(|asking| {
        let sender = sender.clone();
        let listening = asking.listen(move |question| drop(sender.send(Note::Question(question))));
        (asking, listening)
    });
    // On the heap: the stack of a greenlet moves.
    let mut verb = Box::pin(verb(sender));
    if let Err(error) = runtime::start() {
        // A manager that never started a runtime can still be closed.
        let mut context = Context::from_waker(Waker::noop());
        return match verb.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => Ok(outcome),
            Poll::Pending => Err(restore(py, &error)),
        };
    }
    loop {
        let slice = match &greenlet {
            Some(greenlet) => greenlet.until(|context| match verb.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(Slice::Ended(outcome)),
                Poll::Pending => match notes.poll_recv(context) {
                    Poll::Ready(Some(note)) => Poll::Ready(Slice::Noted(note)),
                    _ => Poll::Pending,
                },
            })?,
            None => py.detach(|| {
                runtime::block_on(async {
                    tokio::select! {
                        biased;
                        outcome = &mut verb => Slice::Ended(outcome),
                        Some(note) = notes.recv() => Slice::Noted(note),
                        () = tokio::time::sleep(SIGNAL_CHECK) => Slice::Over,
                    }
                })
            }),
        };
        match (slice, &answers) {
            (Slice::Ended(outcome), _) => {
                deliver_progress(py, reports.as_ref())?;
                return Ok(outcome);
            }
            (Slice::Noted(Note::Progress), _) => deliver_progress(py, reports.as_ref())?,
            (Slice::Noted(Note::Question(question)), Some((asking, _))) => {
                hand_over(py, &question, asking, "answer_now", None)?;
            }
            _ => py.check_signals()?,
        }
    }
}

/// What came first.
enum Slice<T> {
    Ended(T),
    Noted(Note),
    Over,
}

/// What the waiting thread has to do meanwhile.
enum Note {
    Question(Question),
    /// There is progress in the queue.
    Progress,
}

/// The progress that the function has not got yet. Of a flood, the newest replaces the one before it.
#[derive(Default)]
struct ProgressQueue(Mutex<VecDeque<Progress>>);

impl ProgressQueue {
    /// Returns whether the waiting thread has to be told.
    fn push(&self, progress: Progress) -> bool {
        let mut queue = self.lock();
        if queue.len() >= MAX_PROGRESS {
            queue.pop_back();
        }
        queue.push_back(progress);
        queue.len() == 1
    }

    fn take(&self) -> VecDeque<Progress> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deliver_progress(
    py: Python<'_>,
    reports: Option<&(Arc<ProgressQueue>, Py<PyAny>)>,
) -> PyResult<()> {
    let Some((queue, function)) = reports else { return Ok(()) };
    for progress in queue.take() {
        match report_progress(py, function, &progress) {
            Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
            // A function that fails must not fail the call.
            Err(error) => error.write_unraisable(py, None),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Warns if a loop of asyncio or trio runs on this thread, which stands still while a verb blocks.
fn warn_inside_loop(py: Python<'_>) -> PyResult<()> {
    if loaded_module(py, intern!(py, "trio"))?.is_some() {
        py.import("mcpool._bridge")?.call_method0("warn_inside_trio")?;
    }
    let Some(events) = loaded_module(py, intern!(py, "asyncio.events"))? else { return Ok(()) };
    // asyncio may be in the middle of its own import.
    let Ok(running) = events.getattr(intern!(py, "_get_running_loop")) else { return Ok(()) };
    if running.call0()?.is_none() {
        return Ok(());
    }
    py.import("mcpool._bridge")?.call_method0("warn_inside_loop").map(drop)
}
