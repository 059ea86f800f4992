//! Owns the memory limit of a link's incomplete answers: each may have the size of one message, all together the size
//! of a few.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many messages of the maximum size fit.
const MESSAGES: usize = 4;

pub(super) struct MemoryBudget {
    taken: AtomicUsize,
    limit: usize,
}

impl MemoryBudget {
    pub(super) fn new(message_limit: usize) -> Self {
        MemoryBudget { taken: AtomicUsize::new(0), limit: message_limit.saturating_mul(MESSAGES) }
    }

    pub(super) fn reserve(&self) -> Reservation<'_> {
        Reservation { budget: self, bytes: 0 }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }
}

/// The memory of one answer; dropping it returns the memory.
pub(super) struct Reservation<'a> {
    budget: &'a MemoryBudget,
    bytes: usize,
}

impl Reservation<'_> {
    /// Sets the current size of the answer; returns whether it fits.
    pub(super) fn resize(&mut self, bytes: usize) -> bool {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let taken = &self.budget.taken;
        let all = match bytes.checked_sub(before) {
            Some(more) => taken.fetch_add(more, Ordering::Relaxed) + more,
            None => taken.fetch_sub(before - bytes, Ordering::Relaxed),
        };
        all <= self.budget.limit
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_share_one_budget_and_give_it_back() {
        let budget = MemoryBudget::new(100);
        let mut reservations: Vec<_> = (0..5).map(|_| budget.reserve()).collect();
        assert!(reservations.iter_mut().take(4).all(|reservation| reservation.resize(100)));
        assert!(!reservations[4].resize(1));
        reservations[0].resize(50);
        assert!(reservations[4].resize(50));
        drop(reservations);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }
}
