//! Hazard: a call that a dying server never read is lost or runs twice. Also run as a release build, which is fast
//! enough to write into the pipe of a server whose end is not noticed yet. By portable means only those calls are known
//! to be unread that were not written whole.

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Journal, PATIENCE, apart, call, stdio, until};
use mcpool::ToolRef;
use mcpool::host::{Address, Letter, Mailbox, portable};
use mcpool::{Arguments, CallOptions, Config, Executed, Manager, ManagerOptions, ToolResult};
use serde_json::{Value, json};

const ROUNDS: usize = 40;

struct Killed {
    manager: Manager,
    journal: Journal,
}

impl Killed {
    async fn connected(name: &str, knobs: &[&str], options: ManagerOptions) -> Killed {
        let journal = Journal::new(name);
        let knobs: Vec<&str> = knobs.iter().copied().chain(["--journal", journal.path()]).collect();
        let mut server = stdio(&knobs);
        server["restart"] = json!({"delays": [0], "forever": true});
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
        let manager = Manager::new(config, options);
        let report = manager.connect_all().await.unwrap();
        assert_eq!(report.connected, ["s"], "{report:?}");
        Killed { manager, journal }
    }

    fn signal(&self, signal: i32) {
        let pid = self.manager.status()[0].pid.expect("it is up");
        // SAFETY: this test started the server, and mcpool has not reaped it yet.
        unsafe { libc::kill(pid as i32, signal) };
    }

    /// Calls made from now on are provably not read: if need be, because the pipe has no room for them.
    async fn stop_taking_calls(&self) {
        self.stop().await;
        if portable() {
            let larger_than_the_pipe = json!({"text": "x".repeat(300_000), "key": "given up"});
            drop(self.call("echo", larger_than_the_pipe, Default::default()));
        }
    }

    /// Nothing is read from now on.
    async fn stop(&self) {
        self.signal(libc::SIGSTOP);
        let pid = self.manager.status()[0].pid.expect("it is up");
        until("a stopped server", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('T'))
        })
        .await;
    }

    fn call(
        &self,
        tool: &str,
        arguments: Value,
        options: CallOptions,
    ) -> impl Future<Output = mcpool::Result<ToolResult>> + use<> {
        let arguments = Arguments::new(&arguments).unwrap();
        self.manager.call_tool("s", tool, arguments, options)
    }

    fn count(&self, event: &str, key: &Value) -> usize {
        let entries = self.journal.entries();
        entries.iter().filter(|entry| entry["event"] == event && entry["key"] == *key).count()
    }

    fn notes(&self, event: &str) -> bool {
        self.journal.entries().iter().any(|entry| entry["event"] == event)
    }

    async fn started(&self, times: usize) {
        let starts = || self.journal.entries().iter().filter(|e| e["event"] == "start").count();
        until("another process", || starts() >= times).await;
    }
}

#[tokio::test]
async fn a_call_right_after_the_death_of_its_server_goes_to_the_next() {
    let killed = Killed::connected("unread-idle", &[], apart()).await;
    for round in 0..ROUNDS {
        let pid = killed.manager.status()[0].pid.expect("it is up");
        killed.signal(libc::SIGKILL);
        // Until then its last read may still receive what is written.
        while common::lives(pid.into()) {
            std::thread::yield_now();
        }
        let answer = call(&killed.manager, "echo", json!({"text": "on", "key": round})).await;
        assert_eq!(answer.unwrap().text(), "on", "round {round}");
    }
    for round in 0..ROUNDS {
        assert_eq!(killed.count("ran", &json!(round)), 1, "round {round}");
    }
    let calls = killed.manager.status()[0].calls;
    assert_eq!((calls.ok, calls.error, calls.in_flight), (ROUNDS as u64, 0, 0));
    killed.manager.close().await;
}

#[tokio::test]
async fn what_was_read_is_lost_and_what_was_not_goes_to_the_next() {
    for call_events in [false, true] {
        let options = apart().call_events(call_events);
        let killed = Killed::connected("unread-some", &[], options).await;
        let read = killed.call("sleep", json!({"ms": 60_000, "key": "read"}), Default::default());
        until("a call that runs", || killed.count("ran", &json!("read")) == 1).await;
        killed.stop().await;
        let unread: Vec<_> = (0..3)
            .map(|key| killed.call("echo", json!({"text": "on", "key": key}), Default::default()))
            .collect();
        killed.signal(libc::SIGKILL);
        let error = read.await.unwrap_err();
        assert_eq!((error.code(), error.executed()), ("CONNECTION_LOST", Some(Executed::Unknown)));
        for (key, call) in unread.into_iter().enumerate() {
            match call.await {
                Err(error) if portable() => assert_eq!(error.executed(), Some(Executed::Unknown)),
                answer => assert_eq!(answer.unwrap().text(), "on"),
            }
            assert_eq!(killed.count("ran", &json!(key)), usize::from(!portable()));
        }
        assert_eq!(killed.count("ran", &json!("read")), 1);
        killed.manager.close().await;
    }
}

