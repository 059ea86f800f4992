//! Hazard: a missing value stops everything, or its warning shows more than its name.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Web, apart, lives, stdio, until};
use mcpool::{Config, EventKind, HostEnv, Manager, State};
use serde_json::{Value, json};

const MARKER: &str = "marker-8c1f";

fn manager(servers: Value, bare_env_names: bool) -> Manager {
    let env = [("PATH", std::env::var("PATH").unwrap()), ("TOKEN", MARKER.to_owned())];
    let env: BTreeMap<_, _> = env.map(|(name, value)| (name.to_owned(), value)).into();
    let host_env = HostEnv::new(Some(env), None, None);
    let config = Config::from_value(json!({"mcpServers": servers})).unwrap();
    Manager::new(config, apart().host_env(host_env).bare_env_names(bare_env_names))
}

#[tokio::test]
async fn what_is_not_set_is_told_once_however_often_it_is_tried() {
    let mut server = stdio(&["--exit-at", "start"]);
    server["env"] = json!({"A": "${NOT_SET}", "B": "!exit 1", "C": "${TOKEN}"});
    server["restart"] = json!({"delays": [0, 0, 0, 0]});
    let manager = manager(json!({"s": server}), false);
    let events = manager.events();
    manager.connect_all().await.unwrap();
    until("it gives up", || manager.status()[0].state == State::Failed).await;
    let warnings = manager.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().any(|line| line.contains("\"env.A\"") && line.contains("NOT_SET")));
    assert!(warnings.iter().any(|line| line.contains("\"env.B\"")));
    manager.close().await;
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        assert!(!format!("{event:?}").contains(MARKER));
        if let EventKind::Log { level, data, .. } = event.kind
            && level == "warning"
        {
            told.push(data.as_str().unwrap().to_owned());
        }
    }
    told.sort();
    let mut warnings = warnings;
    warnings.sort();
    assert_eq!(told, warnings);
}

#[tokio::test]
async fn what_is_demanded_and_missing_is_not_tried_again() {
    let mut server = stdio(&[]);
    server["args"] = json!(["${NOT_SET:?run the setup first}"]);
    let manager = manager(json!({"s": server, "good": stdio(&[])}), false);
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected, ["good"]);
    let error = &report.failed["s"];
    assert_eq!((error.code(), error.server()), ("CONFIG_INVALID", Some("s")));
    assert!(error.message().contains("run the setup first"));
    let status = &manager.status()[0];
    assert_eq!((status.state, status.attempt, status.next_retry_ms), (State::Failed, 1, None));
    manager.close().await;
}

#[tokio::test]
async fn a_hanging_command_is_bounded_by_the_servers_own_timeout_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let mut slow = stdio(&[]);
    slow["env"] = json!({"A": format!("!echo $$ > {}; sleep 60", pid.display())});
    slow["timeout"] = json!(400);
    slow["restart"] = json!("never");
    let manager = manager(json!({"s": slow, "good": stdio(&[])}), false);
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected, ["good"]);
    let error = &report.failed["s"];
    assert_eq!(error.code(), "CONNECT_TIMEOUT");
    assert_eq!(error.stage(), Some(mcpool::Stage::Resolve), "{error}");
    let pid: i64 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    until("the command is gone", || !lives(pid)).await;
    manager.close().await;
}

#[tokio::test]
async fn closing_ends_a_command_that_is_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let mut slow = stdio(&[]);
    slow["env"] = json!({"A": format!("!echo $$ > {}; sleep 60", pid.display())});
    let manager = manager(json!({"s": slow}), false);
    let connecting = tokio::spawn(manager.connect_all());
    let read = || std::fs::read_to_string(&pid).unwrap_or_default().trim().parse::<i64>();
    until("the command runs", || read().is_ok()).await;
    tokio::time::timeout(Duration::from_secs(10), manager.close()).await.unwrap();
    assert_eq!(connecting.await.unwrap().unwrap_err().code(), "CLOSED");
    let pid = read().unwrap();
    until("the command is gone", || !lives(pid)).await;
}

#[tokio::test]
async fn headers_get_what_the_scope_allows() {
    let (_web, url) = Web::start(["--bearer", MARKER]);
    let with = |header: &str| json!({"url": url, "headers": {"Authorization": header}, "restart": "never"});
    let servers = json!({
        "reference": with("Bearer ${TOKEN}"),
        "command": with("!printf 'Bearer %s' \"$TOKEN\""),
        "escaped": with("Bearer $${TOKEN}"),
    });
    let manager = manager(servers, true);
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected, ["reference", "command"], "{report:?}");
    assert_eq!(report.failed.keys().collect::<Vec<_>>(), ["escaped"]);
    assert!(!format!("{report:?} {:?}", manager.status()).contains(MARKER));
    manager.close().await;
}

#[tokio::test]
async fn whoever_joins_a_connection_hears_what_is_odd_about_it() {
    let mut server = stdio(&[]);
    server["env"] = json!({"A": "${NOT_SET}"});
    let first = manager(json!({"s": server}), false);
    first.connect_all().await.unwrap();
    let child = first.child().unwrap();
    assert!(child.warnings().is_empty());
    child.connect_all().await.unwrap();
    assert_eq!(child.warnings(), first.warnings());
    assert_eq!(child.warnings().len(), 1);
    first.close().await;
    child.close().await;
}

#[tokio::test]
async fn two_scopes_are_two_servers_only_where_a_value_depends_on_them() {
    let pool = mcpool::Pool::new(mcpool::PoolOptions::default());
    let open = |home: &str, servers: Value| {
        let env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        let host_env = HostEnv::new(Some(env), Some(home.into()), None);
        let config = Config::from_value(json!({"mcpServers": servers})).unwrap();
        let pool = Some(pool.clone());
        Manager::new(config, apart().host_env(host_env).pool(pool))
    };
    let (_web, url) = Web::start([]);
    let servers =
        json!({"plain": {"url": url}, "refers": {"url": url, "headers": {"A": "${userHome}"}}});
    let (one, other) = (open("/one", servers.clone()), open("/other", servers));
    assert_eq!(one.connect_all().await.unwrap().connected.len(), 2);
    let report = other.connect_all().await.unwrap();
    assert_eq!(report.connected, ["plain"]);
    let error = &report.failed["refers"];
    assert!(error.code() == "CONFIG_CONFLICT" && error.message().contains("(scope)"), "{error}");
    one.close().await;
    other.close().await;
}
