//! Owns taking in what a server has sent before its time is said to be over. A process that was stopped (Ctrl-Z, a paused
//! container) finds on waking that limits have passed and that the answers are there, both at once.

use std::time::{Duration, Instant};

use tokio::task::yield_now;
use tokio::time::sleep;

use super::Session;
use crate::wire::Wire;

/// A timer that fires so much later than it was due tells that the process did not run.
const LATE: Duration = Duration::from_millis(50);
/// How long the sockets are read then, at most.
const GRACE: Duration = Duration::from_millis(500);
/// How often other tasks get their turn when it did: an answer passes through a few of them.
const TURNS: usize = 16;
/// And for how long, where others use theirs to the full.
const TURNS_TIME: Duration = Duration::from_millis(100);

/// Whether a limit that was noticed so long after its time passed while the process did not run.
pub(crate) fn was_stopped(late: Duration) -> bool {
    late >= LATE
}

impl Session {
    /// Takes in what is there, after a limit that was noticed `late`.
    pub(crate) async fn catch_up(&self, late: Duration) {
        match self.wire() {
            Some(Wire::Stdio(pipe)) => pipe.read_waiting(),
            Some(Wire::Http(_)) if was_stopped(late) => sleep(late.min(GRACE)).await,
            Some(Wire::Http(_)) => {
                let until = Instant::now() + TURNS_TIME;
                let mut turns = 0..TURNS;
                while turns.next().is_some() && Instant::now() < until {
                    yield_now().await;
                }
            }
            None => {}
        }
    }
}
