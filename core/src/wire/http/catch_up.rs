//! Owns taking in what a server has sent before its time is said to be over. A process that was stopped (Ctrl-Z, a paused
//! container) finds on waking that limits have passed and that the answers are there, both at once. Sockets are read by
//! tasks of the runtime, so these get their turns first.

use std::time::{Duration, Instant};

use tokio::task::yield_now;
use tokio::time::sleep;

use crate::wire::was_stopped;

/// How long the sockets are read after a stop, at most.
const GRACE: Duration = Duration::from_millis(500);
/// How often other tasks get their turn without a stop: an answer passes through a few of them.
const TURNS: usize = 16;
/// And for how long, where others use theirs to the full.
const TURNS_TIME: Duration = Duration::from_millis(100);

/// Lets the tasks that read sockets run, after a limit that was noticed `late`.
pub(super) async fn let_sockets_be_read(late: Duration) {
    if was_stopped(late) {
        return sleep(late.min(GRACE)).await;
    }
    let until = Instant::now() + TURNS_TIME;
    let mut turns = 0..TURNS;
    while turns.next().is_some() && Instant::now() < until {
        yield_now().await;
    }
}
