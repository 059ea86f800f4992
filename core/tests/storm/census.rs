//! Counts what this process holds and what descends from it.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::descriptors;
pub(super) use crate::common::resident;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) descriptors: usize,
    pub(super) threads: usize,
    pub(super) tasks: usize,
    /// The command lines of our descendants, except for the guardian.
    pub(super) children: Vec<String>,
}

impl Census {
    pub(super) fn take() -> Census {
        Census {
            descriptors: descriptors(),
            threads: fs::read_dir("/proc/self/task").expect("Linux").count(),
            tasks: mcpool::host::runtime::alive_tasks(),
            children: descendants(),
        }
    }

    /// Waits until no count exceeds `before`, within a limit; returns the last counts.
    pub(super) async fn settled_at(before: &Census, patience: Duration) -> Census {
        let deadline = Instant::now() + patience;
        loop {
            let now = Census::take();
            let settled = now.descriptors <= before.descriptors
                && now.threads <= before.threads
                && now.tasks <= before.tasks
                && now.children.len() <= before.children.len();
            if settled || Instant::now() > deadline {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until nothing changes for a while.
    pub(super) async fn quiet(patience: Duration) {
        let deadline = Instant::now() + patience;
        let (mut last, mut since) = (Census::take(), Instant::now());
        while since.elapsed() < Duration::from_millis(500) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let now = Census::take();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(super) fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?;
    // A zombie counts as gone.
    fields.next().filter(|_| state != "Z")?.parse().ok()
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

fn descendants() -> Vec<String> {
    let parents: Vec<(u32, u32)> =
        processes().filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut found = vec![std::process::id()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    let lines = found[1..].iter().map(|&pid| command_line(pid));
    lines.filter(|line| !line.contains("mcpool-guardian")).collect()
}

/// The processes with this mark, including orphans.
pub(super) fn processes_of(mark: &str) -> Vec<String> {
    let alive = processes().filter(|&pid| parent_of(pid).is_some());
    alive.map(command_line).filter(|line| line.contains(mark)).collect()
}

/// Servers with two processes at the same time, by the files of their journals.
pub(super) fn twins(journals: &[String]) -> Vec<String> {
    let running: Vec<(u32, String)> = processes().map(|pid| (pid, command_line(pid))).collect();
    let is_twin = |journal: &&String| {
        let mut its_own = running.iter().filter(|(_, line)| line.contains(*journal));
        // The first one may have ended before the second one was seen; if it runs now, it ran then.
        let first = its_own.next();
        its_own.next().is_some() && first.is_some_and(|(pid, _)| parent_of(*pid).is_some())
    };
    journals.iter().filter(is_twin).cloned().collect()
}

#[test]
fn two_processes_of_one_server_are_noticed() {
    let journals: Vec<String> = ["lone", "twin"]
        .map(|name| format!("/nowhere/{}/{name}.jsonl", std::process::id()))
        .to_vec();
    let begin = |journal: &String| {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", "read -r _", journal]).stdin(std::process::Stdio::piped());
        command.spawn().expect("a shell")
    };
    let mut children = [&journals[0], &journals[1], &journals[1]].map(begin);
    let deadline = Instant::now() + Duration::from_secs(5);
    while twins(&journals).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(twins(&journals), journals[1..]);
    for child in &mut children {
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    assert!(twins(&journals).is_empty());
}
