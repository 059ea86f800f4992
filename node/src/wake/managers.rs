//! Owns the list of a thread's managers, for runtimes that end a thread without running its finalizers: such a manager
//! would hold its servers until the process ends.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use mcpool::Manager;

#[derive(Default)]
pub(super) struct Managers(Mutex<Vec<Weak<Manager>>>);

impl Managers {
    pub(super) fn add(&self, manager: &Arc<Manager>) {
        let mut managers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Before it would grow: so the list is at most twice as long as the number of managers that there are.
        if managers.len() == managers.capacity() {
            managers.retain(|manager| manager.strong_count() > 0);
        }
        managers.push(Arc::downgrade(manager));
    }

    /// Closes those that there are still; nobody waits for it.
    pub(super) fn close(&self) {
        let managers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for manager in managers.iter().filter_map(Weak::upgrade) {
            drop(manager.close());
        }
    }
}
