//! Owns ending servers without `close`: at exit every live group is ended, and if we are killed, a small shell that
//! waits for our end does it.
//! Invariant: a forked child of ours never ends its parent's servers.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::group::signal_group;
use super::pipe::cloexec_pipe;
use super::spawn::{Program, null, spawn};
use crate::fork::{LocalFd, PerProcess};
use crate::sync::lock;

/// Keeps the list of groups, and kills them when its input ends, which happens when we do.
const SCRIPT: &str = "groups=
while read -r verb group; do
  case $verb in
    +) groups=\"$groups $group\" ;;
    -) left=
       for other in $groups; do [ \"$other\" = \"$group\" ] || left=\"$left $other\"; done
       groups=$left ;;
  esac
done
for group in $groups; do kill -s KILL -- \"-$group\"; done 2>/dev/null";

static EXITING: PerProcess<RwLock<bool>> = PerProcess::new(RwLock::default);
static REGISTERED: PerProcess<Groups> = PerProcess::new(|| {
    // SAFETY: the function is `extern "C"`, takes nothing and stays loaded as long as the process.
    unsafe { libc::atexit(end_all_at_exit) };
    Groups::default()
});
static GUARDIAN: PerProcess<Option<LocalFd>> = PerProcess::new(|| {
    start_guardian()
        .inspect_err(|error| {
            tracing::warn!(%error, "without /bin/sh a killed host may leave servers behind");
        })
        .ok()
});

/// The process groups that live.
#[derive(Default)]
struct Groups {
    ids: Mutex<HashSet<i32>>,
    /// Notified when a group has ended.
    ended: Condvar,
}

/// Starts the shell; returns our end of its input.
fn start_guardian() -> std::io::Result<LocalFd> {
    let (theirs, ours) = cloexec_pipe()?;
    let ours = LocalFd::new(ours);
    // A guardian that was stopped must not block us.
    rustix::io::ioctl_fionbio(&ours, true)?;
    let program = Program {
        path: "/bin/sh".into(),
        args: ["-c", SCRIPT, "mcpool-guardian"].map(str::to_owned).into(),
        env: BTreeMap::new(),
        cwd: Some("/".into()),
    };
    // Nobody waits for it: it ends after us. It has its own session, so Ctrl-C and the end of our terminal do not reach
    // it.
    spawn(&program, [theirs, null()?, null()?])?;
    Ok(ours)
}

fn send_to_guardian(verb: &str, group: Pid) {
    if let Some(guardian) = GUARDIAN.get() {
        // A write this short is atomic.
        let line = format!("{verb} {group}\n");
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(guardian, line.as_bytes()));
    }
}

pub(super) fn register(group: Pid) {
    lock(&REGISTERED.get().ids).insert(group.as_raw_nonzero().get());
    send_to_guardian("+", group);
}

pub(super) fn unregister(group: Pid) {
    send_to_guardian("-", group);
    let groups = REGISTERED.get();
    lock(&groups.ids).remove(&group.as_raw_nonzero().get());
    groups.ended.notify_one();
}

/// Permission to start a server, held until its group is registered. `None` once our exit has begun: a server that is
/// restarted then would be left behind.
pub(super) fn permit_to_start() -> Option<RwLockReadGuard<'static, bool>> {
    let exiting = EXITING.get().read().unwrap_or_else(PoisonError::into_inner);
    (!*exiting).then_some(exiting)
}

/// Ends all servers at exit, SIGTERM first. A forked child inherits this handler, but not the list.
extern "C" fn end_all_at_exit() {
    let Some(groups) = REGISTERED.created() else { return };
    *EXITING.get().write().unwrap_or_else(PoisonError::into_inner) = true;
    for (signal, patience) in [(Signal::TERM, 300), (Signal::KILL, 200)] {
        let ids = lock(&groups.ids);
        for group in ids.iter().copied().filter_map(Pid::from_raw) {
            signal_group(group, signal);
        }
        // The runtime's thread still runs: it reaps the servers and unregisters their groups.
        let limit = Duration::from_millis(patience);
        let _ = groups.ended.wait_timeout_while(ids, limit, |ids| !ids.is_empty());
    }
}
