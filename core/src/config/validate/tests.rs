use std::time::Duration;

use serde_json::json;

use super::super::{Config, HealthProbe, Isolate, KeepAlive, Limits};
use super::*;

fn problem(definition: Value) -> String {
    let error = server("n", definition, &mut Vec::new()).unwrap_err();
    assert_eq!(error.code(), "CONFIG_INVALID");
    error.message().to_owned()
}

#[test]
fn structural_mistakes_have_the_contracts_texts() {
    assert_eq!(
        problem(json!({"command": "x", "url": "http://h"})),
        "Server \"n\": both \"command\" and \"url\" are set - server should be either stdio (command) OR http/sse (url), not both"
    );
    assert_eq!(problem(json!({})), "Server \"n\": stdio server requires \"command\" field");
    for kind in ["http", "sse", "websocket"] {
        assert_eq!(
            problem(json!({"type": kind})),
            format!("Server \"n\": {kind} server requires \"url\" field")
        );
    }
    assert_eq!(
        problem(json!({"type": "x", "command": "c"})),
        "Server \"n\": unknown server type \"x\""
    );
    assert!(problem(json!({"url": "ftp://h/x"})).contains("http/https"));
    assert!(problem(json!({"type": "ws", "url": "http://h/x"})).contains("ws/wss"));
}

#[test]
fn names_are_checked() {
    assert_eq!(check_name("").unwrap_err().message(), "Server name cannot be empty");
    assert_eq!(
        check_name(&"a".repeat(101)).unwrap_err().message(),
        "Server name is too long (max 100 characters)"
    );
    assert_eq!(
        check_name("a b").unwrap_err().message(),
        "Server name \"a b\" may only contain letters, digits, \"_\", \".\" and \"-\""
    );
    check_name("A-z_0.9").unwrap();
}

#[test]
fn a_wrong_switch_is_a_warning_and_the_default() {
    let config = Config::from_value(json!({"mcpServers": {
        "n": {"command": "x", "enabled": "yes", "timeout": "soon", "colour": 1}
    }}))
    .unwrap();
    let server = config.servers["n"].config.as_ref().unwrap();
    assert!(server.enabled);
    assert_eq!(server.timeout.as_millis(), 30_000);
    assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
}

#[test]
fn settings_have_their_defaults() {
    let mut warnings = Vec::new();
    let server = server("n", json!({"command": "x", "restart": null}), &mut warnings).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(!server.lazy && server.shared);
    assert_eq!(server.isolate, Isolate::None);
    assert_eq!(server.health_probe, HealthProbe::Auto);
    assert_eq!((server.ping_interval, server.idle_shutdown), (None, None));
    assert_eq!(server.keep_alive, None);
    assert_eq!(server.limits, Limits::default());
}

#[test]
fn settings_are_read_as_written() {
    let mut warnings = Vec::new();
    let definition = json!({
        "command": "x", "lazy": true, "shared": false, "isolate": "session", "healthProbe": "listTools",
        "pingInterval": 15_000, "keepAlive": 0, "idleShutdown": 60_000,
        "limits": {"messageBytes": 1000, "serverRequests": 1},
    });
    let server = server("n", definition, &mut warnings).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(server.lazy && !server.shared);
    assert_eq!(server.isolate, Isolate::Session);
    assert_eq!(server.health_probe, HealthProbe::ListTools);
    assert_eq!(server.ping_interval, Some(Duration::from_secs(15)));
    assert_eq!(server.keep_alive, Some(KeepAlive::For(Duration::ZERO)));
    assert_eq!(server.idle_shutdown, Some(Duration::from_secs(60)));
    let limits = Limits { message_bytes: 1000, server_requests: 1, ..Limits::default() };
    assert_eq!(server.limits, limits);
}

#[test]
fn a_wrong_setting_is_a_warning_that_names_it_and_the_default() {
    let mistakes = [
        ("lazy", json!("yes")),
        ("shared", json!(0)),
        ("isolate", json!("process")),
        ("restart", json!(true)),
        ("healthProbe", json!("list_tools")),
        ("pingInterval", json!(0)),
        ("pingInterval", json!(-5)),
        ("keepAlive", json!("forever")),
        ("keepAlive", json!(-1)),
        ("idleShutdown", json!("10m")),
        ("limits", json!(7)),
        ("limits.messageBytes", json!({"messageBytes": 0})),
        ("limits.jsonDepth", json!({"jsonDepth": -1})),
        ("limits.serverRequests", json!({"serverRequests": 1.5})),
        ("limits.replyBytes", json!({"replyBytes": "1 MiB"})),
        ("limits.textBytes", json!({"textBytes": 0})),
        ("limits.toolBytes", json!({"toolBytes": []})),
        ("limits.toolListBytes", json!({"toolListBytes": -1})),
        ("limits.colour", json!({"colour": 1})),
    ];
    let plain = server("n", json!({"command": "x"}), &mut Vec::new()).unwrap();
    for (field, value) in mistakes {
        let mut definition = json!({"command": "x"});
        definition[field.split('.').next().unwrap()] = value;
        let mut warnings = Vec::new();
        let server = server("n", definition, &mut warnings).unwrap();
        assert_eq!(warnings.len(), 1, "{field}: {warnings:?}");
        assert!(warnings[0].starts_with(&format!("Server \"n\": \"{field}\" ")), "{warnings:?}");
        assert!(plain.setting_differences(&server).is_empty(), "{field}");
        assert!(!server.lazy);
    }
}

