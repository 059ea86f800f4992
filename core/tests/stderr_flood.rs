//! Hazard: a server that writes to stderr endlessly blocks itself or fills our memory.

mod common;

use common::{call, manager, resident, stdio};
use serde_json::json;

#[tokio::test]
async fn a_flood_on_stderr_blocks_nothing_and_stays_small() {
    let manager = manager(json!({"s": stdio(&["--stderr-flood", "20000000"])}));
    let before = resident();
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected, ["s"], "{report:?}");
    for _ in 0..3 {
        assert_eq!(call(&manager, "echo", json!({"text": "x"})).await.unwrap().text(), "x");
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "80 MB of stderr cost {grown} bytes");
    manager.close().await;
}

#[tokio::test]
async fn the_last_lines_are_in_the_error() {
    let knobs =
        ["--stderr", "first", "--stderr", "the licence has expired", "--exit-at", "initialize:7"];
    let manager = manager(json!({"s": stdio(&knobs)}));
    let report = manager.connect_all().await.unwrap();
    let error = &report.failed["s"];
    assert_eq!(error.code(), "CONNECT_FAILED");
    assert_eq!(error.exit_code(), Some(7));
    assert_eq!(error.stderr(), Some("first\nthe licence has expired"));
    manager.close().await;
}
