//! Owns what a server has announced about its tool list, and what was fetched since.
//! Invariant: unhandled announcements count as one, however many arrive. A read of the tools waits for earlier
//! announcements, within bounds. A server that does not list in time is waited for once, until it lists in time again.
//! Whatever a server announces or answers, the waits for it have a budget: [`PATIENCE`], and then about a tenth of the
//! time; about three tenths if it announces changes during calls.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// How long a read waits for announced tools.
const PATIENCE: Duration = Duration::from_secs(1);
/// The budget of all waits recovers in this many times their length.
const RECOVERY: u32 = 10;
/// With less budget left, the tools of a server that announces all the time are not fetched sooner.
const LEAST_TO_HURRY: Duration = Duration::from_millis(300);
/// Announcements during a call are most likely its effect, and cost the budget this many times less.
const DURING_CALL: u32 = 4;

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
    last_wait_timed_out: bool,
    /// How much of the budget is spent, as of a time.
    spent: Duration,
    spent_at: Option<Instant>,
    /// Whether an announcement whose tools are not known yet was made during a call.
    announced_during_call: bool,
    /// The server's own messages are being read up to this answer, and were read up to that one.
    reading_until_us: u64,
    read_until_us: u64,
    over: bool,
}

impl AnnouncementState {
    fn is_pending(&self) -> bool {
        self.announced > self.asked
    }

    /// How long a wait that begins now may be.
    fn budget(&mut self, now: Instant) -> Duration {
        if let Some(at) = self.spent_at {
            self.spent = self.spent.saturating_sub(now.saturating_duration_since(at) / RECOVERY);
        }
        self.spent_at = Some(self.spent_at.map_or(now, |at| at.max(now)));
        PATIENCE.saturating_sub(self.spent) * self.cost()
    }

    /// Records a wait; of waits at the same time, only one counts.
    fn spend(&mut self, began: Instant, cost: u32) {
        let (now, counted) = (Instant::now(), self.spent_at.map_or(began, |at| at.max(began)));
        self.spent += now.saturating_duration_since(counted) / cost;
        self.spent_at = Some(now.max(counted));
    }

    fn cost(&self) -> u32 {
        if self.announced_during_call { DURING_CALL } else { 1 }
    }

    fn is_reading(&self) -> bool {
        self.read_until_us < self.reading_until_us
    }
}

impl Announcements {
    /// Records a change of the tools, during a call or not. Returns whether it is new.
    pub(super) fn announce(&self, during_call: bool) -> bool {
        let mut state = lock(&self.state);
        let is_open = state.answered < state.announced;
        state.announced_during_call =
            during_call || state.is_reading() || state.announced_during_call && is_open;
        if state.is_pending() || state.over {
            return false;
        }
        state.announced += 1;
        state.at = Some(Instant::now());
        if state.is_reading() {
            self.changed.notify_all();
        }
        true
    }

    /// Whether all that the server sent before its answer at `answered_us` was read.
    pub(super) fn is_read_until(&self, answered_us: u64) -> bool {
        lock(&self.state).read_until_us >= answered_us
    }

    /// What the server sent before that answer is to be read. Returns whether nobody reads it yet; then the caller does,
    /// and calls [`Announcements::finish_reading`].
    pub(super) fn start_reading(&self, answered_us: u64) -> bool {
        let mut state = lock(&self.state);
        let is_new = state.reading_until_us < answered_us;
        state.reading_until_us = state.reading_until_us.max(answered_us);
        is_new
    }

