//! Hazard: a call is sent without approval, or a question outlives its call, blocks others or is asked twice.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Journal, Web, apart, call, stdio, until};
use mcpool::{
    ApprovalPolicy, ApprovalQuestion, Arguments, CallOptions, CallPhase, Config, EventKind,
    Executed, Manager, ManagerOptions, OnApproval,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

fn manager(server: Value, options: ManagerOptions) -> Manager {
    let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
    Manager::new(config, options)
}

fn asking(on_approval: OnApproval) -> ManagerOptions {
    apart().on_approval(on_approval)
}

/// Approves late: notifies the first `Notify` when it is asked, then waits for the second.
fn late_yes() -> (OnApproval, Arc<Notify>, Arc<Notify>) {
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, gate) = (asked.clone(), go.clone());
    let ask = OnApproval::new(move |_| {
        tell.notify_one();
        let gate = gate.clone();
        async move {
            gate.notified().await;
            true
        }
    });
    (ask, asked, go)
}

fn ran(journal: &Journal, tool: &str) -> usize {
    let ran = |entry: &&Value| entry["event"] == "ran" && entry["tool"] == tool;
    journal.entries().iter().filter(ran).count()
}

/// Counts the live ones.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn one_of(count: &Arc<AtomicUsize>) -> Alive {
        count.fetch_add(1, Ordering::SeqCst);
        Alive(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_question_back() {
    let journal = Journal::new("approval-taken-back");
    let open = Arc::new(AtomicUsize::new(0));
    let count = open.clone();
    let ask = OnApproval::new(move |_| {
        let alive = Alive::one_of(&count);
        async move {
            std::future::pending::<()>().await;
            drop(alive);
            true
        }
    });
    let manager = manager(stdio(&["--journal", journal.path()]), asking(ask));
    manager.connect_all().await.unwrap();
    let waiting = tokio::spawn({
        let manager = manager.clone();
        async move { call(&manager, "count", json!({})).await }
    });
    until("the question", || open.load(Ordering::SeqCst) == 1).await;
    waiting.abort();
    until("the end of the question", || open.load(Ordering::SeqCst) == 0).await;
    manager.close().await;
    assert_eq!(ran(&journal, "count"), 0);
}

#[tokio::test]
async fn many_questions_are_open_at_once_and_each_call_gets_its_own_answer() {
    let journal = Journal::new("approval-many");
    let (asked, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, gate) = (asked.clone(), go.clone());
    let ask = OnApproval::new(move |question: ApprovalQuestion| {
        count.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            let arguments: Value = serde_json::from_str(question.arguments.get()).unwrap();
            arguments["text"].as_str().unwrap().parse::<u64>().unwrap() % 2 == 0
        }
    });
    let manager = manager(stdio(&["--journal", journal.path()]), asking(ask));
    manager.connect_all().await.unwrap();
    let calls: Vec<_> = (0..64)
        .map(|number| {
            let manager = manager.clone();
            tokio::spawn(async move {
                call(&manager, "echo", json!({"text": number.to_string()})).await
            })
        })
        .collect();
    until("all questions", || asked.load(Ordering::SeqCst) == 64).await;
    assert_eq!(ran(&journal, "echo"), 0);
    go.add_permits(64);
    for (number, call) in calls.into_iter().enumerate() {
        match call.await.unwrap() {
            Ok(result) => assert_eq!((number % 2, result.text()), (0, number.to_string())),
            Err(error) => {
                assert_eq!((number % 2, error.code()), (1, "NOT_APPROVED"));
                assert_eq!(error.executed(), Some(Executed::No));
            }
        }
    }
    assert_eq!(ran(&journal, "echo"), 32);
    manager.close().await;
}

#[tokio::test]
async fn who_is_asked_may_call_a_tool_that_needs_no_approval() {
    let own: Arc<Mutex<Option<Manager>>> = Arc::default();
    let asked = own.clone();
    let ask = OnApproval::new(move |question: ApprovalQuestion| {
        let manager = asked.lock().unwrap().clone().unwrap();
        async move {
            let seen = call(&manager, "echo", json!({"text": question.tool})).await.unwrap();
            seen.text() == "count"
        }
    });
    let options = asking(ask).approval(ApprovalPolicy::Annotations);
    let manager = manager(stdio(&[]), options);
    *own.lock().unwrap() = Some(manager.clone());
    manager.connect_all().await.unwrap();
    assert_eq!(call(&manager, "count", json!({})).await.unwrap().text(), "1");
    own.lock().unwrap().take();
    manager.close().await;
}