#[test]
fn a_time_that_looks_like_seconds_is_a_warning_with_what_was_meant() {
    for field in ["timeout", "toolTimeout", "pingInterval", "idleShutdown", "keepAlive"] {
        let mut warnings = Vec::new();
        server("n", json!({"command": "x", field: 5}), &mut warnings).unwrap();
        let wanted = format!(
            "Server \"n\": \"{field}\" is 5 ms: times are in milliseconds; 5 seconds are 5000"
        );
        assert_eq!(warnings, [wanted]);
        for fine in [100, 30_000] {
            let mut warnings = Vec::new();
            server("n", json!({"command": "x", field: fine}), &mut warnings).unwrap();
            assert!(warnings.is_empty(), "{warnings:?}");
        }
    }
    let mut warnings = Vec::new();
    server("n", json!({"command": "x", "keepAlive": 0}), &mut warnings).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn the_time_of_a_request_leaves_room_for_a_call() {
    let read = |definition: Value| {
        let mut warnings = Vec::new();
        let server = server("n", definition, &mut warnings).unwrap();
        (server.request_timeout.as_millis(), warnings.len())
    };
    assert_eq!(read(json!({"command": "x"})), (90_000, 0));
    assert_eq!(read(json!({"command": "x", "toolTimeout": 500})), (1500, 0));
    let explicit = json!({"command": "x", "toolTimeout": 2000, "requestTimeout": 5000});
    assert_eq!(read(explicit), (5000, 0));
    let short = json!({"command": "x", "toolTimeout": 2000, "requestTimeout": 2500});
    assert_eq!(read(short), (3000, 1), "one thing is wrong with it");
    let endless = json!({"command": "x", "toolTimeout": u64::MAX, "requestTimeout": 1});
    assert_eq!(read(endless).1, 1);
    let wrong = json!({"command": "x", "toolTimeout": 2000, "requestTimeout": "soon"});
    assert_eq!(read(wrong), (3000, 1));
}

#[test]
fn which_tools_are_offered_can_be_said_in_several_ways() {
    let definition = json!({
        "command": "x", "enabledTools": ["a*"], "enabled_tools": ["b"], "disabledTools": ["c"],
        "tools": {"d": {"enabled": false}, "e": {"enabled": true}, "f": {}},
    });
    let filter = server("n", definition, &mut Vec::new()).unwrap().tools;
    assert_eq!(
        (filter.enabled, filter.disabled),
        (Some(vec!["a*".into(), "b".into()]), vec!["c".into(), "d".into()])
    );
    let list = server("n", json!({"command": "x", "tools": ["*"]}), &mut Vec::new()).unwrap();
    assert_eq!(list.tools.enabled.unwrap(), ["*"]);
    let mut warnings = Vec::new();
    let none = server("n", json!({"command": "x", "enabledTools": []}), &mut warnings).unwrap();
    assert_eq!((none.tools.enabled, warnings.len()), (Some(Vec::new()), 1));
    for wrong in [json!("a"), json!([1, {}]), json!({"a": 1})] {
        problem(json!({"command": "x", "disabledTools": wrong}));
    }
    problem(json!({"command": "x", "tools": "a"}));
    problem(json!({"command": "x", "auth": "token"}));
}

#[test]
fn one_servers_mistake_leaves_the_others() {
    let config = Config::from_json(
        r#"{"mcpServers": {"bad": 7, "good": {"command": "x", "args": ["-p", 80]}}}"#,
    )
    .unwrap();
    assert!(config.servers["bad"].config.is_err());
    assert!(config.servers["good"].config.is_ok());
    assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["bad", "good"]);
}

#[test]
fn a_config_without_servers_is_an_error() {
    for text in ["[]", "{}", "{\"mcpServers\": []}", "nonsense"] {
        assert_eq!(Config::from_json(text).unwrap_err().code(), "CONFIG_INVALID");
    }
}

#[test]
fn tls_of_a_wrong_type_is_an_error() {
    for wrong in [json!("x"), json!(true), json!(["ca.pem"])] {
        let problem = problem(json!({"url": "https://h/", "tls": wrong}));
        assert_eq!(problem, "Server \"n\": \"tls\" must be an object");
    }
    assert!(server("n", json!({"url": "https://h/", "tls": null}), &mut Vec::new()).is_ok());
}

#[test]
fn tls_without_an_effect_is_a_warning() {
    let tls = json!({"ca": "ca.pem"});
    for (definition, warned) in [
        (json!({"command": "x", "tls": tls}), true),
        (json!({"url": "http://h/", "tls": tls}), true),
        (json!({"type": "ws", "url": "WS://h/", "tls": tls}), true),
        (json!({"url": "https://h/", "tls": tls}), false),
        (json!({"type": "ws", "url": "wss://h/", "tls": tls}), false),
        (json!({"url": "${SCHEME}://h/", "tls": tls}), false),
        (json!({"url": "http://h/"}), false),
    ] {
        let mut warnings = Vec::new();
        server("n", definition.clone(), &mut warnings).unwrap();
        assert_eq!(warnings.len(), usize::from(warned), "{definition}: {warnings:?}");
        let named = |it: &String| it.starts_with("Server \"n\": \"tls\" has no effect");
        assert!(warnings.iter().all(named), "{warnings:?}");
    }
}
