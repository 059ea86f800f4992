//! Owns what a server has announced about its tool list, and what was fetched since.
//! Invariant: unhandled announcements count as one, however many arrive. A read of the tools waits for earlier
//! announcements, within bounds. A server that does not list in time is waited for once, until it lists in time again.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// How long a read waits for announced tools.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Announcements {
    state: Mutex<AnnouncementState>,
    changed: Condvar,
}

#[derive(Default)]
struct AnnouncementState {
    /// How many announcements were recorded; those between two fetches count as one.
    announced: u64,
    /// How many of them the last fetch was for, and the last answer.
    asked: u64,
    answered: u64,
    /// When the last fetch started.
    asked_at: Option<Instant>,
    /// When the last announcement was recorded.
    at: Option<Instant>,
    /// A wait for a list has timed out, and none has arrived in time since.
    in_vain: bool,
    over: bool,
}

impl AnnouncementState {
    fn is_pending(&self) -> bool {
        self.announced > self.asked
    }
}

impl Announcements {
    /// Records a change of the tools. Returns whether it is new.
    pub(super) fn announce(&self) -> bool {
        let mut state = lock(&self.state);
        if state.is_pending() || state.over {
            return false;
        }
        state.announced += 1;
        state.at = Some(Instant::now());
        true
    }

    /// Whether a change was announced since the last fetch.
    pub(crate) fn is_pending(&self) -> bool {
        lock(&self.state).is_pending()
    }

    /// A fetch of the tools starts.
    pub(crate) fn mark_requested(&self) {
        let mut state = lock(&self.state);
        (state.asked, state.asked_at) = (state.announced, Some(Instant::now()));
    }

    /// The list was published, or the fetch failed.
    pub(crate) fn answered(&self, listed: bool) {
        let mut state = lock(&self.state);
        state.answered = state.asked;
        let in_time = state.asked_at.is_some_and(|at| at.elapsed() < PATIENCE);
        if listed && in_time {
            state.in_vain = false;
        }
        self.changed.notify_all();
    }

    /// No more fetches follow.
    pub(crate) fn end(&self) {
        lock(&self.state).over = true;
        self.changed.notify_all();
    }

    /// How long one read of the tools waits for all servers together.
    pub(crate) fn limit() -> Instant {
        Instant::now() + PATIENCE
    }

    /// Blocks until the tools announced so far are known, within the limits of the server and of the caller.
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
    fn a_flood_is_one_announcement_until_the_tools_are_requested() {
        let announcements = Announcements::default();
        assert_eq!((0..10_000).filter(|_| announcements.announce()).count(), 1);
        announcements.mark_requested();
        assert!(!announcements.is_pending());
        assert_eq!((0..10_000).filter(|_| announcements.announce()).count(), 1);
        assert!(announcements.is_pending(), "a change during a refresh is one more");
    }

    #[test]
    fn without_an_announcement_nothing_is_waited_for() {
        let announcements = Announcements::default();
        announcements.wait(later());
        announcements.announce();
        announcements.mark_requested();
        announcements.answered(true);
        announcements.wait(later());
    }

    #[test]
    fn the_answer_to_an_earlier_request_does_not_end_the_wait() {
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
    fn the_end_of_the_session_ends_the_wait() {
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
