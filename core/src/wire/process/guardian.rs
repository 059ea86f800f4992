//! Owns the nets below `close`: at our exit every group that still lives is ended, and when we are killed without a
//! chance to do so, a small shell that waits for our end does it.
//! Invariant: a forked child of ours never ends its parent's servers.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, Once};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::signal_group;
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

static ENLISTED: LazyLock<Mutex<HashSet<i32>>> = LazyLock::new(Mutex::default);
static GUARDIAN: LazyLock<Mutex<Option<ChildStdin>>> = LazyLock::new(|| Mutex::new(begin_guard()));
static OWNER: AtomicU32 = AtomicU32::new(0);

fn begin_guard() -> Option<ChildStdin> {
    let shell = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "mcpool-guardian"])
        .env_clear()
        .current_dir("/")
        // Signals for our group, such as Ctrl-C, are not for it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match shell {
        // Its handle is let go: it ends by itself, after us.
        Ok(mut shell) => shell.stdin.take().inspect(|stdin| {
            // A guardian that somebody has stopped must not stop us.
            let _ = rustix::io::ioctl_fionbio(stdin, true);
        }),
        Err(error) => {
            tracing::warn!(%error, "without /bin/sh a killed host may leave servers behind");
            None
        }
    }
}

fn tell_guardian(verb: &str, group: Pid) {
    if let Some(guardian) = &mut *lock(&GUARDIAN) {
        let _ = guardian.write_all(format!("{verb} {group}\n").as_bytes());
    }
}

pub(super) fn enlist(group: Pid) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        OWNER.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: the function is `extern "C"`, takes nothing and stays loaded as long as the process.
        unsafe { libc::atexit(end_all_at_exit) };
    });
    lock(&ENLISTED).insert(group.as_raw_nonzero().get());
    tell_guardian("+", group);
}

pub(super) fn discharge(group: Pid) {
    tell_guardian("-", group);
    lock(&ENLISTED).remove(&group.as_raw_nonzero().get());
}

pub(super) fn is_enlisted(group: Pid) -> bool {
    lock(&ENLISTED).contains(&group.as_raw_nonzero().get())
}

/// Whoever exits with servers running takes them along, asking first.
extern "C" fn end_all_at_exit() {
    if OWNER.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    for (signal, patience) in [(Signal::TERM, 300), (Signal::KILL, 200)] {
        let groups: Vec<i32> = lock(&ENLISTED).iter().copied().collect();
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            signal_group(group, signal);
        }
        let deadline = Instant::now() + Duration::from_millis(patience);
        while !lock(&ENLISTED).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
