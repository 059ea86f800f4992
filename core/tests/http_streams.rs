//! Event streams may end at any time: answers and notifications still arrive.

mod common;

use std::sync::{Arc, Mutex};

use common::{Journal, Web, call, manager, until};
use mcpool::{Arguments, CallOptions};
use serde_json::json;

fn gets(journal: &Journal) -> Vec<String> {
    let entries = journal.entries();
    let gets = entries.iter().filter(|entry| entry["event"] == "http" && entry["verb"] == "GET");
    gets.map(|entry| entry["last_event_id"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_fetched_after_its_stream_was_cut() {
    let journal = Journal::new("cut-stream");
    let (_web, url) = Web::start([
        "--sessions",
        "--cut-post-stream",
        "tools/call",
        "--event-ids",
        "--retry",
        "1",
        "--close-get-after",
        "250",
        "--journal",
        journal.path(),
    ]);
    let manager = manager(json!({"s": {"url": url}}));
    manager.connect_all().await.expect("connected");
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = steps.clone();
    let options = CallOptions::default()
        .on_progress(move |progress| seen.lock().unwrap().push(progress.progress));
    let arguments = Arguments::new(&json!({"steps": 4, "ms": 200})).expect("an object");
    let result = manager.call_tool("s", "progress", arguments, options).await.expect("an answer");
    assert_eq!(result.text(), "done");
    assert_eq!(*steps.lock().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert!(gets(&journal).iter().filter(|last| !last.is_empty()).count() >= 2, "in several parts");
    let ran = journal.entries().iter().filter(|entry| entry["event"] == "ran").count();
    assert_eq!(ran, 1, "the call was sent once");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_standing_stream_is_opened_again_and_carries_what_comes_later() {
    let journal = Journal::new("standing-stream");
    let (_web, url) = Web::start([
        "--sessions",
        "--event-ids",
        "--retry",
        "100",
        "--close-get-after",
        "50",
        "--journal",
        journal.path(),
    ]);
    let manager = manager(json!({"s": {"url": url}}));
    manager.connect_all().await.expect("connected");
    until("the stream was opened again", || gets(&journal).len() >= 3).await;
    call(&manager, "change_tools", json!({"name": "fresh"})).await.expect("an answer");
    until("the new tool is known", || {
        manager.get_tools().tools().iter().any(|tool| tool.definition.raw_name() == "fresh")
    })
    .await;
    until("the stream goes on after what came", || {
        gets(&journal).iter().any(|last| !last.is_empty())
    })
    .await;
    manager.close().await;
}
