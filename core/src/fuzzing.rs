//! Owns the properties that hold for any input: one function for each, for the fuzzer (`fuzz/`) and, with random
//! inputs, for the tests. Not part of the API.
//! Invariant: a violated property panics, and nothing here starts a program.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::config::parse::{Format, parse};
use crate::config::syntax::{Syntax, translate};
use crate::config::{Config, Level, Scope};
use crate::discover::{DiscoverOptions, normalised};
use crate::edit::edited;
use crate::host_env::HostEnv;
use crate::redact::{self, Cut, MaskBuilder};
use crate::resolve::{Sent, expand_value};
use crate::trust::discover;

mod messages;

#[cfg(test)]
mod tests;

pub use messages::{events, frames, lines, messages, metadata, results};

/// Does not look like a secret, so it must be found by its position.
const SECRET: &str = "swordfish";

/// JSON with comments.
pub fn parse_json(data: &[u8]) {
    check_round_trip(data, Format::Json);
}

/// YAML.
pub fn parse_yaml(data: &[u8]) {
    check_round_trip(data, Format::Yaml);
}

/// TOML.
pub fn parse_toml(data: &[u8]) {
    check_round_trip(data, Format::Toml);
}

/// A parsed document can be written and parsed again; an error has a position inside the text.
fn check_round_trip(data: &[u8], format: Format) {
    let text = String::from_utf8_lossy(data);
    match parse(&text, format) {
        Ok(parsed) => {
            let written = parsed.value.to_string();
            let again = parse(&written, Format::Json).expect("JSON that we wrote");
            assert_eq!(without_fractions(again.value), without_fractions(parsed.value));
        }
        Err(error) => assert!(error.line >= 1 && error.column >= 1, "{error}"),
    }
}

/// The last digit of a fraction may change in a round trip.
fn without_fractions(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => Value::Null,
        Value::Array(items) => items.into_iter().map(without_fractions).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, without_fractions(value))).collect()
        }
        plain => plain,
    }
}

/// For any file: adding a server and removing it again restores the content, and adding loses no comment.
pub fn edit(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let name = "a-new_server.1";
    let definition = json!({"command": "x", "args": ["- a: #b", "\n", ""], "env": {"A B": "${C}"}});
    for format in [Format::Json, Format::Yaml, Format::Toml] {
        let Ok(before) = parse(&text, format).map(|parsed| parsed.value) else { continue };
        let Some(with) = edited(&text, format, name, Some(definition.clone())) else { continue };
        let comments = |text: &str| text.matches("#comment").count();
        assert!(comments(&with) >= comments(&text), "{text:?} became {with:?}");
        if let Some(without) = edited(&with, format, name, None) {
            let mut after = parse(&without, format).expect("what we wrote").value;
            // Adding may create the container of servers.
            if let (Some(after), Some(before)) = (after.as_object_mut(), before.as_object()) {
                after.retain(|key, value| before.contains_key(key) || *value != json!({}));
            }
            let same = after == before || before.get("mcpServers") == Some(&Value::Null);
            assert!(same, "{text:?} became {with:?}, then {without:?}");
        }
    }
}

/// For any definition: an accepted one has a canonical form with the same meaning.
pub fn validate(data: &[u8]) {
    let Ok(definition) = serde_json::from_slice::<Value>(data) else { return };
    let read = |definition: &Value| {
        Config::from_value(json!({"mcpServers": {"n": definition}})).expect("a document")
    };
    let first = read(&definition);
    let Ok(config) = first.servers["n"].config.clone() else { return };
    let written = config.to_value();
    let again = read(&written);
    for warning in &again.warnings {
        assert!(first.warnings.contains(warning), "{warning}: {written}");
    }
    let again = again.servers["n"].config.clone().expect("what we wrote");
    assert_eq!(again.to_value(), written);
    assert_eq!(again.fingerprint(), config.fingerprint());
}

/// For any product's files: discovery never fails, and its report contains no secret.
pub fn normalise(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    for format in [Format::Json, Format::Toml, Format::Yaml] {
        let Ok(parsed) = parse(&text, format) else { continue };
        for entry in entries(&parsed.value) {
            if let Some(definition) = normalised(entry, which.into()) {
                validate(Value::Object(definition).to_string().as_bytes());
            }
        }
    }
}

/// All objects of a document that are near enough to the top to be servers.
fn entries(value: &Value) -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    let mut level = vec![value];
    for _ in 0..4 {
        found.extend(level.iter().filter_map(|value| value.as_object().cloned()));
        level = level
            .into_iter()
            .flat_map(|value| match value {
                Value::Object(fields) => fields.values().collect::<Vec<_>>(),
                Value::Array(items) => items.iter().collect(),
                _ => Vec::new(),
            })
            .take(64)
            .collect();
    }
    found.truncate(64);
    found
}

/// All of discovery over one file in a home directory.
pub fn find(data: &[u8]) {
    const FILES: &[&str] = &[
        ".claude.json",
        ".cursor/mcp.json",
        ".codex/config.toml",
        ".continue/config.yaml",
        ".gemini/settings.json",
        ".config/mcpool/mcp.json",
        ".config/opencode/opencode.json",
        ".config/zed/settings.json",
        ".omp/mcp.json",
        "project/.mcp.json",
        "project/.vscode/mcp.json",
        "project/.ai-agent.json",
        "project/ael-config.yaml",
        "project/.ai-agent.env",
    ];
    let Some((&which, content)) = data.split_first() else { return };
    let home = std::env::temp_dir().join(format!("mcpool-fuzz-{}", std::process::id()));
    let file = home.join(FILES[usize::from(which) % FILES.len()]);
    std::fs::create_dir_all(file.parent().unwrap_or(&home))
        .expect("a directory for temporary files");
    std::fs::create_dir_all(home.join("project")).expect("a directory for temporary files");
    std::fs::write(&file, content).expect("a temporary file");
    let env = BTreeMap::from([("KEY".to_owned(), "of the environment".to_owned())]);
    let found = discover(&DiscoverOptions {
        cwd: Some(home.join("project")),
        native: vec!["exa".to_owned()],
        host_env: HostEnv::new(Some(env), Some(home.clone()), None),
        ..DiscoverOptions::default()
    });
    let _ = std::fs::remove_file(&file);
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    found.report();
}

