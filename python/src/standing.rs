//! Answers a manager's questions while nobody waits for one of its methods, on the loop that used it last.
//! Invariant: it keeps neither the manager nor its functions alive, and its listener ends with the manager.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mcpool::Question;
use mcpool::host::{Letter, Listening, Mailbox, Questions};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use crate::manager::NativeManager;
use crate::question::hand_over;

/// The listener of one manager.
#[derive(Default)]
pub(crate) struct StandingListener(Mutex<Option<Registered>>);

struct Registered {
    mailbox: Weak<Mailbox>,
    _listening: Listening,
}

impl StandingListener {
    /// Whether it listens for the loop of this mailbox.
    pub(crate) fn is_for(&self, mailbox: &Arc<Mailbox>) -> bool {
        let registered = lock(&self.0);
        registered.as_ref().is_some_and(|it| it.mailbox.as_ptr() == Arc::as_ptr(mailbox))
    }

    /// Listens for the loop of this mailbox from now on: questions come as letters for `key`.
    pub(crate) fn register(&self, questions: &Questions, mailbox: &Arc<Mailbox>, key: u64) {
        let mailbox = Arc::downgrade(mailbox);
        let to = mailbox.clone();
        let listening = questions.listen_if_alone(move |question| {
            // The question stays open if the loop is gone.
            if let Some(mailbox) = to.upgrade() {
                mailbox.post(key, Letter::Question(question));
            }
        });
        let before = lock(&self.0).replace(Registered { mailbox, _listening: listening });
        drop(before);
    }
}

/// The managers that a loop answers for, by key.
#[derive(Default)]
pub(crate) struct StandingTable(Mutex<HashMap<u64, Standing>>);

struct Standing {
    manager: Py<PyWeakrefReference>,
    /// Kept so that no task is collected while it waits for an answer.
    tasks: Vec<Py<PyAny>>,
}

impl StandingTable {
    pub(crate) fn insert(&self, key: u64, manager: &Bound<'_, NativeManager>) -> PyResult<()> {
        let py = manager.py();
        let manager = PyWeakrefReference::new(manager.as_any())?.unbind();
        let mut table = lock(&self.0);
        // Only if the table is full, so that many managers cost no more than few.
        if table.len() == table.capacity() {
            table.retain(|_, standing| standing.manager.bind(py).upgrade().is_some());
        }
        table.insert(key, Standing { manager, tasks: Vec::new() });
        Ok(())
    }

    /// Passes a question to the manager's functions.
    pub(crate) fn answer(&self, py: Python<'_>, key: u64, question: &Question) -> PyResult<()> {
        let manager = lock(&self.0).get(&key).map(|standing| standing.manager.clone_ref(py));
        let manager = manager.and_then(|manager| manager.bind(py).upgrade());
        let Some(manager) = manager else { return Ok(()) };
        let Some(asking) = manager.cast::<NativeManager>()?.get().asking(py) else {
            return Ok(());
        };
        let Some(task) = hand_over(py, question, &asking, "answer_later", None)? else {
            return Ok(());
        };
        // Asked without the lock, since that runs Python.
        let tasks = lock(&self.0).get_mut(&key).map(|standing| std::mem::take(&mut standing.tasks));
        let mut waiting = vec![task.unbind()];
        for task in tasks.into_iter().flatten() {
            if !task.bind(py).call_method0(intern!(py, "done"))?.is_truthy()? {
                waiting.push(task);
            }
        }
        if let Some(standing) = lock(&self.0).get_mut(&key) {
            standing.tasks.extend(waiting);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
