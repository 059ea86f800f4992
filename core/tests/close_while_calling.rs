//! Hazard: a call that is made while its manager releases the server goes on afterwards, because the release did not see
//! it and it did not see the release. Another manager holds the server, so the connection stays up.

mod common;

use std::time::Duration;

use common::{apart, stdio};
use futures_util::future::join_all;
use mcpool::{Arguments, CallOptions, Config, Manager, Pool, PoolOptions, Retry};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(20);
const ROUNDS: u64 = 200;
const CALLS: usize = 60;

async fn every_call_ends(settings: Value, retry: Retry) {
    let mut server = stdio(&["--hint-tools"]);
    for (key, value) in settings.as_object().expect("an object") {
        server[key] = value.clone();
    }
    let pool = Pool::new(PoolOptions::default());
    let open = || {
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).expect("a config");
        Manager::new(config, apart().pool(Some(pool.clone())))
    };
    let other = open();
    other.connect_all().await.expect("the server starts");
    for round in 0..ROUNDS {
        let manager = open();
        manager.connect_all().await.expect("it is connected");
        let caller = manager.clone();
        let calling = tokio::task::spawn_blocking(move || {
            let sleep = || Arguments::from_json(r#"{"ms": 60000}"#).expect("an object");
            let options = || CallOptions::default().retry(retry);
            let call = |_| caller.call_tool("s", "sleep", sleep(), options());
            (0..CALLS).map(call).map(tokio::spawn).collect::<Vec<_>>()
        });
        let releasing = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_micros(round % 60 * 20)).await;
            match round % 2 {
                0 => manager.close().await,
                _ => drop(manager.disconnect("s").await),
            }
            manager
        });
        let calls = join_all(calling.await.expect("no panic"));
        let ended = tokio::time::timeout(BOUND, calls).await;
        assert!(ended.is_ok(), "round {round}: {:?}", other.status()[0].calls);
        assert!(ended.is_ok_and(|ended| ended.iter().all(|call| matches!(call, Ok(Err(_))))));
        drop(releasing.await);
    }
    assert_eq!(other.status()[0].calls.in_flight, 0);
    other.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_made_during_a_release_end() {
    every_call_ends(json!({}), Retry::Never).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_wait_for_their_turn_during_a_release_end() {
    every_call_ends(json!({"maxConcurrency": 20}), Retry::Never).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_may_be_sent_again_end_too() {
    every_call_ends(json!({}), Retry::Safe).await;
}
