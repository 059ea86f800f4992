//! Owns the table of futures that wait for letters, by key.
//! Invariant: a late letter for a cancelled future does not reach the next future at the same address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpool::host::{CallHandle, Listening};
use pyo3::prelude::*;

use crate::question::Asking;

#[derive(Default)]
pub(crate) struct Table {
    by_address: Mutex<HashMap<u64, Waiting>>,
    serial: AtomicU64,
}

pub(crate) struct Waiting {
    pub(crate) key: u64,
    pub(crate) future: Py<PyAny>,
    pub(crate) on_progress: Option<Py<PyAny>>,
    pub(crate) stop: Stop,
    pub(crate) answers: Option<Answers>,
}

/// Answers the core's questions during a wait.
pub(crate) struct Answers {
    pub(crate) asking: Asking,
    /// The context variables of the caller.
    pub(crate) context: Option<Py<PyAny>>,
    /// Kept so that no task is collected while it waits for an answer.
    pub(crate) tasks: Vec<Py<PyAny>>,
    /// Same for questions about the call itself, which end with it.
    pub(crate) about_the_call: Vec<Py<PyAny>>,
    pub(crate) _listening: Option<Listening>,
}

/// How to stop the work behind a future.
pub(crate) enum Stop {
    Call(CallHandle),
    /// `None` if the verb has already ended.
    Task(Option<tokio::task::AbortHandle>),
}

/// A key is a future's address and, in the upper bits, a serial number.
const ADDRESS_BITS: u32 = 48;

pub(crate) fn address_of(key: u64) -> u64 {
    key & ((1 << ADDRESS_BITS) - 1)
}

impl Table {
    /// A key for a future, or for another object.
    pub(crate) fn new_key(&self, future: &Bound<'_, PyAny>) -> u64 {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        serial << ADDRESS_BITS | address_of(future.as_ptr() as u64)
    }

    pub(crate) fn insert(&self, waiting: Waiting) {
        self.lock().insert(address_of(waiting.key), waiting);
    }

    pub(crate) fn with<T>(&self, key: u64, look: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        let mut table = self.lock();
        table.get_mut(&address_of(key)).filter(|waiting| waiting.key == key).map(look)
    }

    pub(crate) fn remove(&self, key: u64) -> Option<Waiting> {
        match self.lock().entry(address_of(key)) {
            Entry::Occupied(waiting) if waiting.get().key == key => Some(waiting.remove()),
            _ => None,
        }
    }

    pub(crate) fn remove_future(&self, future: &Bound<'_, PyAny>) -> Option<Waiting> {
        self.lock().remove(&address_of(future.as_ptr() as u64))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
