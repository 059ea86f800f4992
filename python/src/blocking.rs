//! Owns waiting on a thread without an event loop: without the interpreter's lock, and Ctrl-C works meanwhile.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcpool::{CallOptions, Manager, Question};
use pyo3::prelude::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::errors::restore;
use crate::manager::NativeManager;
use crate::question::{Asking, hand_over};

pub(crate) mod verbs;

const SIGNAL_CHECK: Duration = Duration::from_millis(50);

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

/// Same for a call, which may need approval or an identity.
fn wait_for_call<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    mut options: CallOptions,
    call: impl FnOnce(CallOptions) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let asks = asking.as_ref().is_some_and(Asking::asks_callers);
    wait_and_answer(py, asking, |sender| {
        if asks {
            options.on_question = Some(Arc::new(move |question| drop(sender.send(question))));
        }
        call(options)
    })
}

fn wait_and_answer<T: Send, V>(
    py: Python<'_>,
    asking: Option<Asking>,
    verb: impl FnOnce(UnboundedSender<Question>) -> V,
) -> PyResult<T>
where
    V: Future<Output = T> + Send,
{
    let (sender, mut questions) = unbounded_channel();
    let answers = asking.map(|asking| {
        let sender = sender.clone();
        let listening = asking.listen(move |question| drop(sender.send(question)));
        (asking, listening)
    });
    let mut verb = pin!(verb(sender));
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
                    Some(question) = questions.recv() => Slice::Asked(question),
                    () = tokio::time::sleep(SIGNAL_CHECK) => Slice::Over,
                }
            })
        });
        match (slice, &answers) {
            (Slice::Ended(outcome), _) => return Ok(outcome),
            (Slice::Asked(question), Some((asking, _))) => {
                hand_over(py, &question, asking, "answer_now", None)?;
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
