//! Hazard: a server's children outlive it, or the server survives its own end.

mod common;

use common::{Journal, lives, manager, stdio, until};
use serde_json::json;

async fn connected(knobs: &[&str]) -> (mcpool::Manager, Journal) {
    let name = std::thread::current().name().unwrap_or("orphans").replace("::", "-");
    let journal = Journal::new(&name);
    let knobs: Vec<&str> = knobs.iter().copied().chain(["--journal", journal.path()]).collect();
    let manager = manager(json!({"s": stdio(&knobs)}));
    let report = manager.connect_all().await.expect("nothing is required");
    assert_eq!(report.connected, ["s"], "{report:?}");
    (manager, journal)
}

#[tokio::test]
async fn closing_ends_the_whole_tree() {
    let (manager, journal) = connected(&["--grandchild"]).await;
    let pids = journal.pids();
    assert_eq!(pids.len(), 2, "a server and its grandchild");
    manager.close().await;
    assert!(pids.iter().all(|&pid| !lives(pid)), "{:?}", journal.entries());
}

#[tokio::test]
async fn a_server_that_ignores_eof_and_sigterm_is_ended_all_the_same() {
    let (manager, journal) = connected(&["--ignore-eof", "--ignore-term", "--grandchild"]).await;
    manager.close().await;
    assert!(journal.pids().iter().all(|&pid| !lives(pid)), "{:?}", journal.entries());
}

#[tokio::test]
async fn the_exit_of_a_server_is_noticed_while_its_grandchild_holds_the_pipe() {
    let (manager, journal) = connected(&["--grandchild", "--exit-at", "idle-50"]).await;
    until("the server's end", || manager.status()[0].restarts > 0).await;
    manager.close().await;
    until("the end of the grandchild", || journal.pids().iter().all(|&pid| !lives(pid))).await;
}

#[tokio::test]
async fn dropping_the_manager_ends_its_servers() {
    let (manager, journal) = connected(&["--grandchild"]).await;
    drop(manager);
    until("the end of the tree", || journal.pids().iter().all(|&pid| !lives(pid))).await;
}

#[tokio::test]
async fn a_server_that_fails_its_handshake_is_ended() {
    let journal = Journal::new("handshake");
    let knobs = ["--hang", "initialize", "--ignore-eof", "--journal", journal.path()];
    let mut server = stdio(&knobs);
    server["timeout"] = json!(200);
    server["restart"] = json!("never");
    let manager = manager(json!({"s": server}));
    let report = manager.connect_all().await.expect("nothing is required");
    assert_eq!(report.failed["s"].code(), "CONNECT_TIMEOUT");
    until("the end of the server", || journal.pids().iter().all(|&pid| !lives(pid))).await;
    manager.close().await;
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_nothing_behind() {
    let journal = Journal::new("killed-host");
    let knobs = ["--grandchild", "--ignore-eof", "--ignore-term", "--journal", journal.path()];
    let config = std::env::temp_dir().join(format!("mcpool-killed-{}.json", std::process::id()));
    std::fs::write(&config, json!({"mcpServers": {"s": stdio(&knobs)}}).to_string()).unwrap();
    let mut host = std::process::Command::new(env!("CARGO_BIN_EXE_mcpool"))
        .args(["call", "--config", config.to_str().unwrap(), "s", "sleep", "ms=60000"])
        .spawn()
        .unwrap();
    until("the call", || journal.entries().iter().any(|entry| entry["method"] == "tools/call"))
        .await;
    assert_eq!(journal.pids().len(), 2, "a server and its grandchild");
    host.kill().unwrap();
    host.wait().unwrap();
    until("the end of the tree", || journal.pids().iter().all(|&pid| !lives(pid))).await;
    std::fs::remove_file(config).unwrap();
}
