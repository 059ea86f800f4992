//! Owns the time that supervision goes by: delays of a restart ladder, idle limits, the age of a cache.
//! A manual clock stands still until it is advanced, so that an hour of waiting can be tried out in no time.
//! How long a peer may take to answer is measured in real time, elsewhere.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::time::now_ms;

/// The system's clock, or one that only moves when told to.
#[derive(Clone, Debug)]
pub struct Clock {
    began: Instant,
    began_ms: u64,
    /// How far a manual clock has come.
    hand: Option<Arc<watch::Sender<Duration>>>,
}

impl Clock {
    /// Real time.
    pub fn system() -> Self {
        Clock { began: Instant::now(), began_ms: now_ms(), hand: None }
    }

    /// A clock that stands still until [`Clock::advance`].
    pub fn manual() -> Self {
        let hand = Some(Arc::new(watch::Sender::new(Duration::ZERO)));
        Clock { hand, ..Clock::system() }
    }

    /// Moves a manual clock on; what is due by then happens. The system's clock does not listen.
    pub fn advance(&self, by: Duration) {
        if let Some(hand) = &self.hand {
            hand.send_modify(|now| *now += by);
        }
    }

    /// Since the clock was made.
    pub(crate) fn now(&self) -> Duration {
        match &self.hand {
            Some(hand) => *hand.borrow(),
            None => self.began.elapsed(),
        }
    }

    /// How long ago this time was; a manual clock is never late.
    pub(crate) fn late_for(&self, at: Duration) -> Duration {
        match &self.hand {
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
        let (hand, began) = (self.hand.clone(), self.began);
        async move {
            match (hand, began.checked_add(at)) {
                (Some(hand), _) => {
                    let _ = hand.subscribe().wait_for(|now| *now >= at).await;
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
    async fn a_manual_clock_moves_only_when_told() {
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

    #[tokio::test]
    async fn an_endless_sleep_is_no_overflow() {
        let clock = Clock::system();
        let slept =
            tokio::time::timeout(Duration::from_millis(1), clock.sleep(Duration::MAX)).await;
        assert!(slept.is_err());
    }
}
