//! Hazard: sockets outlive their connection, or accumulate while it lives.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/sockets.rs"]
mod counting;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Journal, Web, call, manager, until};
use counting::sockets;
use mcpool::{Arguments, CallOptions, Executed, Manager};
use serde_json::json;

async fn call_at_once(manager: &Arc<Manager>, server: &'static str, calls: usize, ms: u64) {
    let calls: Vec<_> = (0..calls)
        .map(|_| {
            let manager = manager.clone();
            tokio::spawn(async move {
                let arguments = Arguments::new(&json!({"ms": ms})).unwrap();
                manager.call_tool(server, "sleep", arguments, CallOptions::default()).await
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap().expect("an answer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_socket_outlives_its_link() {
    let (_web, url) = Web::start(["--sessions"]);
    let manager = Arc::new(manager(json!({"a": {"url": url}, "b": {"url": url}})));
    manager.connect_all().await.unwrap();
    call_at_once(&manager, "a", 32, 50).await;
    call_at_once(&manager, "b", 1, 0).await;
    assert!(sockets(&url) > 2, "the calls had sockets");
    manager.disconnect("a").await.unwrap();
    until("the sockets of one link are closed", || sockets(&url) <= 2).await;
    call_at_once(&manager, "b", 1, 0).await;
    manager.close().await;
    until("all sockets are closed", || sockets(&url) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_sockets_of_a_server_wait_for_one() {
    let (_web, url) = Web::start([]);
    let manager = Arc::new(manager(json!({"s": {"url": url}})));
    manager.connect_all().await.unwrap();
    let most = Arc::new(AtomicUsize::new(0));
    let watch = tokio::spawn({
        let (most, url) = (most.clone(), url.clone());
        async move {
            loop {
                most.fetch_max(sockets(&url), Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    call_at_once(&manager, "s", 400, 100).await;
    watch.abort();
    let most = most.load(Ordering::Relaxed);
    // A hundred are in use. As many may be opened for calls that then reuse a returned one, and some are idle.
    assert!((2..=240).contains(&most), "{most} sockets");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_got_no_socket_in_time_was_not_executed() {
    let journal = Journal::new("no-socket");
    let (_web, url) = Web::start(["--journal", journal.path()]);
    let manager = Arc::new(manager(json!({"s": {"url": url}})));
    manager.connect_all().await.unwrap();
    let called = || {
        let entries = journal.entries();
        entries.iter().filter(|entry| entry["method"] == "tools/call").count()
    };
    let sleep = || {
        let arguments = Arguments::new(&json!({"ms": 600_000})).unwrap();
        tokio::spawn(manager.call_tool("s", "sleep", arguments, CallOptions::default()))
    };
    let mut long: Vec<_> = (0..100).map(|_| sleep()).collect();
    until("all sockets are in use", || called() == 100).await;
    let more: Vec<_> = (0..50).map(|_| sleep()).collect();
    let arguments = Arguments::new(&json!({"text": "x"})).unwrap();
    let options = CallOptions::default().timeout(Duration::from_millis(300));
    let error = manager.call_tool("s", "echo", arguments, options).await.expect_err("no socket");
    assert_eq!((error.code(), error.executed()), ("TOOL_TIMEOUT", Some(Executed::No)));
    for given_up in more.into_iter().chain(long.pop()) {
        given_up.abort();
        let _ = given_up.await;
    }
    call(&manager, "echo", json!({"text": "x"})).await.expect("a socket");
    assert_eq!(called(), 101, "what did not leave is not sent later");
    let cancelled = || {
        let entries = journal.entries();
        entries.iter().filter(|entry| entry["method"] == "notifications/cancelled").count()
    };
    until("what left is cancelled", || cancelled() > 0).await;
    assert_eq!(cancelled(), 1, "what did not leave is not cancelled");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sockets_do_not_pile_up() {
    let (_web, url) = Web::start([]);
    let manager = Arc::new(manager(json!({"s": {"url": url}})));
    manager.connect_all().await.unwrap();
    for _ in 0..30 {
        call_at_once(&manager, "s", 150, 1).await;
    }
    // As many as calls may use, and the GET stream.
    until("no more are kept", || sockets(&url) <= 101).await;
    call(&manager, "sleep", json!({"ms": 0})).await.unwrap();
    manager.close().await;
}
