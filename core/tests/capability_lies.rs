//! Hazard: a server that says one thing of its capabilities and does another stops the others, hangs a reader of the
//! tools, or loses its own calls.
#![cfg(target_os = "linux")]

mod common;
#[path = "raw/everywhere.rs"]
mod everywhere;

use std::path::Path;

use common::{call, until};
use everywhere::{Fixture, TRANSPORTS, call_other, close, serve, with_other};
use mcpool::{Manager, State};
use serde_json::json;

/// A server that answers `initialize` with these capabilities.
fn saying(place: &Path, transport: &str, capabilities: &str, more: &[&str]) -> Fixture {
    let file = place.join("initialize");
    let result = format!(r#"{{"protocolVersion":"2025-06-18","capabilities":{capabilities}}}"#);
    std::fs::write(&file, format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#)).unwrap();
    let knob = format!("initialize={}", file.display());
    serve(transport, &[&["--say", &knob], more].concat())
}

fn state(manager: &Manager) -> State {
    manager.status().into_iter().find(|status| status.name == "s").unwrap().state
}

fn tools(manager: &Manager) -> Vec<String> {
    let catalog = manager.get_tools();
    let own = catalog.tools().iter().filter(|tool| tool.definition.server() == "s");
    own.map(|tool| tool.definition.raw_name().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_denies_its_tools_offers_none() {
    for transport in TRANSPORTS {
        for denied in ["{}", "null", "7", "[]", r#"{"tools":null}"#, r#"{"tools":true}"#] {
            let place = tempfile::tempdir().unwrap();
            let fixture = saying(place.path(), transport, denied, &[]);
            let manager = with_other(fixture.definition.clone()).await;
            assert_eq!(state(&manager), State::Connected, "{transport} {denied}");
            assert_eq!(tools(&manager), [""; 0], "{transport} {denied}");
            let error = call(&manager, "echo", json!({"text": "x"})).await.unwrap_err();
            assert_eq!(error.executed(), Some(mcpool::Executed::No), "{error}");
            call_other(&manager).await;
            close(&manager).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_promises_tools_and_knows_no_list_is_refused() {
    for transport in TRANSPORTS {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join("list");
        let refusal = r#"{"code":-32601,"message":"Method not found"}"#;
        std::fs::write(&list, format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{refusal}}}"#))
            .unwrap();
        let knob = format!("tools/list={}", list.display());
        let fixture = saying(place.path(), transport, r#"{"tools":{}}"#, &["--say", &knob]);
        let mut definition = fixture.definition.clone();
        definition["restart"] = json!("never");
        let manager = with_other(definition).await;
        let status = manager.status().into_iter().find(|status| status.name == "s").unwrap();
        assert_eq!(status.state, State::Failed, "{transport}");
        let error = status.error.expect("a reason");
        assert_eq!(error.code(), "HANDSHAKE_FAILED", "{transport}: {error}");
        assert_eq!(error.rpc().map(|rpc| rpc.code), Some(-32601), "{transport}");
        call_other(&manager).await;
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_promises_changes_and_tells_of_none_keeps_nobody_waiting() {
    for transport in TRANSPORTS {
        let place = tempfile::tempdir().unwrap();
        let promise = r#"{"tools":{"listChanged":true}}"#;
        let knobs = ["--announcements", "0"];
        let fixture = saying(place.path(), transport, promise, &knobs);
        let manager = with_other(fixture.definition.clone()).await;
        let before = tools(&manager);
        for number in 0..5 {
            let name = format!("new_{number}");
            call(&manager, "change_tools", json!({"name": name})).await.unwrap();
            assert_eq!(tools(&manager), before, "{transport}");
        }
        call_other(&manager).await;
        close(&manager).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_server_that_promised_none_are_followed() {
    for transport in TRANSPORTS {
        let place = tempfile::tempdir().unwrap();
        let fixture = saying(place.path(), transport, r#"{"tools":{}}"#, &[]);
        let manager = with_other(fixture.definition.clone()).await;
        call(&manager, "change_tools", json!({"name": "new"})).await.unwrap();
        until("the new tool is offered", || tools(&manager).iter().any(|it| it == "new")).await;
        close(&manager).await;
    }
}