    pub(super) fn finish_reading(&self, answered_us: u64) {
        let mut state = lock(&self.state);
        state.read_until_us = state.read_until_us.max(answered_us);
        self.changed.notify_all();
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
            state.last_wait_timed_out = false;
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

    /// Blocks until the tools announced before the answer at `answered_us` are known, within the limits of the server
    /// and of the caller. Answers that arrive meanwhile do not prolong it. `hurry` is called if there is something to
    /// wait for.
    pub(super) fn wait(&self, answered_us: u64, limit: Instant, hurry: impl FnOnce()) {
        let mut state = self.wait_until_read(answered_us, limit);
        let Some(until) = state.at.and_then(|at| at.checked_add(PATIENCE)) else { return };
        let target = state.announced;
        let is_known = |state: &AnnouncementState| {
            state.over || state.last_wait_timed_out || state.answered >= target
        };
        if !is_known(&state) && state.budget(Instant::now()) >= LEAST_TO_HURRY {
            hurry();
        }
        let mut state = self.wait_within_budget(state, until.min(limit), is_known);
        if !is_known(&state) {
            state.last_wait_timed_out = until <= Instant::now();
        }
    }

    /// Waits until the messages from before the answer are read, or one of them is an announcement.
    fn wait_until_read(
        &self,
        answered_us: u64,
        limit: Instant,
    ) -> MutexGuard<'_, AnnouncementState> {
        let state = lock(&self.state);
        let before = state.announced;
        self.wait_within_budget(state, limit, |state| {
            state.over || state.read_until_us >= answered_us || state.announced > before
        })
    }