#[tokio::test]
async fn a_yes_that_comes_after_the_server_died_waits_for_its_restart() {
    let journal = Journal::new("approval-restart");
    let (ask, asked, go) = late_yes();
    let manager = manager(stdio(&["--journal", journal.path()]), asking(ask));
    manager.connect_all().await.unwrap();
    let waiting = tokio::spawn({
        let manager = manager.clone();
        async move { call(&manager, "count", json!({})).await }
    });
    asked.notified().await;
    let pid = rustix::process::Pid::from_raw(manager.status()[0].pid.unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("the end of the server", || manager.status()[0].restarts > 0).await;
    go.notify_one();
    assert_eq!(waiting.await.unwrap().unwrap().text(), "1");
    manager.close().await;
    assert_eq!(ran(&journal, "count"), 1);
}

#[tokio::test]
async fn a_call_waits_for_the_server_only_after_the_yes() {
    let ask = OnApproval::new(|_| async {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        true
    });
    let manager = manager(stdio(&[]), asking(ask));
    manager.connect_all().await.unwrap();
    let limits = |idle, total| {
        CallOptions::default()
            .timeout(Duration::from_millis(idle))
            .max_total_timeout(Duration::from_millis(total))
    };
    let sleep = |ms: u64, options| {
        manager.call_tool("s", "sleep", Arguments::new(&json!({"ms": ms})).unwrap(), options)
    };
    assert_eq!(sleep(0, limits(1000, 60_000)).await.unwrap().text(), "slept");
    // The server gets the rest of the total limit.
    let late = sleep(60_000, limits(60_000, 2200)).await.unwrap_err();
    assert_eq!((late.code(), late.executed()), ("TOOL_TIMEOUT", Some(Executed::Unknown)));
    manager.close().await;
}

#[tokio::test]
async fn who_panics_has_not_approved() {
    let journal = Journal::new("approval-panic");
    let at_once = OnApproval::new(|question: ApprovalQuestion| {
        assert!(question.tool.is_empty(), "on purpose");
        async { true }
    });
    let later = OnApproval::new(|question: ApprovalQuestion| async move {
        assert!(question.tool.is_empty(), "on purpose");
        true
    });
    for ask in [at_once, later] {
        let manager = manager(stdio(&["--journal", journal.path()]), asking(ask));
        manager.connect_all().await.unwrap();
        let error = call(&manager, "count", json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.executed()), ("NOT_APPROVED", Some(Executed::No)));
        manager.close().await;
    }
    assert_eq!(ran(&journal, "count"), 0);
}

#[tokio::test]
async fn a_yes_is_too_late_for_a_tool_that_is_not_offered_any_more() {
    let journal = Journal::new("approval-filtered");
    let (ask, asked, go) = late_yes();
    let mut server = stdio(&["--journal", journal.path()]);
    let manager = manager(server.clone(), asking(ask));
    manager.connect_all().await.unwrap();
    let waiting = call(&manager, "count", json!({}));
    let filtered = async {
        asked.notified().await;
        server["disabledTools"] = json!(["count"]);
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
        manager.reload_with(config).await.unwrap();
        go.notify_one();
    };
    let (outcome, ()) = tokio::join!(waiting, filtered);
    let error = outcome.unwrap_err();
    assert_eq!((error.code(), error.executed()), ("TOOL_REJECTED", Some(Executed::No)));
    assert_eq!(ran(&journal, "count"), 0);
    manager.close().await;
}

#[tokio::test]
async fn a_manager_that_is_gone_sends_nothing_after_a_late_yes() {
    let journal = Journal::new("approval-gone");
    let (ask, asked, go) = late_yes();
    let manager = manager(stdio(&["--journal", journal.path()]), asking(ask));
    manager.connect_all().await.unwrap();
    let waiting = manager.call_tool("s", "count", Arguments::none(), CallOptions::default());
    asked.notified().await;
    drop(manager);
    go.notify_one();
    let error = waiting.await.unwrap_err();
    assert_eq!(error.executed(), Some(Executed::No), "{error:?}");
    assert_eq!(ran(&journal, "count"), 0);
}

