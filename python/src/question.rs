//! Owns passing the core's questions to Python and the answers back. Python and the core interpret them.

use std::sync::{Mutex, PoisonError};

use mcpool::host::{Listening, Questions, Taken};
use mcpool::{ErrorKind, Question};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyTraverseError, PyVisit};

use crate::json;

/// The functions that answer a manager's questions, and the queue of those that no call asks.
pub(crate) struct Asking {
    /// Set if there is a function whose questions no call asks.
    pub(crate) questions: Option<Questions>,
    /// The functions, by the kind of their questions.
    pub(crate) functions: Vec<(&'static str, Py<PyAny>)>,
    /// It answers only if no verb does.
    pub(crate) watches: bool,
}

impl Asking {
    /// Listens for questions to any listener, until the guard is dropped.
    pub(crate) fn listen(
        &self,
        on_question: impl Fn(Question) + Send + 'static,
    ) -> Option<Listening> {
        let questions = self.questions.as_ref()?;
        Some(if self.watches {
            questions.listen_meanwhile(on_question)
        } else {
            questions.listen(on_question)
        })
    }

    fn function(&self, kind: &str) -> Option<&Py<PyAny>> {
        self.functions.iter().find(|(of, _)| *of == kind).map(|(_, function)| function)
    }

    /// For verbs that end servers: their logins may have to be kept, but nobody is asked anything else.
    pub(crate) fn for_ending(mut self) -> Option<Asking> {
        self.functions.retain(|(kind, _)| *kind == "login_store");
        (!self.functions.is_empty()).then_some(self)
    }

    /// Whether calls ask something, themselves or by their server.
    pub(crate) fn asks_callers(&self) -> bool {
        const KINDS: [&str; 4] = ["approval", "identity", "sampling", "elicitation"];
        self.functions.iter().any(|(kind, _)| KINDS.contains(kind))
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Asking {
        let functions = self.functions.iter();
        let functions = functions.map(|(kind, function)| (*kind, function.clone_ref(py)));
        let questions = self.questions.clone();
        Asking { questions, functions: functions.collect(), watches: self.watches }
    }
}

/// The callbacks kept by an object. A callback may refer to the object, so the garbage collector has to see it.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<Asking>>);

impl Kept {
    pub(crate) fn new(asking: Option<Asking>) -> Kept {
        Kept(Mutex::new(asking))
    }

    pub(crate) fn get(&self, py: Python<'_>) -> Option<Asking> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map(|asking| asking.clone_ref(py))
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(kept) => kept.as_ref().map_or(Ok(()), |asking| {
                asking.functions.iter().try_for_each(|(_, function)| visit.call(function))
            }),
            // It is in use, so it is not garbage.
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn clear(&self) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(kept);
    }
}

/// A question that Python is answering; dropping it makes it open again.
#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeQuestion(Mutex<Option<Taken>>);

#[pymethods]
impl NativeQuestion {
    /// What is asked: a `kind`, and what belongs to it.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let text = self.lock().as_ref().map(|taken| taken.text().to_owned());
        text.map(|text| json::parse(py, &text)).transpose()
    }

    /// Answers; only the first answer counts.
    fn answer(&self, yes: bool) {
        self.reply(if yes { "true" } else { "false" });
    }

    /// Answers with what becomes JSON; a value that cannot is an error.
    fn give(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let text = json::write(value, ErrorKind::InvalidArguments)?;
        self.reply(&String::from_utf8_lossy(&text));
        Ok(())
    }

    /// There is no answer; the log has the reason.
    fn fail(&self) {
        self.reply("null");
    }

    /// Whether the answer is still awaited.
    fn is_wanted(&self) -> bool {
        self.lock().as_ref().is_some_and(Taken::is_wanted)
    }
}

impl NativeQuestion {
    fn reply(&self, json: &str) {
        let taken = self.lock().take();
        if let Some(taken) = taken {
            taken.answer(json);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Taken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes a question to `answering` of `mcpool._questions`, unless it is taken already; returns what that returns. The
/// callback runs in `context`, the variables of the caller.
pub(crate) fn hand_over<'py>(
    py: Python<'py>,
    question: &Question,
    asking: &Asking,
    answering: &str,
    context: Option<&Py<PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let Some(callback) = asking.function(question.kind()) else { return Ok(None) };
    let Some(taken) = question.take() else { return Ok(None) };
    let module =
        MODULE.get_or_try_init(py, || py.import("mcpool._questions").map(Bound::unbind))?;
    let question = Bound::new(py, NativeQuestion(Mutex::new(Some(taken))))?;
    module.bind(py).call_method1(answering, (question, callback, context)).map(Some)
}
