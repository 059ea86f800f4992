//! Hazard: a forked child uses, ends or keeps its parent's resources.

mod common;
#[path = "fork/forked.rs"]
mod forked;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use common::{Journal, PATIENCE, call, lives, manager, stdio, until};
use forked::{Forked, kill};
use mcpool::Manager;
use mcpool::host::runtime::block_on;
use serde_json::json;

fn connected(journal: &Journal, knobs: &[&str]) -> Manager {
    let knobs: Vec<&str> = knobs.iter().copied().chain(["--journal", journal.path()]).collect();
    let manager = manager(json!({"s": stdio(&knobs)}));
    let report = block_on(manager.connect_all()).expect("nothing is required");
    assert_eq!(report.connected, ["s"], "{report:?}");
    manager
}

fn echo(manager: &Manager, text: &str) {
    let result = block_on(call(manager, "echo", json!({"text": text}))).expect("an answer");
    assert_eq!(result.text(), text);
}

/// Like a garbage collector in the child that drops the last handle.
fn drop_inherited(manager: &Manager) {
    // SAFETY: the child has its own copy and exits without using it again.
    drop(unsafe { std::ptr::read(manager) });
}

fn gone(journal: &Journal) -> bool {
    journal.pids().iter().all(|&pid| !lives(pid))
}

#[test]
fn a_new_manager_works_in_a_child() {
    let (ours, theirs) = (Journal::new("fork-parent"), Journal::new("fork-child"));
    let manager = connected(&ours, &[]);
    for _ in 0..5 {
        let child = Forked::begin(libc::_exit, || {
            let manager = connected(&theirs, &[]);
            (0..100).for_each(|number| echo(&manager, &format!("child {number}")));
            block_on(manager.close());
            i32::from(!gone(&theirs))
        });
        (0..100).for_each(|number| echo(&manager, &format!("parent {number}")));
        assert_eq!(child.status(), 0);
    }
    assert_eq!(theirs.pids().len(), 5, "a server for each child");
    block_on(manager.close());
}

#[test]
fn the_exit_of_a_child_leaves_the_servers_of_its_parent_alone() {
    let journal = Journal::new("fork-exit");
    let manager = connected(&journal, &[]);
    let child = Forked::begin(libc::exit, || {
        drop_inherited(&manager);
        0
    });
    assert_eq!(child.status(), 0);
    echo(&manager, "still here");
    assert_eq!(journal.pids().len(), 1, "the same server");
    block_on(manager.close());
}

#[test]
fn a_child_takes_its_own_servers_along_and_no_others() {
    let ours = Journal::new("fork-ours");
    let manager = connected(&ours, &[]);
    for leave in [libc::exit as unsafe extern "C" fn(i32) -> !, libc::_exit] {
        let theirs = Journal::new("fork-theirs");
        let child = Forked::begin(leave, || {
            std::mem::forget(connected(&theirs, &["--grandchild", "--ignore-eof"]));
            0
        });
        assert_eq!(child.status(), 0);
        assert_eq!(theirs.pids().len(), 2, "a server and its grandchild");
        block_on(until("the end of the child's servers", || gone(&theirs)));
    }
    echo(&manager, "still here");
    block_on(manager.close());
}

#[test]
fn a_server_sees_the_end_of_its_input_while_a_child_lives() {
    let journal = Journal::new("fork-eof");
    let manager = connected(&journal, &[]);
    let child = Forked::sleeping();
    block_on(manager.close());
    assert!(journal.entries().iter().any(|entry| entry["event"] == "eof"));
    assert!(gone(&journal) && lives(child.0.into()));
}

#[test]
fn the_servers_of_a_killed_host_end_while_its_child_lives() {
    let journal = Journal::new("fork-killed");
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let host = Forked::begin(libc::_exit, || {
        let _manager = connected(&journal, &["--grandchild", "--ignore-eof", "--ignore-term"]);
        let child = Forked::sleeping();
        writer.write_all(&child.0.to_ne_bytes()).unwrap();
        std::thread::sleep(3 * PATIENCE);
        0
    });
    let mut child = [0; 4];
    reader.read_exact(&mut child).unwrap();
    let child = i32::from_ne_bytes(child);
    assert!(journal.pids().len() == 2 && !gone(&journal));
    drop(host);
    block_on(until("the end of the tree", || gone(&journal)));
    assert!(lives(child.into()));
    kill(child);
}

#[test]
fn forks_at_any_moment_of_other_threads_neither_hang_nor_disturb() {
    let (ours, theirs) = (Journal::new("fork-busy"), Journal::new("fork-busy-child"));
    let manager = connected(&ours, &[]);
    let deadline = Instant::now() + Duration::from_secs(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while Instant::now() < deadline {
                echo(&manager, "busy");
            }
        });
        scope.spawn(|| {
            while Instant::now() < deadline {
                let own = common::manager(json!({"s": stdio(&[])}));
                block_on(own.connect_all()).unwrap();
                block_on(own.close());
            }
        });
        while Instant::now() < deadline {
            let child = Forked::begin(libc::_exit, || {
                drop_inherited(&manager);
                echo(&connected(&theirs, &[]), "child");
                0
            });
            assert_eq!(child.status(), 0);
        }
    });
    echo(&manager, "still here");
    block_on(manager.close());
    block_on(until("the end of the children's servers", || gone(&theirs)));
}
