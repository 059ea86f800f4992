//! Owns the bridge between one event loop and the core: futures wait under a key, letters come back in batches.
//! Invariant: every method runs on the loop's own thread, and no future is kept once it is done or cancelled.

use std::cell::RefCell;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcpool::host::{Letter, Mailbox, RawDescriptor};
use mcpool::{Progress, Question};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::{OrRaise, restore};
use crate::json;
use crate::manager::NativeManager;
use crate::question::{Asking, hand_over};
use crate::result::ToolResult;
use crate::standing::StandingTable;
use crate::waiting::{Answers, Stop, Table, Waiting};

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct Bridge {
    pub(crate) mailbox: Arc<Mailbox>,
    waiting: Table,
    standing: StandingTable,
}

#[pymethods]
impl Bridge {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Bridge {
            mailbox: Mailbox::new().or_raise(py)?,
            waiting: Table::default(),
            standing: StandingTable::default(),
        })
    }

    /// Whether it was inherited through a fork: its loop needs another one here.
    fn is_inherited(&self) -> bool {
        self.mailbox.is_inherited()
    }

    /// Readable while there are letters.
    fn fileno(&self) -> RawDescriptor {
        self.mailbox.descriptor()
    }

    /// Blocks until there may be letters, or for this many seconds; returns which of the two happened.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.mailbox.wait(Duration::from_secs_f64(seconds)))
    }

    /// Finishes every future whose letter has arrived.
    fn drain(&self, py: Python<'_>) {
        for (key, letter) in self.mailbox.drain() {
            // An error of one future must not affect the others.
            if let Err(error) = self.deliver(py, key, letter) {
                error.write_unraisable(py, None);
            }
        }
    }

    /// Sends the messages held back.
    fn flush(&self) {
        self.mailbox.flush();
    }

    /// The future was cancelled: stops the work behind it.
    fn cancel(&self, future: &Bound<'_, PyAny>) {
        // The work runs in another process.
        if self.is_inherited() {
            return;
        }
        let waiting = self.waiting.remove_future(future);
        let Some(Waiting { stop, answers, .. }) = waiting else { return };
        match stop {
            Stop::Call(handle) => handle.cancel(),
            Stop::Task(Some(task)) => task.abort(),
            Stop::Task(None) => {}
        }
        cancel_questions(future.py(), answers);
    }
}

impl Bridge {
    /// Starts a verb of the core; its answer becomes the future's result. `asking` answers the core's questions in the
    /// meantime, so the verb is created only after the listener.
    pub(crate) fn start<'py, V>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        asking: Option<Asking>,
        verb: impl FnOnce() -> V,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        V: Future<Output = mcpool::Result<String>> + Send + 'static,
    {
        let future = event_loop.call_method0(intern!(event_loop.py(), "create_future"))?;
        let key = self.key_of(&future);
        let answers = asking.map(|asking| self.listen(key, asking));
        let task = self.mailbox.start(key, verb());
        self.remember(key, &future, None, Stop::Task(task), answers);
        Ok(future)
    }

    /// From now on this loop answers the manager's questions also while nobody waits for it.
    pub(crate) fn stand_for(
        &self,
        manager: &Bound<'_, NativeManager>,
        asking: &Asking,
    ) -> PyResult<()> {
        let standing = &manager.get().standing;
        if let Some(questions) = &asking.questions
            && !standing.is_for(&self.mailbox)
        {
            let key = self.waiting.new_key(manager.as_any());
            self.standing.insert(key, manager)?;
            standing.register(questions, &self.mailbox, key);
        }
        Ok(())
    }

    pub(crate) fn listen(&self, key: u64, asking: Asking) -> Answers {
        let mailbox = self.mailbox.clone();
        let listening =
            asking.listen(move |question| mailbox.post(key, Letter::Question(question)));
        let (tasks, about_the_call) = (vec![], vec![]);
        Answers { asking, context: None, tasks, about_the_call, _listening: listening }
    }

    pub(crate) fn key_of(&self, future: &Bound<'_, PyAny>) -> u64 {
        self.waiting.new_key(future)
    }

    pub(crate) fn remember(
        &self,
        key: u64,
        future: &Bound<'_, PyAny>,
        on_progress: Option<Py<PyAny>>,
        stop: Stop,
        answers: Option<Answers>,
    ) {
        let future = future.clone().unbind();
        self.waiting.insert(Waiting { key, future, on_progress, stop, answers });
    }

