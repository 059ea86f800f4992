//! Owns what a server has announced of its tool list, and what has been asked since.
//! Invariant: announcements that nobody has acted upon are one, however many come; a list waits for what was announced
//! before it, within bounds, and a server that keeps its list to itself is waited for once.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// How long a list waits for tools that were announced.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Announcements {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many announcements were taken in; those between two questions count as one.
    announced: u64,
    /// How many of them the last question was for, and the last answer.
    asked: u64,
    answered: u64,
    /// When the last one was taken in.
    at: Option<Instant>,
    /// The last list was waited for in vain.
    in_vain: bool,
    over: bool,
}

impl State {
    fn is_pending(&self) -> bool {
        self.announced > self.asked
    }
}

impl Announcements {
    /// The tools changed. Tells whether that was not known already.
    pub(super) fn announce(&self) -> bool {
        let mut state = lock(&self.state);
        if state.is_pending() || state.over {
            return false;
        }
        state.announced += 1;
        state.at = Some(Instant::now());
        true
    }

    /// Whether something was announced since the tools were last asked for.
    pub(crate) fn is_pending(&self) -> bool {
        lock(&self.state).is_pending()
    }

    /// The tools are asked for from now on.
    pub(crate) fn asked(&self) {
        let mut state = lock(&self.state);
        state.asked = state.announced;
    }

    /// The answer is known to everybody, or there is none.
    pub(crate) fn answered(&self) {
        let mut state = lock(&self.state);
        (state.answered, state.in_vain) = (state.asked, false);
        self.changed.notify_all();
    }

    /// Nothing more will be asked.
    pub(crate) fn end(&self) {
        lock(&self.state).over = true;
        self.changed.notify_all();
    }

    /// Blocks until what has been announced by now is known, within bounds.
    pub(crate) fn wait(&self) {
        let mut state = lock(&self.state);
        let Some(until) = state.at.and_then(|at| at.checked_add(PATIENCE)) else { return };
        let target = state.announced;
        while !state.over && !state.in_vain && state.answered < target {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.in_vain = true;
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn a_flood_is_one_announcement_until_somebody_asks() {
        let announcements = Announcements::default();
        assert_eq!((0..10_000).filter(|_| announcements.announce()).count(), 1);
        announcements.asked();
        assert!(!announcements.is_pending());
        assert_eq!((0..10_000).filter(|_| announcements.announce()).count(), 1);
        assert!(announcements.is_pending(), "a change during a refresh is one more");
    }

    #[test]
    fn nothing_is_waited_for_where_nothing_was_announced() {
        let announcements = Announcements::default();
        announcements.wait();
        announcements.announce();
        announcements.asked();
        announcements.answered();
        announcements.wait();
    }

    #[test]
    fn the_answer_to_an_earlier_question_does_not_end_the_wait() {
        let announcements = Arc::new(Announcements::default());
        announcements.announce();
        announcements.asked();
        announcements.announce();
        announcements.answered();
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || {
            waiting.wait();
            lock(&waiting.state).answered
        });
        announcements.asked();
        announcements.answered();
        assert_eq!(waiter.join().unwrap(), 2);
    }

    #[test]
    fn a_server_that_never_lists_is_waited_for_once() {
        let announcements = Announcements::default();
        announcements.announce();
        announcements.asked();
        announcements.wait();
        assert!(lock(&announcements.state).in_vain);
        announcements.announce();
        lock(&announcements.state).at = Instant::now().checked_add(Duration::from_secs(3600));
        announcements.wait();
        announcements.answered();
        assert!(!lock(&announcements.state).in_vain, "until it has listed them");
    }

    #[test]
    fn whoever_waits_is_told_of_the_end() {
        let announcements = Arc::new(Announcements::default());
        announcements.announce();
        lock(&announcements.state).at = Instant::now().checked_add(Duration::from_secs(3600));
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || waiting.wait());
        announcements.end();
        waiter.join().unwrap();
        assert!(!announcements.announce());
    }
}