#[tokio::test]
async fn a_call_that_is_larger_than_the_pipe_goes_to_the_next() {
    let killed = Killed::connected("unread-large", &[], apart()).await;
    killed.stop().await;
    let text = "x".repeat(300_000);
    let large = killed.call("echo", json!({"text": text, "key": 1}), Default::default());
    let behind = killed.call("echo", json!({"text": "on", "key": 2}), Default::default());
    killed.signal(libc::SIGKILL);
    assert_eq!(large.await.unwrap().text(), text);
    assert_eq!(behind.await.unwrap().text(), "on");
    assert_eq!((killed.count("ran", &json!(1)), killed.count("ran", &json!(2))), (1, 1));
    killed.manager.close().await;
}

#[tokio::test]
async fn progress_of_a_call_that_was_sent_again_is_heard() {
    let killed = Killed::connected("unread-progress", &[], apart()).await;
    killed.stop_taking_calls().await;
    let told: Arc<Mutex<Vec<f64>>> = Arc::default();
    let heard = told.clone();
    let options = CallOptions::default()
        .on_progress(move |progress| heard.lock().unwrap().push(progress.progress));
    let call = killed.call("progress", json!({"steps": 3, "ms": 1}), options);
    killed.signal(libc::SIGKILL);
    call.await.unwrap();
    assert_eq!(*told.lock().unwrap(), [1.0, 2.0, 3.0]);
    killed.manager.close().await;
}

#[tokio::test]
async fn a_call_that_was_sent_again_can_be_given_up() {
    let killed = Killed::connected("unread-cancel", &[], apart()).await;
    killed.stop_taking_calls().await;
    let call = killed.call("sleep", json!({"ms": 60_000, "key": 1}), Default::default());
    killed.signal(libc::SIGKILL);
    until("the second run", || killed.count("ran", &json!(1)) == 1).await;
    drop(call);
    until("the server's word", || killed.notes("cancelled")).await;
    assert_eq!(killed.manager.status()[0].calls.in_flight, 0);
    killed.manager.close().await;
}

#[tokio::test]
async fn a_call_that_was_given_up_is_not_sent_again() {
    let killed = Killed::connected("unread-given-up", &[], apart()).await;
    for round in 0..5 {
        killed.stop().await;
        let call = killed.call("echo", json!({"text": "x", "key": "given up"}), Default::default());
        if round % 2 == 0 {
            killed.signal(libc::SIGKILL);
            drop(call);
        } else {
            drop(call);
            killed.signal(libc::SIGKILL);
        }
        killed.started(round + 2).await;
        killed.manager.wait_for("s", Some(PATIENCE)).await.unwrap();
        let answer = common::call(&killed.manager, "echo", json!({"text": "on"})).await;
        assert_eq!(answer.unwrap().text(), "on");
    }
    assert_eq!(killed.count("ran", &json!("given up")), 0);
    killed.manager.close().await;
}

#[tokio::test]
async fn a_loop_gets_the_answer_of_a_call_that_was_sent_again() {
    let killed = Killed::connected("unread-loop", &[], apart()).await;
    let mailbox = Mailbox::new().unwrap();
    killed.stop_taking_calls().await;
    for key in 0..4 {
        let arguments = Arguments::new(&json!({"text": "on", "key": key})).unwrap();
        let tool = ToolRef::Of { server: "s", tool: "echo" };
        let address = Address { mailbox: mailbox.clone(), key };
        killed.manager.submit(tool, arguments, CallOptions::default(), address).unwrap();
    }
    // The last ones are still held back.
    killed.signal(libc::SIGKILL);
    let mut letters = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while letters.len() < 4 && Instant::now() < deadline {
        mailbox.wait(Duration::from_millis(50));
        letters.extend(mailbox.drain());
        mailbox.flush();
    }
    letters.sort_by_key(|(key, _)| *key);
    assert_eq!(letters.len(), 4);
    for (key, letter) in letters {
        let Letter::Result(result) = letter else { panic!("{key}: {letter:?}") };
        assert_eq!(result.text(), "on");
        assert_eq!(killed.count("ran", &json!(key)), 1);
    }
    killed.manager.close().await;
}

#[tokio::test]
async fn nothing_is_proved_while_somebody_may_still_read() {
    for (place, goes_on) in [("inside", !portable()), ("outside", false)] {
        let name = format!("unread-heir-{place}");
        let killed = Killed::connected(&name, &["--heir", place], apart()).await;
        killed.stop().await;
        let call = killed.call("echo", json!({"text": "on", "key": 1}), Default::default());
        killed.signal(libc::SIGKILL);
        let answer = call.await;
        for entry in killed.journal.entries().iter().filter(|entry| entry["event"] == "heir") {
            let pid = entry["pid"].as_i64().unwrap() as i32;
            // SAFETY: the server that this test started has started it; it ends by itself only after minutes.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        if goes_on {
            assert_eq!(answer.unwrap().text(), "on");
        } else {
            let error = answer.unwrap_err();
            assert_eq!(error.executed(), Some(Executed::Unknown), "{error:?}");
        }
        assert_eq!(killed.count("ran", &json!(1)), usize::from(goes_on));
        killed.manager.close().await;
    }
}