    fn answer(&self, py: Python<'_>, key: u64, question: &Question) -> PyResult<()> {
        let found = self.answers_of(key, |answers| {
            let context = answers.context.as_ref().map(|context| context.clone_ref(py));
            (answers.asking.clone_ref(py), context)
        });
        // It is for a manager, or the waiter is gone: then the question went to other listeners, or has ended.
        let Some((asking, context)) = found else { return self.standing.answer(py, key, question) };
        if let Some(task) = hand_over(py, question, &asking, "answer_later", context.as_ref())? {
            let task = task.unbind();
            self.answers_of(key, |answers| match question.kind() {
                "approval" | "identity" => answers.about_the_call.push(task),
                _ => answers.tasks.push(task),
            });
        }
        Ok(())
    }

    fn answers_of<T>(&self, key: u64, look: impl FnOnce(&mut Answers) -> T) -> Option<T> {
        self.waiting.with(key, |waiting| waiting.answers.as_mut().map(look)).flatten()
    }

    fn deliver(&self, py: Python<'_>, key: u64, letter: Letter) -> PyResult<()> {
        if let Letter::Progress(progress) = &letter {
            let on_progress = self.waiting.with(key, |waiting| {
                waiting.on_progress.as_ref().map(|function| function.clone_ref(py))
            });
            // A callback that raises must not fail the call.
            if let Some(function) = on_progress.flatten()
                && let Err(error) = report_progress(py, &function, progress)
            {
                error.write_unraisable(py, None);
            }
            return Ok(());
        }
        if let Letter::Question(question) = &letter {
            return self.answer(py, key, question);
        }
        let Some(Waiting { future, answers, .. }) = self.waiting.remove(key) else {
            return Ok(());
        };
        cancel_questions(py, answers);
        let future = future.bind(py);
        let answer = match letter {
            Letter::Result(result) => Bound::new(py, ToolResult::new(result)).map(Bound::into_any),
            Letter::Json(text) => json::parse(py, &text),
            Letter::Failed(error) => Err(restore(py, &error)),
            Letter::Progress(_) | Letter::Question(_) => return Ok(()),
        };
        let settled = match answer {
            Ok(value) => future.call_method1(intern!(py, "set_result"), (value,)),
            Err(error) => future.call_method1(intern!(py, "set_exception"), (error,)),
        };
        match settled {
            // Cancelled in the same iteration of the loop.
            Err(_) if future.call_method0(intern!(py, "done"))?.is_truthy()? => Ok(()),
            settled => settled.map(drop),
        }
    }
}

/// Cancels the open questions about a call.
fn cancel_questions(py: Python<'_>, answers: Option<Answers>) {
    for task in answers.into_iter().flat_map(|answers| answers.about_the_call) {
        // Has no effect on a finished task.
        if let Err(error) = task.call_method0(py, intern!(py, "cancel")) {
            error.write_unraisable(py, None);
        }
    }
}

pub(crate) fn report_progress(
    py: Python<'_>,
    function: &Py<PyAny>,
    progress: &Progress,
) -> PyResult<()> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.import(py, "mcpool._calls", "Progress")?;
    let progress = class.call1((progress.progress, progress.total, progress.message.as_deref()))?;
    function.call1(py, (progress,)).map(drop)
}

/// The error of an async verb where no loop of asyncio runs.
fn no_loop(py: Python<'_>) -> PyResult<PyErr> {
    let error = py.import("mcpool._bridge")?.call_method0("no_loop")?;
    Ok(PyErr::from_value(error))
}

/// The running loop and its bridge, cached per thread.
pub(crate) fn running(py: Python<'_>) -> PyResult<(Bound<'_, PyAny>, Bound<'_, Bridge>)> {
    static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    thread_local! {
        static LAST: RefCell<Option<(Py<PyAny>, Py<Bridge>)>> = const { RefCell::new(None) };
    }
    let event_loop = GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0();
    let event_loop = event_loop.or_else(|_| Err(no_loop(py)?))?;
    let known = LAST.with_borrow(|last| {
        let (of, bridge) = last.as_ref()?;
        let usable = of.is(&event_loop) && !bridge.get().is_inherited();
        usable.then(|| bridge.clone_ref(py))
    });
    let bridge = match known {
        Some(bridge) => bridge,
        None => {
            let bridge = py
                .import("mcpool._bridge")?
                .call_method1("bridge_of", (&event_loop,))?
                .cast_into::<Bridge>()?
                .unbind();
            let now = Some((event_loop.clone().unbind(), bridge.clone_ref(py)));
            // Dropped outside of the borrow: dropping an old loop may run any code.
            let before = LAST.replace(now);
            drop(before);
            bridge
        }
    };
    Ok((event_loop, bridge.into_bound(py)))
}