/// For any references in a hostile environment: looked-up values are not expanded again, the result is bounded, and a
/// project's URL and headers contain nothing of the environment.
pub fn expand(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let hostile = "${A}${B:-${A}}$${A}${file:/etc/hostname}";
    let names =
        ["A", "B", "HOME", "API_KEY"].map(|name| (name.to_owned(), format!("{SECRET}{hostile}")));
    let host_env =
        HostEnv::new(Some(names.into_iter().collect()), Some(PathBuf::from("/nowhere")), None);
    let scope = |level| Scope {
        level,
        directory: Some(PathBuf::from("/nowhere")),
        host_env: host_env.clone(),
        ..Scope::default()
    };
    if let Ok(value) = expand_value(&text, &scope(Level::User), HashMap::new(), Sent::No) {
        assert!(value.len() <= 1 << 20);
        let plain = !text.contains('$');
        assert!(!plain || value == text);
    }
    if let Ok(value) = expand_value(&text, &scope(Level::Project), HashMap::new(), Sent::Yes) {
        assert!(text.contains(SECRET) || !value.contains(SECRET), "{value}");
    }
}

/// For any text in any syntax: what a product takes literally is unchanged after expansion.
pub fn translate_any(data: &[u8]) {
    let Some((bits, rest)) = data.split_first_chunk::<4>() else { return };
    let text = String::from_utf8_lossy(rest);
    let syntax = Syntax::from_bits_truncate(u32::from_le_bytes(*bits));
    translate(&text, syntax);
    let literal = translate(&text, Syntax::LITERAL).text;
    let host_env = HostEnv::new(Some(BTreeMap::new()), Some(PathBuf::from("/nowhere")), None);
    let scope = Scope { host_env, ..Scope::default() };
    if let Ok(value) = expand_value(&literal, &scope, HashMap::new(), Sent::No) {
        assert_eq!(value, text, "by way of {literal}");
    }
}

/// A secret in any position, among any words, is not shown.
pub fn redact_any(data: &[u8]) {
    let text = String::from_utf8_lossy(data).replace(SECRET, "");
    let mut words = text.split('\n').map(str::to_owned);
    let mut word = || words.next().unwrap_or_default();
    let (before, after) = (word(), word());
    let mut args: Vec<String> = vec![before.clone(), "--token".into(), format!("{SECRET}{after}")];
    args.extend([format!("--api-key={SECRET}{}", word()), format!("X_SECRET={SECRET}{}", word())]);
    args.extend(["--header".into(), format!("A: {SECRET}{}", word())]);
    args.extend([format!(
        "{} --password '{SECRET}' {}",
        word().replace(['\'', '"', '`'], ""),
        word()
    )]);
    args.extend([format!("https://me:{SECRET}@{}", word())]);
    let value = format!("{}{SECRET}{}", word(), word());
    let query = word().replace(['?', '#', '$'], "");
    let definition = json!({
        "args": args, "command": before,
        "env": {"A": value, "B": format!("${{A:-{SECRET}}}")},
        "headers": {"A": value},
        "auth": {"type": "bearer", "token": value},
        "url": format!("https://h/{query}?key={SECRET}&{}", word()),
    });
    let shown = redact::definition(definition.clone()).to_string();
    assert!(!shown.contains(SECRET), "{definition} is shown as {shown}");
    redact::text(&text);
    redact::url(&text);
    redact::args(std::slice::from_ref(&text));
    let mut values = MaskBuilder::default();
    values.value(&value);
    values.header("Authorization", &text);
    values.args(&args);
    let mask = values.build();
    let said = format!("{text}{value}{text}");
    assert!(!mask.text(&said).contains(&value));
    mask.fragment(&said);
    for form in forms(value.trim()) {
        let said = format!("{text} {form} {text}");
        assert!(!mask.text(&said).contains(&form), "{value:?} as {form:?}");
        let entry = json!({"name": form, "n": [1, {"description": said}]}).to_string();
        let shown = mask.raw_json(entry.into());
        let shown: Value = serde_json::from_slice(&shown).expect("JSON as before");
        assert!(!shown["n"].to_string().contains(&form), "{value:?} as {form:?} in a tool");
    }
    if let Some(open) = mask.unfinished_from(&said) {
        mask.part(&said, open, Cut { start: true, end: true });
    }
}

/// The forms in which a server may repeat a value.
fn forms(value: &str) -> Vec<String> {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let quoted = Value::from(value).to_string();
    let middle = (value.len() / 2..).find(|&at| value.is_char_boundary(at)).unwrap_or(0);
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    vec![
        value.to_owned(),
        hex.to_uppercase(),
        hex,
        STANDARD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
        percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC)
            .to_string(),
        quoted[1..quoted.len() - 1].to_owned(),
        format!("{}\n{}", &value[..middle], &value[middle..]),
    ]
}
