//! Owns how much time a call has left, over all waiting and sending.
//! Invariant: the total limit never moves; progress and approval time extend the idle limit.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::session::CallLimits;
use crate::sync::lock;

/// The remaining idle and total time of a call.
pub(crate) struct TimeBudget {
    idle: Duration,
    total_deadline: Option<Instant>,
    /// When the idle time started.
    idle_since: Mutex<Instant>,
}

impl TimeBudget {
    /// A budget for a call that starts now.
    pub(crate) fn new(limits: CallLimits, now: Instant) -> Self {
        TimeBudget {
            idle: limits.idle,
            total_deadline: limits.total.map(|total| after(now, total)),
            idle_since: Mutex::new(now),
        }
    }

    /// Progress arrived: restarts the idle time.
    pub(super) fn restart_idle(&self, now: Instant) {
        *lock(&self.idle_since) = now;
    }

    /// Excludes this time from the idle time, because it was spent on an approval.
    pub(super) fn exclude(&self, duration: Duration) {
        let mut since = lock(&self.idle_since);
        *since = after(*since, duration);
    }

    /// When the earlier of both limits is reached.
    pub(crate) fn deadline(&self) -> Instant {
        let idle = after(*lock(&self.idle_since), self.idle);
        self.total_deadline.map_or(idle, |total| total.min(idle))
    }

    /// The remaining total time.
    pub(super) fn total_left(&self, now: Instant) -> Option<Duration> {
        self.total_deadline.map(|total| total.saturating_duration_since(now))
    }

    /// The limits of a request that is sent now.
    pub(super) fn limits_left(&self, now: Instant) -> CallLimits {
        let idle_left = self.deadline().saturating_duration_since(now);
        CallLimits { idle: self.idle, idle_left, total: self.total_left(now) }
    }
}

/// Saturates: an instant that cannot be represented becomes a far future one.
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
    fn both_limits_run_from_the_start() {
        let (time_budget, began) = time_budget(10 * SECOND, Some(15 * SECOND));
        let CallLimits { idle, idle_left, total } = time_budget.limits_left(began + 4 * SECOND);
        assert_eq!([idle, idle_left, total.unwrap()], [10, 6, 11].map(|left| left * SECOND));
        assert_eq!(time_budget.deadline(), began + 10 * SECOND);
    }

    #[test]
    fn progress_restarts_the_idle_limit_and_leaves_the_total_limit() {
        let (time_budget, began) = time_budget(10 * SECOND, Some(25 * SECOND));
        time_budget.restart_idle(began + 9 * SECOND);
        assert_eq!(time_budget.deadline(), began + 19 * SECOND);
        time_budget.restart_idle(began + 18 * SECOND);
        assert_eq!(time_budget.deadline(), began + 25 * SECOND);
        assert_eq!(time_budget.limits_left(began + 30 * SECOND).idle_left, Duration::ZERO);
    }

    #[test]
    fn excluded_time_counts_for_the_total_limit_only() {
        let (endless, began) = time_budget(10 * SECOND, None);
        endless.exclude(11 * SECOND);
        assert_eq!(endless.deadline(), began + 21 * SECOND);
        let (bounded, began) = time_budget(10 * SECOND, Some(15 * SECOND));
        bounded.exclude(11 * SECOND);
        assert_eq!(bounded.deadline(), began + 15 * SECOND);
    }

    #[test]
    fn limits_without_an_end_are_far_away() {
        let (time_budget, began) = time_budget(Duration::MAX, Some(Duration::MAX));
        time_budget.exclude(Duration::MAX);
        assert!(time_budget.deadline() > began + 86_400 * SECOND);
    }
}
