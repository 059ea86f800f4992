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
use crate::waiting::address_of;

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
        let listening = questions.listen_meanwhile(move |question| {
            // The question stays open if the loop is gone.
            if let Some(mailbox) = to.upgrade() {
                mailbox.post(key, Letter::Question(question));
            }
        });
        let before = lock(&self.0).replace(Registered { mailbox, _listening: listening });
        drop(before);
    }
}

/// The managers that a loop answers for, by their addresses.
#[derive(Default)]
pub(crate) struct StandingTable(Mutex<HashMap<u64, Standing>>);

struct Standing {
    key: u64,
    manager: Py<PyWeakrefReference>,
    /// Kept so that no task is collected while it waits for an answer.
    tasks: Vec<Py<PyAny>>,
}

impl StandingTable {
    /// Letters for this key are questions to the manager, whose address is part of it.
    pub(crate) fn insert(&self, key: u64, manager: &Bound<'_, NativeManager>) -> PyResult<()> {
        let py = manager.py();
        let manager = PyWeakrefReference::new(manager.as_any())?.unbind();
        let mut table = lock(&self.0);
        let mut removed = Vec::new();
        // Only if the table is full, so that many managers cost no more than few.
        if table.len() == table.capacity() {
            let is_gone = |standing: &Standing| standing.manager.bind(py).upgrade().is_none();
            let gone = table.iter().filter(|(_, standing)| is_gone(standing));
            let gone: Vec<u64> = gone.map(|(address, _)| *address).collect();
            removed.extend(gone.iter().filter_map(|address| table.remove(address)));
        }
        let mut before = table.remove(&address_of(key));
        let tasks = before.as_mut().map(|before| std::mem::take(&mut before.tasks));
        let standing = Standing { key, manager, tasks: tasks.unwrap_or_default() };
        table.insert(address_of(key), standing);
        // Dropping what belongs to Python may run any code.
        drop(table);
        drop((before, removed));
        Ok(())
    }

    /// Passes a question to the manager's functions.
    pub(crate) fn answer(&self, py: Python<'_>, key: u64, question: &Question) -> PyResult<()> {
        let manager = self.with(key, |standing| standing.manager.clone_ref(py));
        let manager = manager.and_then(|manager| manager.bind(py).upgrade());
        let Some(manager) = manager else { return Ok(()) };
        let Some(asking) = manager.cast::<NativeManager>()?.get().asking(py) else {
            return Ok(());
        };
        let Some(task) = hand_over(py, question, &asking, "answer_later", None)? else {
            return Ok(());
        };
        let known = self.with(key, |standing| std::mem::take(&mut standing.tasks));
        let mut waiting = vec![task.unbind()];
        for task in known.into_iter().flatten() {
            if !task.bind(py).call_method0(intern!(py, "done"))?.is_truthy()? {
                waiting.push(task);
            }
        }
        self.with(key, |standing| standing.tasks.extend(waiting));
        Ok(())
    }

    fn with<T>(&self, key: u64, look: impl FnOnce(&mut Standing) -> T) -> Option<T> {
        let mut table = lock(&self.0);
        table.get_mut(&address_of(key)).filter(|standing| standing.key == key).map(look)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