    fn wait_within_budget<'a>(
        &self,
        mut state: MutexGuard<'a, AnnouncementState>,
        limit: Instant,
        is_done: impl Fn(&AnnouncementState) -> bool,
    ) -> MutexGuard<'a, AnnouncementState> {
        if is_done(&state) {
            return state;
        }
        let (began, cost) = (Instant::now(), state.cost());
        let limit = limit.min(began + state.budget(began));
        while !is_done(&state) {
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.spend(began, cost);
        state
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[test]
    fn a_flood_is_one_announcement_until_the_tools_are_requested() {
        let announcements = Announcements::default();
        assert_eq!((0..10_000).filter(|_| announcements.announce(false)).count(), 1);
        announcements.mark_requested();
        assert!(!announcements.is_pending());
        assert_eq!((0..10_000).filter(|_| announcements.announce(false)).count(), 1);
        assert!(announcements.is_pending(), "a change during a refresh is one more");
    }

    #[test]
    fn without_an_announcement_nothing_is_waited_for() {
        let announcements = Announcements::default();
        announcements.wait(0, later(), || ());
        announcements.announce(false);
        announcements.mark_requested();
        announcements.answered(true);
        announcements.wait(0, later(), || ());
    }

    #[test]
    fn the_answer_to_an_earlier_request_does_not_end_the_wait() {
        let announcements = Arc::new(Announcements::default());
        announcements.announce(false);
        announcements.mark_requested();
        announcements.announce(false);
        announcements.answered(true);
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || {
            waiting.wait(0, later(), || ());
            lock(&waiting.state).answered
        });
        announcements.mark_requested();
        announcements.answered(true);
        assert_eq!(waiter.join().unwrap(), 2);
    }

    #[test]
    fn a_server_that_never_lists_is_waited_for_once() {
        let announcements = Announcements::default();
        announcements.announce(false);
        announcements.mark_requested();
        announcements.wait(0, later(), || ());
        assert!(lock(&announcements.state).last_wait_timed_out);
        for _ in 0..3 {
            announcements.announce(false);
            lock(&announcements.state).at = Some(later());
            announcements.wait(0, later(), || ());
            announcements.answered(false);
            announcements.mark_requested();
        }
        announcements.answered(true);
        assert!(!lock(&announcements.state).last_wait_timed_out, "until it has listed them");
    }

    #[test]
    fn a_server_that_always_lists_too_late_is_waited_for_once() {
        let announcements = Announcements::default();
        announcements.announce(false);
        announcements.mark_requested();
        announcements.wait(0, later(), || ());
        lock(&announcements.state).asked_at = Instant::now().checked_sub(PATIENCE);
        announcements.answered(true);
        announcements.announce(false);
        lock(&announcements.state).at = Some(later());
        announcements.wait(0, later(), || ());
        announcements.mark_requested();
        announcements.answered(true);
        assert!(
            !lock(&announcements.state).last_wait_timed_out,
            "until it has listed them in time"
        );
    }

    #[test]
    fn a_wait_hurries_the_refresh_while_there_is_budget_for_it() {
        let announcements = Announcements::default();
        let hurried = Cell::new(0);
        let wait = || announcements.wait(0, Instant::now(), || hurried.set(hurried.get() + 1));
        wait();
        assert_eq!(hurried.get(), 0, "nothing was announced");
        announcements.announce(false);
        wait();
        assert_eq!(hurried.get(), 1);
        lock(&announcements.state).spent = 2 * PATIENCE;
        wait();
        assert_eq!(hurried.get(), 1);
    }

    #[test]
    fn many_servers_are_waited_for_no_longer_than_one() {
        let announcements = Announcements::default();
        announcements.announce(false);
        lock(&announcements.state).at = Some(later());
        announcements.wait(0, Instant::now(), || ());
        assert!(!lock(&announcements.state).last_wait_timed_out, "it had no time of its own");
    }

    #[test]
    fn a_server_that_keeps_announcing_has_one_budget() {
        let announcements = Announcements::default();
        for _ in 0..3 {
            announcements.announce(false);
            announcements.wait(0, later(), || ());
            lock(&announcements.state).last_wait_timed_out = false;
            announcements.mark_requested();
            announcements.answered(true);
            // As if no time had passed since, in which the budget is won back.
            lock(&announcements.state).spent_at = Some(later());
        }
        let spent = lock(&announcements.state).spent;
        assert!(spent >= PATIENCE, "{spent:?}");
        announcements.announce(false);
        lock(&announcements.state).at = Some(later());
        announcements.wait(0, later(), || ());
        assert!(!lock(&announcements.state).last_wait_timed_out, "it is not waited for");
    }

    #[test]
    fn a_budget_is_won_back_and_waits_at_once_count_once() {
        let mut state = AnnouncementState::default();
        let now = Instant::now();
        assert_eq!(state.budget(now), PATIENCE);
        (state.spent, state.spent_at) = (PATIENCE, Some(now));
        assert_eq!(state.budget(now), Duration::ZERO);
        assert_eq!(state.budget(now + RECOVERY * PATIENCE / 2), PATIENCE / 2);
        let long_ago = now - Duration::from_secs(5);
        let mut state = AnnouncementState { spent_at: Some(now), ..Default::default() };
        state.spend(long_ago, 1);
        assert!(state.spent < Duration::from_secs(5), "{:?}", state.spent);
    }

    #[test]
    fn an_announcement_that_is_on_its_way_is_waited_for() {
        let announcements = Arc::new(Announcements::default());
        assert!(announcements.start_reading(7));
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || {
            waiting.wait(7, later(), || ());
            lock(&waiting.state).answered
        });
        announcements.announce(false);
        announcements.mark_requested();
        announcements.finish_reading(7);
        announcements.answered(true);
        assert_eq!(waiter.join().unwrap(), 1);
    }

    #[test]
    fn a_read_waits_for_its_own_answer_and_for_none_after_it() {
        let announcements = Announcements::default();
        assert!(announcements.start_reading(7));
        assert!(!announcements.start_reading(7), "it is being read");
        assert!(!announcements.is_read_until(7), "until that has ended");
        assert!(announcements.start_reading(8), "a newer answer, while the older one is read");
        announcements.finish_reading(7);
        let began = Instant::now();
        announcements.wait(7, later(), || ());
        assert!(began.elapsed() < PATIENCE, "all from before its answer is read");
        assert_eq!(lock(&announcements.state).spent, Duration::ZERO);
        assert!(!announcements.is_read_until(8));
        announcements.finish_reading(8);
        announcements.finish_reading(7);
        assert!(announcements.is_read_until(8), "whichever ends first");
    }

    #[test]
    fn waits_for_unread_messages_have_the_same_budget() {
        let announcements = Announcements::default();
        announcements.start_reading(7);
        announcements.wait(7, later(), || ());
        let spent = lock(&announcements.state).spent;
        assert!(spent >= PATIENCE, "{spent:?}");
        lock(&announcements.state).spent_at = Some(later());
        announcements.wait(7, later(), || ());
        assert_eq!(lock(&announcements.state).spent, spent, "it is not waited for again");
        assert!(!lock(&announcements.state).last_wait_timed_out, "nothing was announced");
    }

    #[test]
    fn the_end_of_the_session_ends_the_wait() {
        let announcements = Arc::new(Announcements::default());
        announcements.announce(false);
        lock(&announcements.state).at = Some(later());
        let waiting = announcements.clone();
        let waiter = thread::spawn(move || waiting.wait(0, later(), || ()));
        announcements.end();
        waiter.join().unwrap();
        assert!(!announcements.announce(false));
    }
}
