//! Hazard: closing during a restart delay, a probe or the end of a stubborn process takes as long as that, leaves the
//! process running, or leaves callers without an answer.

mod common;

use std::future::Future;
use std::time::{Duration, Instant};

use common::{Journal, apart, lives, stdio, until};
use mcpool::{Arguments, CallOptions, Config, Executed, Manager, State, ToolResult};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(5);

struct Host {
    manager: Manager,
    journal: Journal,
}

impl Host {
    fn new(name: &str, knobs: &[&str], settings: Value) -> Host {
        let journal = Journal::new(name);
        let knobs: Vec<&str> = knobs.iter().copied().chain(["--journal", journal.path()]).collect();
        let mut server = stdio(&knobs);
        for (key, value) in settings.as_object().expect("an object") {
            server[key] = value.clone();
        }
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
        let options = apart().restart_wait(Duration::from_secs(120)).call_events(true);
        Host { manager: Manager::new(config, options), journal }
    }

    async fn reaches(&self, state: State) {
        until(&format!("{state:?}"), || self.manager.status()[0].state == state).await;
    }

    fn call(
        &self,
        options: CallOptions,
    ) -> impl Future<Output = mcpool::Result<ToolResult>> + Send + use<> {
        let text = Arguments::from_json(r#"{"text": "x"}"#).expect("an object");
        self.manager.call_tool("s", "echo", text, options)
    }

    /// Closes; returns how long it took.
    async fn close(&self) -> Duration {
        let began = Instant::now();
        self.manager.close().await;
        let took = began.elapsed();
        assert!(took < BOUND, "closing took {took:?}");
        assert!(self.journal.pids().iter().all(|&pid| !lives(pid)), "{:?}", self.journal.entries());
        took
    }
}

#[tokio::test]
async fn closing_during_the_sleep_before_a_retry_is_immediate() {
    let restart = json!({"restart": {"delays": [60_000], "forever": true}});
    let host = Host::new("sleep", &["--exit-at", "start"], restart);
    host.manager.connect_all().await.unwrap();
    host.reaches(State::Reconnecting).await;
    host.close().await;
}

#[tokio::test]
async fn whoever_waits_for_the_retry_is_told_when_the_manager_closes() {
    let restart = json!({"restart": {"delays": [60_000], "forever": true}});
    let host = Host::new("told", &["--exit-at", "start"], restart);
    host.manager.connect_all().await.unwrap();
    host.reaches(State::Reconnecting).await;
    let events = host.manager.events();
    let waiting_call = tokio::spawn(host.call(CallOptions::default()));
    let waiting = tokio::spawn(host.manager.wait_for("s", Some(Duration::from_secs(60))));
    let started = async {
        while json!(events.next().await.expect("the manager is open"))["phase"] != "started" {}
    };
    tokio::time::timeout(BOUND, started).await.expect("the call is told as started");
    assert!(!waiting_call.is_finished() && !waiting.is_finished());
    host.close().await;
    let ended = tokio::time::timeout(BOUND, waiting_call).await.expect("the call ends").unwrap();
    assert_eq!(ended.unwrap_err().executed(), Some(Executed::No));
    let ended = tokio::time::timeout(BOUND, waiting).await.expect("the wait ends").unwrap();
    assert!(ended.is_err());
}

#[tokio::test]
async fn closing_during_a_probe_does_not_wait_for_its_answer() {
    let host = Host::new("probe", &["--block", "tools/call"], json!({}));
    host.manager.connect_all().await.unwrap();
    let soon = CallOptions::default().timeout(Duration::from_millis(50));
    let error = host.call(soon).await.unwrap_err();
    assert_eq!(error.code(), "TOOL_TIMEOUT");
    host.reaches(State::Degraded).await;
    assert!(host.close().await < Duration::from_secs(2), "it ends at the end of its input");
}

#[tokio::test]
async fn closing_during_an_attempt_ends_a_stubborn_process() {
    let stubborn = ["--hang", "initialize", "--ignore-eof", "--ignore-term", "--grandchild"];
    let host = Host::new("stubborn", &stubborn, json!({}));
    let connecting = tokio::spawn(host.manager.connect_all());
    until("both processes", || host.journal.pids().len() == 2).await;
    host.close().await;
    assert_eq!(connecting.await.unwrap().unwrap_err().code(), "CLOSED");
}

#[tokio::test]
async fn closing_while_the_next_attempt_waits_for_a_stubborn_predecessor_starts_no_other() {
    let stubborn = ["--hang", "initialize", "--ignore-eof", "--ignore-term"];
    let settings = json!({"timeout": 1000, "restart": {"delays": [0], "forever": true}});
    let host = Host::new("predecessor", &stubborn, settings);
    host.manager.connect_all().await.unwrap();
    until("the second attempt", || host.manager.status()[0].attempt == 2).await;
    assert_eq!(host.journal.pids().len(), 1, "the first one still runs");
    host.close().await;
    assert_eq!(host.journal.pids().len(), 1);
}

#[tokio::test]
async fn closing_twice_and_at_once_is_closing_once() {
    let host = Host::new("twice", &["--ignore-eof"], json!({}));
    host.manager.connect_all().await.unwrap();
    let began = Instant::now();
    tokio::join!(host.manager.close(), host.manager.close(), host.manager.close());
    assert!(began.elapsed() < BOUND);
    host.close().await;
}

#[tokio::test]
async fn whoever_closes_second_waits_for_the_end_too() {
    let host = Host::new("second", &["--ignore-eof"], json!({}));
    host.manager.connect_all().await.unwrap();
    let first = tokio::spawn(host.manager.close());
    host.close().await;
    first.await.unwrap();
}

#[tokio::test]
async fn whoever_closes_after_a_forgotten_disconnect_waits_for_its_end() {
    let host = Host::new("forgotten-disconnect", &["--ignore-eof"], json!({}));
    host.manager.connect_all().await.unwrap();
    drop(host.manager.disconnect("s"));
    until("the disconnect", || host.manager.status()[0].state == State::Disconnected).await;
    host.close().await;
}