#[tokio::test]
async fn a_read_only_call_that_is_sent_again_is_asked_about_at_no_time() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let ask = OnApproval::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { true }
    });
    let (web, url) = Web::start(["--lose-session-after", "1", "--no-get", "--hint-tools"]);
    let options = asking(ask).approval(ApprovalPolicy::Annotations);
    let manager = manager(json!({"url": url}), options);
    manager.connect_all().await.unwrap();
    for _ in 0..3 {
        call(&manager, "read_only_count", json!({})).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    call(&manager, "idempotent_count", json!({})).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    manager.close().await;
    drop(web);
}

#[tokio::test]
async fn a_tool_that_is_read_only_no_longer_is_not_sent_again_nor_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    let (mode, hold) = (dir.path().join("mode"), dir.path().join("hold"));
    let journal = Journal::new("approval-hints");
    std::fs::write(&mode, "").unwrap();
    std::fs::write(&hold, "hold").unwrap();
    let script = format!(
        "exec '{}' stdio $(cat '{}') --hold 'tools/call={}' --journal '{}'",
        common::fixture().display(),
        mode.display(),
        hold.display(),
        journal.path()
    );
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let ask = OnApproval::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { false }
    });
    let options = asking(ask).approval(ApprovalPolicy::Annotations);
    let manager = manager(json!({"command": "sh", "args": ["-c", script]}), options);
    manager.connect_all().await.unwrap();
    let options = CallOptions::default().retry(mcpool::Retry::Safe);
    let arguments = Arguments::new(&json!({"text": "hi"})).unwrap();
    let waiting = manager.call_tool("s", "echo", arguments, options);
    let received = |entry: &Value| entry["method"] == "tools/call";
    until("the first try", || journal.entries().iter().any(received)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    std::fs::write(&mode, "--no-hints").unwrap();
    let pid = rustix::process::Pid::from_raw(manager.status()[0].pid.unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let error = waiting.await.unwrap_err();
    // It may have run the first time, and its tool no longer declares that a second run is harmless.
    assert_eq!((error.code(), error.executed()), ("CONNECTION_LOST", Some(Executed::Unknown)));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(journal.entries().iter().filter(|entry| received(entry)).count(), 1);
    manager.close().await;
}

/// The calls in the events, until none is open.
async fn told(manager: &Manager, work: impl Future<Output = ()>) -> Vec<(CallPhase, u64, bool)> {
    let events = manager.events();
    work.await;
    manager.close().await;
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::Call { phase, call, cancelled, .. } = event.kind {
            told.push((phase, call, cancelled));
        }
    }
    told
}

#[tokio::test]
async fn every_call_that_began_is_told_as_ended_once() {
    let options = apart().call_events(true);
    let manager = manager(stdio(&[]), options);
    manager.connect_all().await.unwrap();
    let work = async {
        let calls = (0..40).map(|number| {
            let manager = manager.clone();
            tokio::spawn(async move {
                let arguments = Arguments::new(&json!({"ms": number % 4})).unwrap();
                let sleep = manager.call_tool("s", "sleep", arguments, CallOptions::default());
                // Some are cancelled at about the time at which they finish.
                let limit = Duration::from_millis(if number % 2 == 0 { 60_000 } else { 2 });
                let _ = tokio::time::timeout(limit, sleep).await;
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    };
    let told = told(&manager, work).await;
    for call in 1..=40 {
        let of = told.iter().filter(|(_, of, _)| *of == call).map(|(phase, ..)| *phase);
        assert_eq!(of.collect::<Vec<_>>(), [CallPhase::Started, CallPhase::Finished], "{call}");
    }
    assert_eq!(told.len(), 80);
}

#[tokio::test]
async fn a_sign_in_is_told_once_for_each_attempt() {
    let (web, url) = Web::start(["--bearer", "s3cret"]);
    let (refusing, calls) = Web::start(["--status", "401:tools/call"]);
    let config = json!({"mcpServers": {"shut": {"url": url}, "s": {"url": calls}}});
    let manager = Manager::new(Config::from_value(config).unwrap(), apart());
    let events = manager.events();
    manager.connect_all().await.unwrap();
    for _ in 0..3 {
        assert_eq!(call(&manager, "count", json!({})).await.unwrap_err().code(), "AUTH_REQUIRED");
    }
    manager.connect("shut").await.unwrap_err();
    manager.close().await;
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::AuthRequired { error } = event.kind {
            assert_eq!(error.server(), Some(event.server.as_str()));
            told.push(event.server);
        }
    }
    assert_eq!(told, ["shut", "s", "shut"]);
    drop((web, refusing));
}
