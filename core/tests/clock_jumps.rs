//! Hazard: a clock that jumps by years makes up for every missed moment, overflows, or ends what works. What happens
//! when this process is suspended is in `stopped`.

mod common;

use std::time::Duration;

use common::{Journal, apart, call, stdio, until};
use mcpool::{Clock, Config, Manager, Pool, PoolOptions, State};
use serde_json::{Value, json};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
const JUMPS: [Duration; 5] =
    [Duration::from_secs(1), YEAR, Duration::from_secs(3600), Duration::MAX, Duration::MAX];

/// A manager whose clock is moved by hand.
fn manager_on(clock: &Clock, server: Value) -> Manager {
    let config = Config::from_value(json!({"mcpServers": {"s": server}})).expect("a valid config");
    let pool = Pool::new(PoolOptions::default().clock(clock.clone()));
    Manager::new(config, apart().pool(pool))
}

fn state(manager: &Manager) -> State {
    manager.status()[0].state
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_outlives_every_jump() {
    let (clock, journal) = (Clock::manual(), Journal::new("clock-connected"));
    let manager = manager_on(&clock, stdio(&["--journal", journal.path()]));
    manager.connect_all().await.unwrap();
    for jump in JUMPS {
        clock.advance(jump);
        assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
        assert_eq!(state(&manager), State::Connected);
    }
    assert_eq!(manager.status()[0].restarts, 0);
    manager.close().await;
    assert_eq!(journal.pids().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jump_over_many_restarts_is_one_restart() {
    let (clock, journal) = (Clock::manual(), Journal::new("clock-waiting"));
    let mut server = stdio(&["--exit-at", "initialize", "--journal", journal.path()]);
    server["restart"] = json!({"delays": [60_000], "forever": true});
    let manager = manager_on(&clock, server);
    manager.connect_all().await.unwrap();
    let is_waiting = |attempts: u32| {
        let status = manager.status().remove(0);
        status.next_retry_ms.is_some() && status.attempt == attempts
    };
    until("the first attempt has failed", || is_waiting(1)).await;
    for (attempts, jump) in (2..).zip([YEAR, Duration::from_secs(60), YEAR]) {
        clock.advance(jump);
        until("one more attempt has failed", || is_waiting(attempts)).await;
        assert_eq!(journal.pids().len(), attempts as usize, "one process for each attempt");
    }
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jump_during_a_call_does_not_shut_its_server_down() {
    let clock = Clock::manual();
    let mut server = stdio(&[]);
    server["idleShutdown"] = json!(1_000);
    let manager = manager_on(&clock, server);
    manager.connect_all().await.unwrap();
    let calling = call(&manager, "sleep", json!({"ms": 300}));
    let jumping = async {
        until("the call is in flight", || manager.status()[0].calls.in_flight == 1).await;
        clock.advance(YEAR);
    };
    let (result, ()) = tokio::join!(calling, jumping);
    result.expect("an answer");
    clock.advance(YEAR);
    until("it is shut down when it is idle", || state(&manager) == State::Idle).await;
    // The next call starts it again, whatever the time.
    assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jumps_between_pings_end_in_a_server_that_answers() {
    let clock = Clock::manual();
    let mut server = stdio(&[]);
    server["pingInterval"] = json!(1_000);
    let manager = manager_on(&clock, server);
    manager.connect_all().await.unwrap();
    for _ in 0..20 {
        clock.advance(YEAR);
        // A jump in the middle of a ping is a miss, and two misses are a restart.
        assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
    }
    manager.close().await;
}
