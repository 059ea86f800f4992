//! Owns seeing whether a program and its descendants work: the CPU time that they have used, and whether one of them runs
//! or waits for a disk.

/// What was seen at one moment; another one that is equal means that nothing was done in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// CPU time, in ticks of the system's clock.
    pub(crate) ticks: u64,
    /// One of them uses a core, waits for one, or waits for a disk.
    pub(crate) is_running: bool,
}

impl Activity {
    /// Nothing where it cannot be seen, or when the program is gone.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(pid: u32) -> Option<Activity> {
        let mut seen = of_one(pid)?;
        let mut descendants = children(pid);
        let mut looked_at = 0;
        while let Some(pid) = descendants.pop() {
            looked_at += 1;
            if looked_at > MOST {
                break;
            }
            if let Some(one) = of_one(pid) {
                seen.ticks += one.ticks;
                seen.is_running |= one.is_running;
            }
            descendants.extend(children(pid));
        }
        Some(seen)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_pid: u32) -> Option<Activity> {
        None
    }
}

/// How many descendants are looked at.
#[cfg(target_os = "linux")]
const MOST: usize = 64;

#[cfg(target_os = "linux")]
fn of_one(pid: u32) -> Option<Activity> {
    read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of `/proc/<pid>/stat`. The program's name may hold anything.
#[cfg(target_os = "linux")]
fn read(stat: &str) -> Option<Activity> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let is_running = matches!(fields.next()?, "R" | "D");
    // Its own time and that of the children that it has waited for, in user and in kernel mode.
    let ticks = fields.skip(10).take(4).map(|ticks| ticks.parse::<u64>().unwrap_or_default());
    Some(Activity { ticks: ticks.sum(), is_running })
}

#[cfg(target_os = "linux")]
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: std::fs::DirEntry| {
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.split(' ').filter_map(|pid| pid.trim().parse().ok()).collect::<Vec<u32>>()
    };
    threads.flat_map(of_thread).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_program_is_called() {
        let line = "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 2341 0 0 0 11 22 33 44 20 0 1 0 9 0 0";
        assert_eq!(read(line), Some(Activity { ticks: 110, is_running: false }));
        assert_eq!(read("7 (x) D 1").map(|seen| seen.is_running), Some(true));
        assert_eq!((read(""), read("7 (x)")), (None, None));
    }

    #[test]
    fn descendants_count() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & read line; kill $!"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while children(child.id()).is_empty() {
            std::thread::yield_now();
        }
        assert!(Activity::of(child.id()).is_some());
        assert!(children(std::process::id()).contains(&child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(Activity::of(child.id()), None);
    }
}
