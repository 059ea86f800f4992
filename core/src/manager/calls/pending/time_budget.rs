//! Owns how much time is left to a call, from its begin to its end, however often it waits and is sent.
//! Invariant: the wall stands where it was put; only progress and a person's thinking move the other limit.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::session::CallLimits;
use crate::sync::lock;

pub(crate) struct TimeBudget {
    idle: Duration,
    wall: Option<Instant>,
    /// From when on the time without a word is counted.
    quiet_since: Mutex<Instant>,
}

impl TimeBudget {
    /// For a call that begins now.
    pub(crate) fn new(limits: CallLimits, now: Instant) -> Self {
        TimeBudget {
            idle: limits.idle,
            wall: limits.total.map(|total| after(now, total)),
            quiet_since: Mutex::new(now),
        }
    }

    /// The server has told of progress.
    pub(super) fn restart_idle(&self, now: Instant) {
        *lock(&self.quiet_since) = now;
    }

    /// Somebody had to think for this long, which is nobody's silence.
    pub(super) fn exclude(&self, thinking: Duration) {
        let mut since = lock(&self.quiet_since);
        *since = after(*since, thinking);
    }

    pub(crate) fn deadline(&self) -> Instant {
        let silent = after(*lock(&self.quiet_since), self.idle);
        self.wall.map_or(silent, |wall| wall.min(silent))
    }

    /// What is left in all.
    pub(super) fn total(&self, now: Instant) -> Option<Duration> {
        self.wall.map(|wall| wall.saturating_duration_since(now))
    }

    /// What holds for a request that is sent now.
    pub(super) fn limits(&self, now: Instant) -> CallLimits {
        let idle_left = self.deadline().saturating_duration_since(now);
        CallLimits { idle: self.idle, idle_left, total: self.total(now) }
    }
}

/// A time that cannot be told is far away.
fn after(start: Instant, duration: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(86_400 * 365);
    start.checked_add(duration).unwrap_or_else(|| start + FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn time_budget(idle: Duration, total: Option<Duration>) -> (TimeBudget, Instant) {
        let now = Instant::now();
        (TimeBudget::new(CallLimits::new(idle, total), now), now)
    }

    #[test]
    fn both_limits_run_from_the_begin() {
        let (time_budget, began) = time_budget(10 * SECOND, Some(15 * SECOND));
        let CallLimits { idle, idle_left, total } = time_budget.limits(began + 4 * SECOND);
        assert_eq!([idle, idle_left, total.unwrap()], [10, 6, 11].map(|left| left * SECOND));
        assert_eq!(time_budget.deadline(), began + 10 * SECOND);
    }

    #[test]
    fn progress_begins_the_silence_anew_and_leaves_the_wall() {
        let (time_budget, began) = time_budget(10 * SECOND, Some(25 * SECOND));
        time_budget.restart_idle(began + 9 * SECOND);
        assert_eq!(time_budget.deadline(), began + 19 * SECOND);
        time_budget.restart_idle(began + 18 * SECOND);
        assert_eq!(time_budget.deadline(), began + 25 * SECOND);
        assert_eq!(time_budget.limits(began + 30 * SECOND).idle_left, Duration::ZERO);
    }

    #[test]
    fn thinking_is_no_silence_and_counts_for_the_wall() {
        let (endless, began) = time_budget(10 * SECOND, None);
        endless.exclude(11 * SECOND);
        assert_eq!(endless.deadline(), began + 21 * SECOND);
        let (walled, began) = time_budget(10 * SECOND, Some(15 * SECOND));
        walled.exclude(11 * SECOND);
        assert_eq!(walled.deadline(), began + 15 * SECOND);
    }

    #[test]
    fn limits_without_an_end_are_far_away() {
        let (time_budget, began) = time_budget(Duration::MAX, Some(Duration::MAX));
        time_budget.exclude(Duration::MAX);
        assert!(time_budget.deadline() > began + 86_400 * SECOND);
    }
}
