//! Promise: the shipped schema describes valid configs. Documented examples and canonical forms conform to it, and the
//! validator warns about what it does not know.

use std::path::Path;

use mcpool::Config;
use mcpool::config::schema;
use serde_json::{Value, json};

/// Why `value` does not conform to `schema`. Supports the keywords that our schema uses and fails on any other.
fn misfit(value: &Value, schema: &Value, path: &str) -> Option<String> {
    let Value::Object(words) = schema else {
        return (*schema == json!(false)).then(|| format!("{path}: not allowed"));
    };
    words.iter().find_map(|(word, rule)| {
        let fits = match word.as_str() {
            "$schema" | "$id" | "title" | "description" | "default" | "deprecated" => true,
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| is_of(value, name)),
                name => is_of(value, name),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap())
            }
            "maxLength" => {
                value.as_str().is_none_or(|text| text.len() as u64 <= rule.as_u64().unwrap())
            }
            "pattern" => {
                assert_eq!(rule, "^[a-zA-Z0-9_.-]+$");
                mcpool::check_name(value.as_str().unwrap()).is_ok()
            }
            "required" => {
                let there = |key: &Value| value.get(key.as_str().unwrap()).is_some();
                !value.is_object() || rule.as_array().unwrap().iter().all(there)
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|it| misfit(value, it, path).is_none()),
            "oneOf" => {
                let fitting =
                    rule.as_array().unwrap().iter().filter(|it| misfit(value, it, path).is_none());
                fitting.count() == 1
            }
            "items" => {
                let mut items = value.as_array().into_iter().flatten();
                return items.find_map(|item| misfit(item, rule, &format!("{path}[]")));
            }
            "propertyNames" => {
                let mut keys = value.as_object().into_iter().flat_map(|object| object.keys());
                return keys.find_map(|key| misfit(&json!(key), rule, path));
            }
            "properties" => {
                let mut fields = rule.as_object().unwrap().iter();
                return fields.find_map(|(key, rule)| {
                    misfit(value.get(key)?, rule, &format!("{path}.{key}"))
                });
            }
            "additionalProperties" => {
                let named = |key: &str| schema["properties"].get(key).is_some();
                let mut others =
                    value.as_object().into_iter().flatten().filter(|(key, _)| !named(key));
                return others
                    .find_map(|(key, other)| misfit(other, rule, &format!("{path}.{key}")));
            }
            other => panic!("this check does not know the word {other:?}"),
        };
        (!fits).then(|| format!("{path}: {word}"))
    })
}

fn is_of(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("no type of JSON: {other}"),
    }
}

fn of_server(definition: &Value) -> Option<String> {
    misfit(&json!({"mcpServers": {"n": definition}}), &schema(), "")
}

#[test]
fn the_shipped_file_is_this_schema() {
    let shipped: Value =
        serde_json::from_str(include_str!("../schema/mcpool.schema.json")).unwrap();
    assert_eq!(shipped, schema());
}

/// Every definition inside a scenario.
fn definitions(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| definitions(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::Object(servers) if key == "mcpServers" => {
                        found.extend(servers.values().cloned())
                    }
                    _ => definitions(value, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_definition_that_the_scenarios_use_fits_unless_it_is_warned_of() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenarios");
    let mut found = Vec::new();
    for file in std::fs::read_dir(scenarios).unwrap().flatten() {
        if file.path().extension().is_some_and(|ending| ending == "json") {
            let text = std::fs::read_to_string(file.path()).unwrap();
            definitions(&serde_json::from_str(&text).unwrap(), &mut found);
        }
    }
    let schema = schema();
    let fields = &schema["properties"]["mcpServers"]["additionalProperties"]["properties"];
    // The schema is for those who write our files; other products' words are understood all the same.
    let in_our_words = |definition: &Value| {
        let mut written = definition.as_object().into_iter().flatten();
        written.all(|(key, value)| fields.get(key).is_some() && !value.is_null())
    };
    let clean = |definition: &&Value| {
        let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
        let is_fine = config.servers["n"].config.is_ok() && config.warnings.is_empty();
        is_fine && in_our_words(definition)
    };
    let clean: Vec<&Value> = found.iter().filter(clean).collect();
    assert!(clean.len() > 50, "{} of {}", clean.len(), found.len());
    for definition in clean {
        assert_eq!(of_server(definition), None, "{definition}");
    }
}

#[test]
fn what_the_files_of_every_product_become_fits() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/configs");
    let mut found = 0;
    for product in std::fs::read_dir(configs).unwrap().flatten() {
        let Ok(text) = std::fs::read_to_string(product.path().join("golden.json")) else {
            continue;
        };
        let golden: Value = serde_json::from_str(&text).unwrap();
        let platforms = golden.as_object().unwrap().values();
        for server in platforms.flat_map(|it| it["servers"].as_array().unwrap()) {
            for canonical in ["config", "direct"].map(|key| &server[key]) {
                if !canonical.is_null() {
                    found += 1;
                    assert_eq!(of_server(canonical), None, "{:?}: {canonical}", product.path());
                }
            }
        }
    }
    assert!(found > 100, "{found}");
}

/// A page's code blocks in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let opened = page.split(&*fence).skip(1);
    opened.map(|rest| rest.split("\n```").next().unwrap()).collect()
}

