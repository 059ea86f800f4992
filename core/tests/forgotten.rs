//! Hazard: a manager that is dropped without `close` leaks servers, tasks or descriptors, or leaves a caller waiting.

mod common;

use std::time::Duration;

use common::{Journal, Web, apart, call, descriptors, lives, manager, stdio, until};
use mcpool::{Arguments, CallOptions, Config, KeepAlive, Manager, Pool, PoolOptions, State};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

/// These tests count resources of the whole process, so they run one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

struct Before {
    journal: Journal,
    descriptors: usize,
    tasks: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Before {
    async fn new(name: &str) -> Before {
        let alone = ALONE.lock().await;
        // Resources that live as long as the process exist from now on.
        let (web, url) = Web::start([]);
        let warm = manager(json!({"s": stdio(&[]), "web": {"url": url}}));
        warm.connect_all().await.unwrap();
        warm.close().await;
        drop((warm, web));
        until("quiet", || mcpool::host::runtime::alive_tasks() <= 1).await;
        let (descriptors, tasks) = (descriptors(), mcpool::host::runtime::alive_tasks());
        Before { journal: Journal::new(name), descriptors, tasks, _alone: alone }
    }

    fn server(&self, knobs: &[&str]) -> Value {
        let knobs: Vec<&str> =
            knobs.iter().copied().chain(["--journal", self.journal.path()]).collect();
        stdio(&knobs)
    }

    async fn returns(self) {
        until("the end of the servers", || self.journal.pids().iter().all(|&pid| !lives(pid)))
            .await;
        until("the end of the tasks", || mcpool::host::runtime::alive_tasks() <= self.tasks).await;
        until("the return of the descriptors", || descriptors() <= self.descriptors).await;
    }
}

#[tokio::test]
async fn what_was_connected_ends_with_the_manager() {
    let before = Before::new("forgotten").await;
    let (web, url) = Web::start(["--sessions", "--journal", before.journal.path()]);
    let manager = manager(json!({"s": before.server(&["--grandchild"]), "web": {"url": url}}));
    manager.connect_all().await.unwrap();
    call(&manager, "count", json!({})).await.unwrap();
    drop(manager);
    let said_goodbye = || before.journal.entries().iter().any(|entry| entry["verb"] == "DELETE");
    until("the end of the session", said_goodbye).await;
    drop(web);
    before.returns().await;
}

#[tokio::test]
async fn a_call_under_way_ends_with_the_manager() {
    let before = Before::new("under-way").await;
    let manager = manager(json!({"s": before.server(&[])}));
    manager.connect_all().await.unwrap();
    let long = Arguments::from_json(r#"{"ms": 60000}"#).unwrap();
    let sleeping = manager.call_tool("s", "sleep", long, CallOptions::default());
    let sleeping = tokio::spawn(sleeping);
    until("the call", || before.journal.entries().iter().any(|entry| entry["event"] == "ran"))
        .await;
    drop(manager);
    let ended = tokio::time::timeout(Duration::from_secs(5), sleeping).await.expect("it ends");
    assert_eq!(ended.unwrap().unwrap_err().code(), "CLOSED");
    before.returns().await;
}

#[tokio::test]
async fn an_attempt_under_way_ends_with_the_manager() {
    let before = Before::new("attempt").await;
    let manager = manager(json!({"s": before.server(&["--hang", "initialize"])}));
    let mut connecting = Box::pin(manager.connect("s"));
    let begun = tokio::time::timeout(Duration::from_millis(300), &mut connecting).await;
    assert!(begun.is_err(), "it hangs");
    drop((connecting, manager));
    before.returns().await;
}

#[tokio::test]
async fn a_wait_for_the_next_attempt_ends_with_the_manager() {
    let before = Before::new("next").await;
    let mut server = before.server(&["--exit-at", "start"]);
    server["restart"] = json!({"delays": [60_000], "forever": true});
    let manager = manager(json!({"s": server}));
    manager.connect_all().await.unwrap();
    assert_eq!(manager.status()[0].state, State::Reconnecting);
    drop(manager);
    before.returns().await;
}

#[tokio::test]
async fn what_a_pool_keeps_ends_with_the_pool() {
    let before = Before::new("kept").await;
    let pool = Pool::new(PoolOptions::default().keep_alive(KeepAlive::Always));
    let config = json!({"mcpServers": {"s": before.server(&[])}});
    let options = apart().pool(pool.clone());
    let manager = Manager::new(Config::from_value(config).unwrap(), options);
    manager.connect_all().await.unwrap();
    manager.close().await;
    drop(manager);
    assert!(before.journal.pids().iter().all(|&pid| lives(pid)), "it is kept");
    drop(pool);
    before.returns().await;
}

#[tokio::test]
async fn a_watched_config_file_is_not_watched_any_more() {
    let before = Before::new("watched").await;
    let file = std::env::temp_dir().join(format!("mcpool-watched-{}.json", std::process::id()));
    std::fs::write(&file, json!({"mcpServers": {"s": before.server(&[])}}).to_string()).unwrap();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let threads_before = threads();
    let options = apart().watch(true);
    let manager = Manager::open(&file, options).unwrap();
    manager.connect_all().await.unwrap();
    drop(manager);
    until("the end of the watch", || threads() <= threads_before).await;
    std::fs::remove_file(file).unwrap();
    before.returns().await;
}

#[tokio::test]
async fn verbs_that_nobody_waits_for_end_with_the_manager() {
    let before = Before::new("forgotten-verbs").await;
    let manager = manager(json!({"s": before.server(&["--hang", "initialize"])}));
    drop(manager.connect_all());
    drop(manager.wait_for("s", Some(Duration::from_secs(600))));
    until("the attempt", || manager.status()[0].state == State::Connecting).await;
    until("the server", || !before.journal.pids().is_empty()).await;
    drop(manager);
    before.returns().await;
}
