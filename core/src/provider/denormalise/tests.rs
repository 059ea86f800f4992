use super::*;
use crate::config::canonical_definition;
use crate::config::syntax::unify_references;
use crate::provider::{Inputs, PROVIDERS, normalise};

fn provider(name: &str) -> &'static Provider {
    PROVIDERS.iter().find(|provider| provider.name == name).expect("a product")
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

fn written(product: &str, definition: Value) -> Value {
    let written = denormalise("s", &object(definition), None, provider(product));
    Value::Object(written.unwrap_or_else(|why| panic!("{product}: {why:?}")).entry)
}

fn refused(product: &str, definition: Value) -> String {
    let written = denormalise("s", &object(definition), None, provider(product));
    written.err().unwrap_or_else(|| panic!("{product} can say it")).field
}

/// A definition without what only some products can say.
fn definitions() -> Vec<Value> {
    let settings = json!({
        "enabled": false, "timeout": 20_000, "toolTimeout": 20_000, "disabledTools": ["drop"], "enabledTools": ["a", "b"],
        "requiresApproval": false, "lazy": true, "maxResultChars": 100, "restart": "bounded", "required": true,
        "limits": {"textBytes": 1000}, "auth": {"clientId": "c", "scopes": ["r", "w"]},
    });
    let with = |how: Value| {
        Value::Object(object(how).into_iter().chain(object(settings.clone())).collect())
    };
    vec![
        json!({"command": "npx"}),
        json!({"url": "https://h.example/mcp"}),
        json!({"type": "sse", "url": "https://h.example/sse"}),
        json!({"type": "websocket", "url": "wss://h.example/ws"}),
        with(
            json!({"command": "a b", "args": ["-y", "p q"], "env": {"A": "1", "B": "x$y"}, "cwd": "/srv", "envFile": ".env"}),
        ),
        with(json!({"url": "https://h.example/mcp", "headers": {"X-A": "1"}})),
        json!({"command": "x", "env": {"TOKEN": "${TOKEN}", "OTHER": "a ${NAME}"}}),
        json!({"command": "x", "args": ["${FILES:-.}"], "timeout": 1500}),
        json!({"url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X-U": "${USER_ID}"}}),
        json!({"url": "https://h.example/mcp", "env": {"A": "1"}, "toolTimeout": 90_000}),
        json!({"command": "x", "cwd": "${workspaceFolder}", "env": {"A": "!pass show a", "B": "$!literal"}}),
        json!({"command": "x", "args": ["$${X}", "$HOME", "%PATH%", "{env:X} $", "$(id)"]}),
    ]
}

#[test]
fn every_definition_is_read_back_from_every_product_that_can_say_it() {
    let mut count = 0;
    for provider in PROVIDERS.iter().filter(|provider| !provider.is_own) {
        for definition in definitions() {
            let Ok(written) = denormalise("s", &object(definition.clone()), None, provider) else {
                continue;
            };
            count += 1;
            let back =
                normalise(written.entry.clone(), provider, &Inputs::default()).expect("an entry");
            let canonical = |definition: &Map<String, Value>| {
                let mut it = canonical_definition("s", definition, &mut Vec::new()).expect("valid");
                unify_references(&mut it, provider.syntax);
                Value::Object(it)
            };
            let (name, entry) = (provider.name, Value::Object(written.entry));
            assert_eq!(canonical(&back.definition), canonical(&written.meaning), "{name}: {entry}");
        }
    }
    assert!(count > 130, "{count}");
}

#[test]
fn every_product_can_say_what_it_is_for() {
    for provider in PROVIDERS.iter().filter(|provider| !provider.is_own) {
        for transport in provider.wording.transports {
            let how = match transport.ours {
                "stdio" => json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}),
                "websocket" => json!({"type": "websocket", "url": "wss://h.example/"}),
                ours => json!({"type": ours, "url": "https://h.example/", "headers": {"A": "1"}}),
            };
            let written = denormalise("s", &object(how), None, provider).expect(provider.name);
            let ignored = written.warnings.iter().filter(|warning| !warning.contains("headers"));
            assert_eq!(ignored.count(), 0, "{}: {:?}", provider.name, written.warnings);
        }
    }
}

