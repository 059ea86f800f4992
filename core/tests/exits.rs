//! Hazard: a server that exits at an unusual moment leaves a call without an end, a process behind, a count that is never
//! taken back, or another server without its answers.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/everywhere.rs"]
mod everywhere;

use std::time::Duration;

use common::{Journal, PATIENCE, lives, stdio, until};
use everywhere::{call_other, close, with_other};
use mcpool::{Arguments, CallOptions, Manager, State};
use serde_json::json;

const CALLS: usize = 8;

/// The moments at which a server exits: the state of its connection, and the knobs.
const MOMENTS: [(&str, &[&str]); 8] = [
    ("dialing", &["--exit-at", "start:3"]),
    ("in the handshake", &["--exit-at", "initialize:3"]),
    ("after the handshake", &["--exit-at", "initialized:3"]),
    ("listing", &["--exit-at", "tools/list:3"]),
    ("ready and idle", &["--exit-at", "idle-20:3"]),
    ("in a call", &["--exit-at", "tools/call:3"]),
    ("degraded, at the ping", &["--hang", "tools/call", "--exit-at", "ping:3"]),
    (
        "degraded, told of the end",
        &["--hang", "tools/call", "--exit-at", "notifications/cancelled:3"],
    ),
];

async fn call(manager: &Manager) -> mcpool::Result<mcpool::ToolResult> {
    let arguments = Arguments::new(&json!({"text": "x"})).expect("an object");
    let options = CallOptions::default().timeout(Some(Duration::from_millis(400)));
    manager.call_tool("s", "echo", arguments, options).await
}

/// The processes of the server that were started so far.
fn all_ended(journal: &Journal) -> bool {
    journal.pids().iter().all(|&pid| !lives(pid))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_exit_in_every_state_of_its_connection() {
    for (number, (moment, knobs)) in MOMENTS.into_iter().enumerate() {
        let journal = Journal::new(&format!("exits-{number}"));
        let mut server = stdio(&[knobs, &["--journal", journal.path()]].concat());
        server["restart"] = json!({"delays": [0, 10], "forever": true});
        server["timeout"] = json!(20_000);
        let manager = with_other(server).await;
        for _ in 0..3 {
            let calls = futures_util::future::join_all((0..CALLS).map(|_| call(&manager)));
            let ends = tokio::time::timeout(PATIENCE, calls).await;
            for end in ends.unwrap_or_else(|_| panic!("{moment}: a call without an end")) {
                let error = end.err().map(|error| error.code().to_owned());
                let code = error.as_deref().unwrap_or("ok");
                let known = [
                    "ok",
                    "CONNECTION_LOST",
                    "TOOL_TIMEOUT",
                    "TOOL_UNAVAILABLE",
                    "CONNECT_FAILED",
                    "mcp_restart_in_progress",
                    "mcp_restart_failed",
                ];
                assert!(known.contains(&code), "{moment}: {code}");
            }
            call_other(&manager).await;
        }
        until("it is started again", || journal.pids().len() > 1).await;
        close(&manager).await;
        until("all its processes have ended", || all_ended(&journal)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_exited_may_be_closed_while_its_restart_waits() {
    let journal = Journal::new("exits-waiting");
    let mut server = stdio(&["--exit-at", "idle-20:3", "--journal", journal.path()]);
    server["restart"] = json!({"delays": [3_600_000]});
    let manager = with_other(server).await;
    let is_waiting = || manager.status().iter().any(|it| it.state == State::Reconnecting);
    until("it waits for its restart", is_waiting).await;
    assert_eq!(call(&manager).await.unwrap_err().code(), "mcp_restart_failed");
    call_other(&manager).await;
    close(&manager).await;
    assert_eq!(journal.pids().len(), 1, "nothing was started meanwhile");
    assert!(all_ended(&journal));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_exit_while_it_is_closed() {
    for _ in 0..10 {
        let journal = Journal::new("exits-closing");
        let knobs = ["--exit-at", "notifications/cancelled:3", "--journal", journal.path()];
        let server = stdio(&[&knobs[..], &["--hang", "tools/call"]].concat());
        let manager = with_other(server).await;
        let calls = futures_util::future::join_all((0..CALLS).map(|_| call(&manager)));
        let sent = || journal.count(json!({"method": "tools/call"})) == CALLS;
        let closing = async {
            until("the calls have come", sent).await;
            tokio::time::timeout(PATIENCE, manager.close()).await.expect("close ends");
        };
        let (ends, ()) = tokio::join!(calls, closing);
        // The server may have been restarted and closed; but no call is answered.
        assert!(ends.iter().all(Result::is_err));
        until("its process has ended", || all_ended(&journal)).await;
    }
}
