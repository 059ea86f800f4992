//! Hazard: a child that is forked during its parent's first use of something waits forever for the thread that
//! initialises it. A separate file: a first use happens once per process.

mod common;
#[path = "fork/forked.rs"]
mod forked;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Journal, call, manager, stdio, until};
use forked::Forked;
use mcpool::host::runtime::{alive_tasks, block_on};
use serde_json::json;

#[test]
fn a_child_of_a_parent_that_connects_for_the_first_time_leaves_nothing_undone() {
    let theirs = Journal::new("fork-connecting");
    let connecting = AtomicBool::new(true);
    let children: Vec<Forked> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let ours = manager(json!({"s": stdio(&[])}));
            block_on(ours.connect_all()).expect("nothing is required");
            let answer = block_on(call(&ours, "echo", json!({"text": "hi"})));
            assert!(!answer.expect("an answer").for_model().is_empty());
            connecting.store(false, Ordering::Relaxed);
            block_on(ours.close());
        });
        let mut children = Vec::new();
        while connecting.load(Ordering::Relaxed) && children.len() < 40 {
            children.push(Forked::begin(libc::_exit, || child(&theirs)));
            std::thread::sleep(Duration::from_millis(5));
        }
        children
    });
    let count = children.len();
    let endings: Vec<i32> = children.into_iter().map(Forked::status).collect();
    assert_eq!(endings, vec![0; count]);
    let ends = theirs.entries().iter().filter(|entry| entry["event"] == "eof").count();
    assert_eq!(ends, count, "the others were ended by a signal");
}

fn child(journal: &Journal) -> i32 {
    let own = manager(json!({"s": stdio(&["--journal", journal.path()])}));
    let report = block_on(own.connect_all()).expect("nothing is required");
    assert_eq!(report.connected, ["s"], "{report:?}");
    let answer = block_on(call(&own, "echo", json!({"text": "hi"})));
    assert!(!answer.expect("an answer").for_model().is_empty());
    block_on(own.close());
    drop(own);
    // A hanging task outlives the limit of `close`.
    block_on(until("the end of all tasks", || alive_tasks() == 0));
    0
}
