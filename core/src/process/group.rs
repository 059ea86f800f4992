//! Owns ending a process group: SIGTERM, then SIGKILL, each with a limit.
//! Invariant: a wait for a group is bounded, because a process in an uninterruptible system call survives SIGKILL.

use std::time::{Duration, Instant};

pub(super) use rustix::process::Pid;
use rustix::process::{Signal, kill_process_group, test_kill_process_group};

use super::Exit;

/// The limit for each step of ending a process group.
pub(super) const END_STEP_LIMIT: Duration = Duration::from_secs(1);
/// How often a group without its leader is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) fn number(group: Pid) -> u32 {
    group.as_raw_nonzero().get() as u32
}

/// Waits for the leader to end by itself, then sends SIGTERM, then SIGKILL. Then waits for the rest of its group.
pub(super) async fn end_group(group: Pid, exit: Exit) {
    for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        if let Some(signal) = signal {
            signal_group(group, signal);
        }
        if tokio::time::timeout(END_STEP_LIMIT, exit.wait()).await.is_ok() {
            break;
        }
    }
    exit.wait_for_group().await;
}

/// Ends grandchildren that outlived the leader.
pub(super) async fn end_orphans(group: Pid) {
    for signal in [Signal::TERM, Signal::KILL] {
        if !signal_group(group, signal) || is_gone_in_time(group).await {
            return;
        }
    }
}

/// Polls, because a process group has no handle to wait on: a pidfd is one process, `waitid` waits only for our own
/// children, and the members of the group may fork while they are listed.
async fn is_gone_in_time(group: Pid) -> bool {
    let deadline = Instant::now() + END_STEP_LIMIT;
    while Instant::now() < deadline {
        if test_kill_process_group(group).is_err() {
            return true;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    false
}

/// Returns whether there was a process to signal.
pub(super) fn signal_group(group: Pid, signal: Signal) -> bool {
    kill_process_group(group, signal).is_ok()
}

pub(super) fn kill_group(group: Pid) {
    signal_group(group, Signal::KILL);
}
