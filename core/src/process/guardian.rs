//! Owns ending servers without `close`: at exit every live group is ended, and if we are killed, a small shell that
//! waits for our end does it.
//! Invariant: a forked child of ours never ends its parent's servers.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::spawn::{Program, null, spawn};
use super::{cloexec_pipe, signal_group};
use crate::fork::LocalFd;
use crate::fork::PerProcess;
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
static REGISTERED: PerProcess<Mutex<HashSet<i32>>> = PerProcess::new(|| {
    // SAFETY: the function is `extern "C"`, takes nothing and stays loaded as long as the process.
    unsafe { libc::atexit(end_all_at_exit) };
    Mutex::default()
});
static GUARDIAN: PerProcess<Option<LocalFd>> = PerProcess::new(|| {
    start_guardian()
        .inspect_err(|error| {
            tracing::warn!(%error, "without /bin/sh a killed host may leave servers behind");
        })
        .ok()
});

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

fn tell_guardian(verb: &str, group: Pid) {
    if let Some(guardian) = GUARDIAN.get() {
        // A write this short is atomic.
        let line = format!("{verb} {group}\n");
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(guardian, line.as_bytes()));
    }
}

pub(super) fn register(group: Pid) {
    lock(REGISTERED.get()).insert(group.as_raw_nonzero().get());
    tell_guardian("+", group);
}

pub(super) fn unregister(group: Pid) {
    tell_guardian("-", group);
    lock(REGISTERED.get()).remove(&group.as_raw_nonzero().get());
}

/// Permission to start a server, held until its group is registered. `None` once our exit has begun: a server that is
/// restarted then would be left behind.
pub(super) fn permit_to_start() -> Option<RwLockReadGuard<'static, bool>> {
    let exiting = EXITING.get().read().unwrap_or_else(PoisonError::into_inner);
    (!*exiting).then_some(exiting)
}

/// Ends all servers at exit, SIGTERM first. A forked child inherits this handler, but not the list.
extern "C" fn end_all_at_exit() {
    let Some(registered) = REGISTERED.created() else { return };
    *EXITING.get().write().unwrap_or_else(PoisonError::into_inner) = true;
    for (signal, patience) in [(Signal::TERM, 300), (Signal::KILL, 200)] {
        let groups: Vec<i32> = lock(registered).iter().copied().collect();
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            signal_group(group, signal);
        }
        let deadline = Instant::now() + Duration::from_millis(patience);
        while !lock(registered).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
