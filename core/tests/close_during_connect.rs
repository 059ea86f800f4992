//! Hazard: closing while servers are still starting leaves processes, hangs, or leaves callers without an answer.

mod common;

use std::time::Duration;

use common::{Journal, descriptors, lives, manager, stdio, until};
use mcpool::State;
use serde_json::{Map, json};

#[tokio::test]
async fn closing_while_a_server_hangs_ends_it_and_answers_whoever_waits() {
    let journal = Journal::new("closing");
    let manager =
        manager(json!({"s": stdio(&["--hang", "initialize", "--journal", journal.path()])}));
    let connecting = tokio::spawn(manager.connect_all());
    until("the server's start", || !journal.pids().is_empty()).await;
    manager.close().await;
    assert_eq!(connecting.await.unwrap().unwrap_err().code(), "CLOSED");
    assert!(journal.pids().iter().all(|&pid| !lives(pid)));
}

#[tokio::test]
async fn disconnecting_while_connecting_gives_the_asker_an_error_and_allows_another_try() {
    let journal = Journal::new("again");
    let manager =
        manager(json!({"s": stdio(&["--slow", "initialize=200", "--journal", journal.path()])}));
    let connecting = tokio::spawn(manager.connect("s"));
    until("the server's start", || !journal.pids().is_empty()).await;
    manager.disconnect("s").await.unwrap();
    assert!(connecting.await.unwrap().is_err());
    assert_eq!(manager.status()[0].state, State::Disconnected);
    manager.connect("s").await.unwrap();
    assert_eq!(manager.status()[0].state, State::Connected);
    manager.close().await;
    assert!(journal.pids().iter().all(|&pid| !lives(pid)));
}

#[tokio::test]
async fn many_managers_opened_and_dropped_at_random_moments_leave_nothing() {
    let journal = Journal::new("many");
    let before = descriptors();
    for round in 0..12 {
        let servers: Map<_, _> =
            (0..4).map(|n| (format!("s{n}"), stdio(&["--journal", journal.path()]))).collect();
        let manager = manager(servers.into());
        let connecting = tokio::spawn(manager.connect_all());
        tokio::time::sleep(Duration::from_millis(round)).await;
        if round % 2 == 0 {
            manager.close().await;
        }
        drop(manager);
        let _ = connecting.await;
    }
    until("the end of all servers", || journal.pids().iter().all(|&pid| !lives(pid))).await;
    until("the return of the descriptors", || descriptors() <= before + 8).await;
}

#[tokio::test]
async fn disconnecting_waits_for_a_process_whose_successor_was_still_waiting_for_its_end() {
    let journal = Journal::new("successor");
    let stubborn = ["--hang", "initialize", "--ignore-eof", "--ignore-term"];
    let knobs: Vec<&str> = stubborn.into_iter().chain(["--journal", journal.path()]).collect();
    let mut server = stdio(&knobs);
    server["timeout"] = json!(200);
    let manager = manager(json!({"s": server}));
    assert_eq!(manager.connect("s").await.unwrap_err().code(), "CONNECT_TIMEOUT");
    let again = tokio::spawn(manager.connect("s"));
    until("the second attempt", || manager.status()[0].attempt == 2).await;
    manager.disconnect("s").await.unwrap();
    assert!(again.await.unwrap().is_err());
    assert!(journal.pids().iter().all(|&pid| !lives(pid)), "{:?}", journal.entries());
    manager.close().await;
}
