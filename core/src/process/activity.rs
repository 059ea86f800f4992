//! Owns sampling whether a process tree is busy: its CPU time, and whether one of its processes runs or waits for a
//! disk.

#[cfg(target_os = "linux")]
use crate::platform::portable;

/// One sample; two equal samples mean that nothing was done in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// CPU time in clock ticks.
    pub(crate) ticks: u64,
    /// One process is running, runnable or waiting for a disk.
    pub(crate) is_running: bool,
}

impl Activity {
    /// `None` if it cannot be measured, as by portable means, or the process is gone.
    pub(crate) fn sample(pid: u32) -> Option<Activity> {
        #[cfg(target_os = "linux")]
        if !portable() {
            return Activity::sample_tree(pid);
        }
        let _ = pid;
        None
    }

    #[cfg(target_os = "linux")]
    fn sample_tree(pid: u32) -> Option<Activity> {
        let mut seen = sample_one(pid)?;
        let mut descendants = children(pid);
        let mut looked_at = 0;
        while let Some(pid) = descendants.pop() {
            looked_at += 1;
            if looked_at > MAX_DESCENDANTS {
                break;
            }
            if let Some(one) = sample_one(pid) {
                seen.ticks += one.ticks;
                seen.is_running |= one.is_running;
            }
            descendants.extend(children(pid));
        }
        Some(seen)
    }
}

/// The most descendants that are read.
#[cfg(target_os = "linux")]
const MAX_DESCENDANTS: usize = 64;

#[cfg(target_os = "linux")]
fn sample_one(pid: u32) -> Option<Activity> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/<pid>/stat`. The program's name may contain anything.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<Activity> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let is_running = matches!(fields.next()?, "R" | "D");
    // User and kernel time of the process and of the children that it has waited for.
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
    fn a_stat_line_is_parsed_with_any_program_name() {
        let line = "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 2341 0 0 0 11 22 33 44 20 0 1 0 9 0 0";
        assert_eq!(parse_stat(line), Some(Activity { ticks: 110, is_running: false }));
        assert_eq!(parse_stat("7 (x) D 1").map(|seen| seen.is_running), Some(true));
        assert_eq!((parse_stat(""), parse_stat("7 (x)")), (None, None));
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
        assert!(Activity::sample_tree(child.id()).is_some());
        assert!(children(std::process::id()).contains(&child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(Activity::sample_tree(child.id()), None);
    }
}