#[test]
fn what_the_pages_show_fits_and_is_warned_of_nowhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (quick_start, configuration) = (page("docs/quickstart.md"), page("docs/configuration.md"));
    let rust = blocks(&quick_start, "rust").into_iter().flat_map(|block| {
        block.split("from_json(r#\"").skip(1).map(|rest| rest.split("\"#").next().unwrap())
    });
    let in_rust = rust.filter(|text| text.contains("mcpServers"));
    let examples: Vec<&str> = blocks(&configuration, "json").into_iter().chain(in_rust).collect();
    assert!(examples.len() >= 2, "{examples:?}");
    for text in examples {
        let example: Value = serde_json::from_str(text).unwrap();
        assert_eq!(misfit(&example, &schema(), ""), None, "{text}");
        let config = Config::from_json(text).unwrap();
        assert!(config.servers.values().all(|server| server.config.is_ok()), "{text}");
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    }
}

#[test]
fn what_is_right_fits_and_what_is_wrong_does_not() {
    let right = [
        json!({"command": "x"}),
        json!({"command": "x", "args": [1, "a", true], "env": {"A": 5}, "cwd": null}),
        json!({"type": "sse", "url": "http://h/", "headers": {"A": "b"}}),
        json!({"command": "x", "restart": "never", "keepAlive": 5000, "tools": {"a": {"enabled": false}}}),
        json!({"command": "x", "restart": {"delays": [1, 2]}, "keepAlive": "always", "tools": ["*"]}),
        json!({"command": "x", "limits": {"jsonDepth": 5}, "isolate": "session", "auth": {"callbackPort": 8080}}),
    ];
    for definition in right {
        assert_eq!(of_server(&definition), None, "{definition}");
    }
    let wrong = [
        json!({}),
        json!({"command": "x", "url": "http://h/"}),
        json!({"command": ""}),
        json!({"comand": "x"}),
        json!({"command": "x", "timeOut": 5}),
        json!({"command": "x", "timeout": 0}),
        json!({"command": "x", "timeout": "5"}),
        json!({"command": "x", "enabled": "yes"}),
        json!({"type": "carrier-pigeon", "url": "http://h/"}),
        json!({"command": "x", "restart": "always"}),
        json!({"command": "x", "restart": {"delay": [1]}}),
        json!({"command": "x", "limits": {"colour": 1}}),
        json!({"command": "x", "args": "y"}),
        json!({"command": "x", "env": {"A": ["b"]}}),
    ];
    for definition in wrong {
        assert!(of_server(&definition).is_some(), "{definition}");
    }
    assert!(misfit(&json!({"mcpServers": {"a b": {"command": "x"}}}), &schema(), "").is_some());
    assert!(misfit(&json!({}), &schema(), "").is_some());
    let shared_file = json!({"$schema": "x", "mcpServers": {}, "of another program": 1});
    assert_eq!(misfit(&shared_file, &schema(), ""), None);
}

#[test]
fn the_canonical_form_fits_whatever_was_written() {
    let odd = [
        json!({"command": "x", "disabled": true, "timeout": "soon", "restart": {"delays": [5], "forever": true}}),
        json!({"type": "ws", "url": "wss://h/", "headers": {"A": 5}, "keepAlive": 0, "limits": {"jsonDepth": 4}}),
        json!({"command": "x", "args": [1.5], "enabled_tools": ["a"], "tools": {"b": {"enabled": false}}, "auth": {}}),
        json!({"command": "x", "protocol": "2025-11-25", "requestTimeout": 1, "toolTimeout": 500, "maxConcurrency": 3}),
    ];
    for definition in odd {
        let config = Config::from_value(json!({"mcpServers": {"n": definition}})).unwrap();
        let canonical = config.to_value();
        assert_eq!(canonical["mcpServers"]["n"].as_object().map(|it| it.is_empty()), Some(false));
        assert_eq!(misfit(&canonical, &schema(), ""), None, "{canonical}");
    }
}
