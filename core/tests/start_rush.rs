//! Hazard: many programs that start at once starve each other, or a hanging one blocks the others.

mod common;

use common::{Journal, manager, stdio, until};
use mcpool::State;
use mcpool::host::portable;
use serde_json::{Map, Value, json};

/// How many programs may start at the same time while all cores are busy.
fn places() -> usize {
    4 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Servers that need CPU before they answer, all with one journal.
fn burning(count: usize, journal: &Journal) -> Map<String, Value> {
    let knobs = ["--burn", "200", "--journal", journal.path()];
    (0..count).map(|n| (format!("burning{n}"), stdio(&knobs))).collect()
}

#[tokio::test]
async fn no_more_programs_start_at_once_than_the_machine_can_carry() {
    let journal = Journal::new("rush");
    let count = 3 * places();
    let mut servers = burning(count, &journal);
    for server in servers.values_mut() {
        server["timeout"] = json!(600_000);
    }
    let manager = manager(servers.into());
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected.len(), count, "{report:?}");
    let (mut starting, mut most) = (0_usize, 0);
    for entry in journal.entries() {
        match entry["event"].as_str() {
            Some("start") => starting += 1,
            Some("burnt") => starting -= 1,
            _ => {}
        }
        most = most.max(starting);
    }
    // By portable means nobody knows whether a program works, so its place is free after a second.
    assert!(most <= places() || portable(), "{most} of {count} started at once");
    manager.close().await;
}

#[tokio::test]
async fn servers_that_hang_silently_keep_nobody_waiting() {
    let silent = 2 * places();
    let hanging = |n: usize| {
        let mut server = stdio(&["--hang", "initialize"]);
        server["timeout"] = json!(600_000);
        (format!("a{n}"), server)
    };
    let mut servers: Map<_, _> = (0..silent).map(hanging).collect();
    servers.extend((0..4).map(|n| (format!("b{n}"), stdio(&[]))));
    let manager = manager(servers.into());
    let connecting = tokio::spawn(manager.connect_all());
    let in_state = |prefix: &str, state: State| {
        let status = manager.status();
        status.iter().filter(|one| one.name.starts_with(prefix) && one.state == state).count()
    };
    until("the servers behind those that hang", || in_state("b", State::Connected) == 4).await;
    assert_eq!(in_state("a", State::Connecting), silent);
    manager.close().await;
    assert_eq!(connecting.await.unwrap().unwrap_err().code(), "CLOSED");
}

#[tokio::test]
async fn the_time_in_the_queue_does_not_count() {
    let journal = Journal::new("queue");
    let knobs = ["--burn", "1500", "--journal", journal.path()];
    let mut servers: Map<_, _> =
        (0..places()).map(|n| (format!("burning{n}"), stdio(&knobs))).collect();
    // Less than any other needs, however busy the machine is.
    let mut server = stdio(&[]);
    server["timeout"] = json!(1200);
    server["restart"] = json!("never");
    servers.insert("last".to_owned(), server);
    for server in servers.values_mut().filter(|server| server["timeout"].is_null()) {
        server["timeout"] = json!(600_000);
    }
    let manager = manager(servers.into());
    let connecting = tokio::spawn(manager.connect_all());
    until("the first starts", || !journal.pids().is_empty()).await;
    manager.wait_for("last", None).await.unwrap();
    let report = connecting.await.unwrap().unwrap();
    assert_eq!(report.connected.len(), places() + 1, "{report:?}");
    manager.close().await;
}

#[tokio::test]
async fn closing_empties_the_queue() {
    let journal = Journal::new("left");
    let first = manager(burning(2 * places(), &journal).into());
    let connecting = tokio::spawn(first.connect_all());
    until("the first starts", || !journal.pids().is_empty()).await;
    first.close().await;
    let _ = connecting.await;
    let second = manager(json!({"s": stdio(&[])}));
    assert_eq!(second.connect_all().await.unwrap().connected, ["s"]);
    second.close().await;
}
