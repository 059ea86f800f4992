//! Hazard: an answer that arrived while this process was stopped is discarded, because its time limit has passed.
#![cfg(target_os = "linux")]

mod common;

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::{Journal, Web, fixture, until};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any limit of these servers.
const STOPPED: Duration = Duration::from_millis(2000);
const ROUNDS: usize = 4;

/// The command line, calling a tool of the one server.
struct Host {
    child: Child,
    _config: TempDir,
}

impl Host {
    fn start(definition: &Value, ms: u32) -> Host {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("mcp.json");
        std::fs::write(&config, json!({"mcpServers": {"s": definition}}).to_string()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_mcpool"))
            .args(["call", "--config", config.to_str().unwrap(), "s", "sleep"])
            .arg(format!("ms={ms}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Host { child, _config: directory }
    }

    async fn stop_for(&self, time: Duration) {
        self.signal(libc::SIGSTOP);
        tokio::time::sleep(time).await;
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: it is our child, and nobody has waited for it yet.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    fn end(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

fn count(journal: &Journal, method: &str) -> usize {
    journal.entries().iter().filter(|entry| entry["method"] == method).count()
}

/// The outcome of a call whose host is stopped when the server gets this message, and continues after all limits.
async fn stopped_at(method: &str, definition: Value, journal: &Journal) -> Output {
    let before = count(journal, method);
    let host = Host::start(&definition, 200);
    until("the message has come", || count(journal, method) > before).await;
    host.stop_for(STOPPED).await;
    host.end()
}

fn check(output: &Output, round: usize) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "round {round}: {said}");
}

#[tokio::test]
async fn an_answer_over_stdio_that_came_while_we_were_stopped_is_taken() {
    let journal = Journal::new("stopped-stdio");
    for round in 0..ROUNDS {
        let args = json!(["stdio", "--journal", journal.path()]);
        let definition = json!({"command": fixture(), "args": args, "toolTimeout": 600});
        check(&stopped_at("tools/call", definition, &journal).await, round);
    }
}

#[tokio::test]
async fn an_answer_over_http_that_came_while_we_were_stopped_is_taken() {
    for knobs in [&[][..], &["--sse"]] {
        let journal = Journal::new("stopped-http");
        let (_web, url) = Web::start(["--journal", journal.path()].iter().chain(knobs).copied());
        for round in 0..ROUNDS {
            let definition = json!({"url": url, "toolTimeout": 600});
            check(&stopped_at("tools/call", definition, &journal).await, round);
        }
    }
}

#[tokio::test]
async fn a_connect_during_which_we_were_stopped_goes_on() {
    let journal = Journal::new("stopped-connect");
    let knobs = ["--journal", journal.path(), "--slow", "initialize=200"];
    let (_web, url) = Web::start(knobs);
    let args: Vec<_> = ["stdio"].into_iter().chain(knobs).collect();
    let stdio = json!({"command": fixture(), "args": args, "timeout": 1500});
    for definition in [stdio, json!({"url": url, "timeout": 1500})] {
        for round in 0..ROUNDS {
            check(&stopped_at("initialize", definition.clone(), &journal).await, round);
        }
    }
}

#[tokio::test]
async fn a_server_that_answered_while_we_were_stopped_is_not_restarted() {
    let journal = Journal::new("stopped-ping");
    let (_web, url) = Web::start(["--journal", journal.path(), "--slow", "ping=300"]);
    let definition = json!({"url": url, "pingInterval": 100});
    let host = Host::start(&definition, 9_000);
    until("the call has come", || count(&journal, "tools/call") == 1).await;
    for _ in 0..2 {
        let before = count(&journal, "ping");
        until("a ping has come", || count(&journal, "ping") > before).await;
        // Longer than the limit of a health probe.
        host.stop_for(Duration::from_millis(3500)).await;
    }
    check(&host.end(), 0);
    assert_eq!(count(&journal, "initialize"), 1);
}
