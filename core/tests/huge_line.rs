//! Hazard: an endless answer fills our memory or breaks the connection.

mod common;

use common::{call, manager, resident, stdio};
use serde_json::json;

#[tokio::test]
async fn a_line_of_100_mb_fails_its_call_and_nothing_else() {
    let manager =
        manager(json!({"s": stdio(&["--huge-line", "100000000", "--huge-at", "tools/call"])}));
    manager.connect_all().await.unwrap();
    let before = resident();
    for _ in 0..2 {
        let error = call(&manager, "echo", json!({"text": "x"})).await.unwrap_err();
        assert_eq!(error.code(), "LIMIT_EXCEEDED");
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 100 << 20, "two lines of 100 MB cost {grown} bytes");
    assert_eq!(manager.status()[0].state, mcpool::State::Connected);
    manager.close().await;
}

#[tokio::test]
async fn a_large_answer_below_the_limit_arrives_whole() {
    let manager = manager(json!({"s": stdio(&[])}));
    manager.connect_all().await.unwrap();
    let result = call(&manager, "big", json!({"bytes": 8_000_000})).await.unwrap();
    assert_eq!(result.text().len(), 8_000_000);
    manager.close().await;
}
