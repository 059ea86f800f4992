//! Owns reading what a server has already sent, before a timeout is enforced. A process that was suspended (Ctrl-Z, a
//! paused container) finds on waking that limits have expired and that the answers have arrived. The runtime's tasks
//! read the sockets, so they run first.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::runtime::yield_turns;
use crate::wire::was_stopped;

/// How long the sockets are read after a suspension, at most.
const GRACE: Duration = Duration::from_millis(500);
/// How many times other tasks run without a suspension: an answer passes through a few of them.
const TURNS: usize = 16;
/// The time limit for that, if other tasks use their whole turns.
const TURNS_TIME: Duration = Duration::from_millis(100);

/// Lets the tasks that read sockets run, after a limit that was noticed `late`.
pub(in crate::wire) async fn let_sockets_be_read(late: Duration) {
    if was_stopped(late) {
        return sleep(late.min(GRACE)).await;
    }
    let _ = timeout(TURNS_TIME, yield_turns(TURNS)).await;
}
