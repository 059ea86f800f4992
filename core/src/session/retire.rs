//! Owns the end of a session that takes no new calls while those in flight may still finish.

use std::pin::pin;

use super::Session;
use super::table::Table;
use crate::error::Error;
use crate::sync::lock;

impl Session {
    /// Whether no request is in flight.
    pub(crate) fn is_quiet(&self) -> bool {
        lock(&self.table).is_empty()
    }

    /// Refuses new calls; calls in flight may still finish.
    pub(crate) fn retire(&self, error: Error) {
        self.change_table(|table| table.refuse(error.with_server(&self.server)));
    }

    /// Refuses new calls, unless one is in flight.
    pub(crate) fn retire_if_quiet(&self) -> bool {
        let error = self.not_sent("was shut down because nobody called it");
        self.change_table(|table| table.is_empty() && table.refuse(error))
    }

    /// Waits for all calls in flight in a session that refuses new ones; each has its own deadline.
    pub(crate) async fn wait_until_idle(&self) {
        self.wait_for_table(|table| table.is_empty().then_some(())).await;
    }

    /// Waits until `found` matches the table of a session that refuses new calls.
    pub(super) async fn wait_for_table<T>(&self, found: impl Fn(&Table) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.ending.notified());
            // Registered before the table is read: a change in between is not missed.
            changed.as_mut().enable();
            if let Some(found) = found(&lock(&self.table)) {
                return found;
            }
            changed.await;
        }
    }
}
