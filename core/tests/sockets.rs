//! Hazard: sockets outlive the connection that they were opened for, or pile up while it lives.
#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use common::{Web, call, manager, until};
use mcpool::{Arguments, CallOptions, Manager};
use serde_json::json;

/// How many sockets of this process lead to the port of `url`.
fn sockets(url: &str) -> usize {
    let port: u16 = url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours: HashSet<String> = links
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
        })
        .collect();
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(2).is_some_and(|peer| peer.ends_with(&remote)))
        .filter(|fields| fields.get(9).is_some_and(|inode| ours.contains(*inode)))
        .count()
}

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
async fn idle_sockets_do_not_pile_up() {
    let (_web, url) = Web::start([]);
    let manager = Arc::new(manager(json!({"s": {"url": url}})));
    manager.connect_all().await.unwrap();
    for _ in 0..30 {
        call_at_once(&manager, "s", 64, 1).await;
    }
    until("few are kept", || sockets(&url) <= 33).await;
    call(&manager, "sleep", json!({"ms": 0})).await.unwrap();
    manager.close().await;
}