#[test]
fn shapes_words_and_units_are_the_products() {
    let program =
        json!({"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "timeout": 20_000});
    let cases = [
        ("ael", json!({"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "timeout": 20})),
        (
            "cline",
            json!({"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "timeout": 20}),
        ),
        (
            "goose",
            json!({"type": "stdio", "cmd": "npx", "args": ["-y", "x"], "envs": {"K": "v"}, "timeout": 20, "name": "s",
            "description": "", "enabled": true}),
        ),
        (
            "opencode",
            json!({"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "v"}, "timeout": 20_000,
            "enabled": true}),
        ),
        (
            "codex",
            json!({"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "startup_timeout_sec": 20}),
        ),
        (
            "copilot-cli",
            json!({"type": "local", "command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "timeout": 20_000,
            "tools": ["*"]}),
        ),
    ];
    for (product, expected) in cases {
        assert_eq!(written(product, program.clone()), expected, "{product}");
    }
    let remote = json!({"url": "https://h/", "headers": {"A": "1"}, "enabled": false});
    let cases = [
        ("gemini", json!({"httpUrl": "https://h/", "headers": {"A": "1"}, "enabled": false})),
        ("windsurf", json!({"serverUrl": "https://h/", "headers": {"A": "1"}, "disabled": true})),
        (
            "roo",
            json!({"type": "streamable-http", "url": "https://h/", "headers": {"A": "1"}, "disabled": true}),
        ),
        (
            "goose",
            json!({"type": "streamable_http", "uri": "https://h/", "headers": {"A": "1"}, "enabled": false, "name": "s",
            "description": ""}),
        ),
        ("codex", json!({"url": "https://h/", "http_headers": {"A": "1"}, "enabled": false})),
        (
            "continue",
            json!({"type": "streamable-http", "url": "https://h/", "requestOptions": {"headers": {"A": "1"}},
            "enabled": false}),
        ),
    ];
    for (product, expected) in cases {
        assert_eq!(written(product, remote.clone()), expected, "{product}");
    }
    let references =
        json!({"url": "https://h/", "headers": {"Authorization": "Bearer ${T}", "X": "${Y}"}});
    let by_name =
        json!({"url": "https://h/", "bearer_token_env_var": "T", "env_http_headers": {"X": "Y"}});
    assert_eq!(written("codex", references), by_name);
    let variables = json!({"command": "x", "env": {"A": "${A}", "B": "2"}});
    assert_eq!(
        written("codex", variables),
        json!({"command": "x", "env_vars": ["A"], "env": {"B": "2"}})
    );
}

#[test]
fn what_a_product_cannot_say_is_refused_by_its_field() {
    let socket = json!({"type": "websocket", "url": "wss://h/"});
    assert_eq!(refused("cline", socket), "type");
    assert_eq!(refused("claude-desktop", json!({"url": "https://h/"})), "type");
    assert_eq!(refused("opencode", json!({"type": "sse", "url": "https://h/"})), "type");
    assert_eq!(refused("zed", json!({"command": "x", "env": {"A": "${A}"}})), "env");
    assert_eq!(refused("gemini", json!({"command": "x", "args": ["$HOME"]})), "args");
    assert_eq!(refused("cursor", json!({"command": "x", "env": {"A": "!id"}})), "env");
    assert_eq!(refused("goose", json!({"command": "x", "timeout": 1500})), "timeout");
    assert_eq!(refused("opencode", json!({"command": "x", "lazy": true})), "lazy");
    let times = json!({"command": "x", "timeout": 1000, "toolTimeout": 2000});
    assert_eq!(written("cline", times.clone())["toolTimeout"], 2000);
    assert_eq!(refused("opencode", times), "toolTimeout");
    assert_eq!(refused("sidecar", json!({"command": "x", "args": ["${A}"]})), "args");
}
