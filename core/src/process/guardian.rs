//! Owns the nets below `close`: at our exit every group that still lives is ended, and when we are killed without a
//! chance to do so, a small shell that waits for our end does it.
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

/// Keeps the list of groups that it is told, and ends them when its input ends: when we do.
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
static ENLISTED: PerProcess<Mutex<HashSet<i32>>> = PerProcess::new(|| {
    // SAFETY: the function is `extern "C"`, takes nothing and stays loaded as long as the process.
    unsafe { libc::atexit(end_all_at_exit) };
    Mutex::default()
});
static GUARDIAN: PerProcess<Option<LocalFd>> = PerProcess::new(|| {
    begin_guard()
        .inspect_err(|error| {
            tracing::warn!(%error, "without /bin/sh a killed host may leave servers behind");
        })
        .ok()
});

/// Starts the shell and gives our end of its input.
fn begin_guard() -> std::io::Result<LocalFd> {
    let (theirs, ours) = cloexec_pipe()?;
    let ours = LocalFd::new(ours);
    // A guardian that somebody has stopped must not stop us.
    rustix::io::ioctl_fionbio(&ours, true)?;
    let program = Program {
        path: "/bin/sh".into(),
        args: ["-c", SCRIPT, "mcpool-guardian"].map(str::to_owned).into(),
        env: BTreeMap::new(),
        cwd: Some("/".into()),
    };
    // Nobody waits for it: it ends by itself, after us. Signals for our group, such as Ctrl-C, are not for it, nor is the
    // end of our terminal.
    spawn(&program, [theirs, null()?, null()?])?;
    Ok(ours)
}

fn tell_guardian(verb: &str, group: Pid) {
    if let Some(guardian) = GUARDIAN.get() {
        // So few bytes leave whole, whoever writes beside us.
        let line = format!("{verb} {group}\n");
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(guardian, line.as_bytes()));
    }
}

pub(super) fn enlist(group: Pid) {
    lock(ENLISTED.get()).insert(group.as_raw_nonzero().get());
    tell_guardian("+", group);
}

pub(super) fn discharge(group: Pid) {
    tell_guardian("-", group);
    lock(ENLISTED.get()).remove(&group.as_raw_nonzero().get());
}

pub(super) fn is_enlisted(group: Pid) -> bool {
    lock(ENLISTED.get()).contains(&group.as_raw_nonzero().get())
}

/// Leave to start a server; held until it is enlisted. There is none once our exit has begun: a server that its
/// supervisor brings back then would be left behind.
pub(super) fn leave_to_start() -> Option<RwLockReadGuard<'static, bool>> {
    let exiting = EXITING.get().read().unwrap_or_else(PoisonError::into_inner);
    (!*exiting).then_some(exiting)
}

/// Whoever exits with servers running takes them along, asking first. A forked child inherits this, not the list.
extern "C" fn end_all_at_exit() {
    let Some(enlisted) = ENLISTED.made() else { return };
    *EXITING.get().write().unwrap_or_else(PoisonError::into_inner) = true;
    for (signal, patience) in [(Signal::TERM, 300), (Signal::KILL, 200)] {
        let groups: Vec<i32> = lock(enlisted).iter().copied().collect();
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            signal_group(group, signal);
        }
        let deadline = Instant::now() + Duration::from_millis(patience);
        while !lock(enlisted).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
