//! Owns what a server has announced of its tool list, and what has been asked since.
//! Invariant: announcements that nobody has acted upon are one, however many come; a list waits for what was announced
//! before it, within bounds, and a server that keeps its list to itself is waited for once, until it has listed in time.

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
    /// When the last question was asked.
    asked_at: Option<Instant>,
    /// When the last one was taken in.
    at: Option<Instant>,
    /// A list was waited for in vain, and none has come in time since.
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
    pub(crate) fn mark_requested(&self) {
        let mut state = lock(&self.state);
        (state.asked, state.asked_at) = (state.announced, Some(Instant::now()));
    }

    /// The list is known to everybody, or there is none.
    pub(crate) fn answered(&self, listed: bool) {
        let mut state = lock(&self.state);
        state.answered = state.asked;
        let in_time = state.asked_at.is_some_and(|at| at.elapsed() < PATIENCE);
        if listed && in_time {
            state.in_vain = false;
        }
        self.changed.notify_all();
    }

    /// Nothing more will be asked.
    pub(crate) fn end(&self) {
        lock(&self.state).over = true;
        self.changed.notify_all();
    }

    /// How long whoever lists tools waits for all servers together.
    pub(crate) fn limit() -> Instant {
        Instant::now() + PATIENCE
    }

    /// Blocks until what has been announced by now is known, within the bounds of the server and of whoever waits.
    pub(crate) fn wait(&self, limit: Instant) {
        let mut state = lock(&self.state);
        let Some(until) = state.at.and_then(|at| at.checked_add(PATIENCE)) else { return };
        let target = state.announced;
        while !state.over && !state.in_vain && state.answered < target {
            let now = Instant::now();
            let left = until.min(limit).saturating_duration_since(now);
            if left.is_zero() {
                state.in_vain = until <= now;
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

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[test]
    fn a_flood_is_one_announcement_until_somebody_asks() {
        let announcements = Announcements::default();
        assert_eq!((0..10_000).filter(|_| announcements.announce()).count(), 1);
        announcements.mark_requested();
        assert!(!announcements.is_pending());
        assert_eq!((0..10_000).filter(|_| announcements.announce()).count(), 1);
        assert!(announcements.is_pending(), "a change during a refresh is one more");
    }

    #[test]
    fn nothing_is_waited_for_where_nothing_was_announced() {
        let announcements = Announcements::default();
        announcements.wait(later());
        announcements.announce();
        announcements.mark_requested();
        announcements.answered(true);
        announcements.wait(later());
    }

    #[test]
    fn the_answer_to_an_earlier_question_does_not_end_the_wait() {
        let announcements = Arc::new(Announcements::default());
        announcements.announce();
        announcements.mark_requested();
        announcements.announce();
        announcements.answered(true);
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || {
            waiting.wait(later());
            lock(&waiting.state).answered
        });
        announcements.mark_requested();
        announcements.answered(true);
        assert_eq!(waiter.join().unwrap(), 2);
    }

    #[test]
    fn a_server_that_never_lists_is_waited_for_once() {
        let announcements = Announcements::default();
        announcements.announce();
        announcements.mark_requested();
        announcements.wait(later());
        assert!(lock(&announcements.state).in_vain);
        for _ in 0..3 {
            announcements.announce();
            lock(&announcements.state).at = Some(later());
            announcements.wait(later());
            announcements.answered(false);
            announcements.mark_requested();
        }
        announcements.answered(true);
        assert!(!lock(&announcements.state).in_vain, "until it has listed them");
    }

    #[test]
    fn a_server_that_always_lists_too_late_is_waited_for_once() {
        let announcements = Announcements::default();
        announcements.announce();
        announcements.mark_requested();
        announcements.wait(later());
        lock(&announcements.state).asked_at = Instant::now().checked_sub(PATIENCE);
        announcements.answered(true);
        announcements.announce();
        lock(&announcements.state).at = Some(later());
        announcements.wait(later());
        announcements.mark_requested();
        announcements.answered(true);
        assert!(!lock(&announcements.state).in_vain, "until it has listed them in time");
    }

    #[test]
    fn many_servers_are_waited_for_no_longer_than_one() {
        let announcements = Announcements::default();
        announcements.announce();
        lock(&announcements.state).at = Some(later());
        announcements.wait(Instant::now());
        assert!(!lock(&announcements.state).in_vain, "it had no time of its own");
    }

    #[test]
    fn whoever_waits_is_told_of_the_end() {
        let announcements = Arc::new(Announcements::default());
        announcements.announce();
        lock(&announcements.state).at = Some(later());
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || waiting.wait(later()));
        announcements.end();
        waiter.join().unwrap();
        assert!(!announcements.announce());
    }
}
