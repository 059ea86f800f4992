//! Owns the fixture over any transport, and the work beside a hostile server: others must answer, and memory must stay
//! bounded.
#![allow(dead_code)]

use mcpool::{Arguments, CallOptions, Manager};
use serde_json::{Value, json};

use crate::common::{PATIENCE, Web, manager, resident, stdio};

/// HTTP twice: with the answers of calls as JSON, and as event streams.
pub(crate) const TRANSPORTS: [&str; 5] = ["stdio", "http", "http-events", "sse", "websocket"];

/// The protocol of 2026-07-28, which has no handshake.
pub(crate) const STATELESS: [&str; 2] = ["stdio, stateless", "http-events, stateless"];

/// Memory is measured for the whole process, so tests that measure it run one at a time.
pub(crate) static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A fixture that ends with the test, and its definition.
pub(crate) struct Fixture {
    _web: Option<Web>,
    pub(crate) definition: Value,
}

/// Starts the fixture over this transport.
pub(crate) fn serve(transport: &str, knobs: &[&str]) -> Fixture {
    if let Some(transport) = transport.strip_suffix(", stateless") {
        let mut fixture = serve(transport, &[knobs, &["--era", "stateless"]].concat());
        fixture.definition["protocol"] = json!("2026-07-28");
        return fixture;
    }
    let (kind, more) = match transport {
        "stdio" => return Fixture { _web: None, definition: stdio(knobs) },
        "http-events" => ("http", &["--sse"][..]),
        other => (other, &[][..]),
    };
    let (web, url) = Web::start_over(kind, knobs.iter().chain(more).copied());
    Fixture { _web: Some(web), definition: json!({"type": kind, "url": url}) }
}

/// A manager with the hostile server `s` and the friendly server `other`, both connected if they can be.
pub(crate) async fn with_other(hostile: Value) -> Manager {
    let manager = manager(json!({"s": hostile, "other": stdio(&[])}));
    let report = tokio::time::timeout(PATIENCE, manager.connect_all()).await;
    let report = report.expect("connect_all ends").expect("a report");
    assert!(report.connected.iter().any(|name| name == "other"), "{report:?}");
    manager
}

/// Calls the friendly server.
pub(crate) async fn call_other(manager: &Manager) {
    let arguments = Arguments::new(&json!({"text": "x"})).expect("an object");
    let call = manager.call_tool("other", "echo", arguments, CallOptions::default());
    assert_eq!(call.await.expect("other servers answer").text(), "x");
}

/// Runs `work` while the friendly server is called again and again. Fails if that does not answer, if `work` does not
/// end, or if it takes more than `most` bytes of memory at any time.
pub(crate) async fn beside<T>(manager: &Manager, most: usize, work: impl Future<Output = T>) -> T {
    let before = resident();
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let calls = async {
        loop {
            call_other(manager).await;
        }
    };
    let done = tokio::select! {
        done = tokio::time::timeout(PATIENCE, work) => done.expect("an end"),
        () = calls => unreachable!("it never ends"),
    };
    call_other(manager).await;
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kib: usize = line.split_whitespace().nth(1).expect("a value").parse().expect("a number");
    let cost = (kib << 10).saturating_sub(before);
    assert!(cost < most, "{} MiB of memory", cost >> 20);
    done
}

/// Closes the manager, in bounded time; no call may be left in flight.
pub(crate) async fn close(manager: &Manager) {
    for status in manager.status() {
        assert_eq!(status.calls.in_flight, 0, "{} has calls in flight", status.name);
    }
    tokio::time::timeout(PATIENCE, manager.close()).await.expect("close ends");
}
