//! Owns the time for supervision: restart delays, idle limits, the age of a cache. A manual clock moves only when it is
//! advanced, so that tests need not wait. Limits on a peer's answers use real time and are elsewhere.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::time::now_ms;

/// Where a manual clock stops, so that neither its time nor a sum with any limit overflows.
const LATEST: Duration = Duration::from_millis(u64::MAX / 2);

/// The system's clock, or a manual one for tests.
#[derive(Clone, Debug)]
pub struct Clock {
    began: Instant,
    began_ms: u64,
    /// The time of a manual clock.
    manual_time: Option<Arc<watch::Sender<Duration>>>,
}

impl Clock {
    /// Real time.
    pub fn system() -> Self {
        Clock { began: Instant::now(), began_ms: now_ms(), manual_time: None }
    }

    /// A clock that stands still until [`Clock::advance`].
    pub fn manual() -> Self {
        let manual_time = Some(Arc::new(watch::Sender::new(Duration::ZERO)));
        Clock { manual_time, ..Clock::system() }
    }

    /// Advances a manual clock; timers that are due fire. Does nothing to the system's clock.
    pub fn advance(&self, by: Duration) {
        if let Some(manual_time) = &self.manual_time {
            manual_time.send_modify(|now| *now = now.saturating_add(by).min(LATEST));
        }
    }

    /// Time since the clock was created.
    pub(crate) fn now(&self) -> Duration {
        match &self.manual_time {
            Some(manual_time) => *manual_time.borrow(),
            None => self.began.elapsed(),
        }
    }

    /// How long ago this time was; zero for a manual clock.
    pub(crate) fn late_for(&self, at: Duration) -> Duration {
        match &self.manual_time {
            Some(_) => Duration::ZERO,
            None => self.now().saturating_sub(at),
        }
    }

    /// Milliseconds since the Unix epoch.
    pub(crate) fn wall_ms(&self) -> u64 {
        self.began_ms + self.now().as_millis() as u64
    }

    pub(crate) fn sleep(&self, limit: Duration) -> impl Future<Output = ()> + Send + use<> {
        self.sleep_until(self.now().saturating_add(limit))
    }

    pub(crate) fn sleep_until(&self, at: Duration) -> impl Future<Output = ()> + Send + use<> {
        let (manual_time, began) = (self.manual_time.clone(), self.began);
        async move {
            match (manual_time, began.checked_add(at)) {
                (Some(manual_time), _) => {
                    let _ = manual_time.subscribe().wait_for(|now| *now >= at).await;
                }
                (None, Some(at)) => tokio::time::sleep_until(at.into()).await,
                (None, None) => std::future::pending().await,
            }
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_manual_clock_moves_only_when_advanced() {
        let clock = Clock::manual();
        let hour = Duration::from_secs(3600);
        let slept = tokio::spawn(clock.sleep(hour));
        clock.advance(hour - Duration::from_millis(1));
        tokio::task::yield_now().await;
        assert!(!slept.is_finished());
        clock.advance(Duration::from_millis(1));
        slept.await.unwrap();
        assert_eq!(clock.now(), hour);
    }

    #[test]
    fn a_manual_clock_stops_before_its_time_overflows() {
        let clock = Clock::manual();
        for _ in 0..2 {
            clock.advance(Duration::MAX);
            assert!(clock.wall_ms() > clock.began_ms);
            assert!(clock.now().checked_add(clock.now()).is_some());
        }
    }

    #[tokio::test]
    async fn an_endless_sleep_does_not_overflow() {
        let clock = Clock::system();
        let slept =
            tokio::time::timeout(Duration::from_millis(1), clock.sleep(Duration::MAX)).await;
        assert!(slept.is_err());
    }
}
