//! Owns translating an entry of any product into our model: field names, units, references. Our own fields are taken as
//! they are, unknown fields are dropped, and `config` validates the rest.
//! Invariant: driven by the product's row of the table and by the entry's fields, never by the product's name.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::providers::Provider;
use crate::config::field_names;
use crate::config::syntax::{no_command, translate_definition};
use crate::variable_name::is_name;

/// Our field, and its synonyms in order of precedence.
const FIELD_SYNONYMS: &[(&str, &[&str])] = &[
    ("type", &["type", "transport"]),
    ("args", &["args"]),
    ("env", &["env", "environment", "envs"]),
    ("envFile", &["envFile", "env_file"]),
    ("cwd", &["cwd"]),
    ("headers", &["headers", "http_headers"]),
    ("enabled", &["enabled"]),
    ("disabled", &["disabled"]),
    (
        "enabledTools",
        &["enabledTools", "enabled_tools", "includeTools", "available_tools", "toolsAllowed"],
    ),
    ("disabledTools", &["disabledTools", "disabled_tools", "excludeTools", "toolsDenied"]),
    ("auth", &["auth", "oauth"]),
];
/// The same, of the object about signing in.
const AUTH_SYNONYMS: &[(&str, &[&str])] = &[
    ("clientId", &["clientId", "CLIENT_ID", "client_id"]),
    ("clientSecret", &["clientSecret", "CLIENT_SECRET", "client_secret"]),
    ("scopes", &["scopes", "scope"]),
    ("callbackPort", &["callbackPort", "callback_port"]),
];
const COMMANDS: &[&str] = &["command", "cmd"];
/// Field names for a URL, and the transport that each implies.
const URL_FIELDS: &[(&str, Option<&str>)] = &[
    ("httpUrl", Some("http")),
    ("url", None),
    ("serverUrl", None),
    ("uri", None),
    ("baseUrl", None),
];
const TOOLS: &str = "tools";
const INPUT: &str = "${input:";
/// Lists of tools that need no approval.
const APPROVAL_LISTS: &[&str] = &["autoApprove", "alwaysAllow"];
/// Lists of variables that are passed on under their own names.
const PASSED_VARIABLES: &[&str] = &["env_vars", "env_keys"];

/// A normalised entry.
pub(super) struct Normalised {
    pub(super) definition: Map<String, Value>,
    pub(super) warnings: Vec<String>,
}

/// Normalises `entry`. The error is a sentence about what is wrong with it.
pub(super) fn normalise(
    entry: Map<String, Value>,
    provider: &Provider,
    inputs: &HashMap<String, String>,
) -> Result<Normalised, String> {
    let mut entry = Entry(entry);
    let mut definition = Map::new();
    if provider.is_own {
        definition = entry.0;
        entry = Entry(Map::new());
    } else {
        rename(&mut entry, provider, &mut definition)?;
    }
    let not_run = translate_definition(&mut definition, provider.syntax);
    if !inputs.is_empty() {
        fill_inputs(&mut definition, inputs);
    }
    let mut warnings = Vec::new();
    let not_run = not_run
        .into_iter()
        .map(|field| format!("\"{field}\" has a $(…), which is not run and stays as it is"));
    warnings.extend(not_run);
    // After the translation: these are references although the product has no sign for them.
    add_named_references(&mut entry, &mut definition, &mut warnings);
    Ok(Normalised { definition, warnings })
}

struct Entry(Map<String, Value>);

impl Entry {
    fn take(&mut self, word: &str) -> Option<Value> {
        // Forms leave an empty text where nothing was entered.
        self.0.remove(word).filter(|value| !value.is_null() && value != "")
    }

    fn first(&mut self, words: &[&str]) -> Option<Value> {
        words.iter().fold(None, |found, word| {
            let value = self.take(word);
            found.or(value)
        })
    }
}

fn rename_auth(auth: &mut Map<String, Value>) {
    for (ours, words) in AUTH_SYNONYMS {
        let found: Vec<Value> = words.iter().filter_map(|word| auth.remove(*word)).collect();
        if let Some(value) = found.into_iter().find(|value| !value.is_null() && value != "") {
            auth.insert((*ours).to_owned(), value);
        }
    }
}

fn rename(
    entry: &mut Entry,
    provider: &Provider,
    definition: &mut Map<String, Value>,
) -> Result<(), String> {
    for (ours, words) in FIELD_SYNONYMS {
        if let Some(value) = entry.first(words) {
            definition.insert((*ours).to_owned(), value);
        }
    }
    match definition.get_mut("auth") {
        Some(Value::Object(auth)) => rename_auth(auth),
        // `oauth: false` and the like control a product's own sign-in.
        Some(_) => drop(definition.remove("auth")),
        None => {}
    }
    command(entry, provider, definition)?;
    address(entry, provider, definition);
    for time in provider.times {
        let Some(value) = entry.take(time.field) else { continue };
        let millis = in_millis(&value, time.unit_ms);
        // An invalid time is reported once.
        let sets = if millis.is_some() { time.sets } else { &time.sets[..1] };
        for field in sets {
            definition.insert((*field).to_owned(), millis.as_ref().unwrap_or(&value).clone());
        }
    }
    for field in untranslated_fields() {
        if let Some(value) = entry.take(field) {
            definition.entry(field).or_insert(value);
        }
    }
    tools(entry, definition);
    let everything = json!("*");
    let all_approved = APPROVAL_LISTS.iter().any(|word| {
        let tools = entry.take(word);
        tools.is_some_and(|tools| tools.as_array().is_some_and(|tools| tools.contains(&everything)))
    });
    if entry.take("trust") == Some(Value::Bool(true)) || all_approved {
        definition.entry("requiresApproval").or_insert(Value::Bool(false));
    }
    // Some products nest headers one level down.
    if let Some(Value::Object(options)) = entry.take("requestOptions")
        && let Some(headers) = options.get("headers").filter(|headers| headers.is_object())
    {
        definition.entry("headers").or_insert_with(|| headers.clone());
    }
    Ok(())
}

/// Our own field names, which mean nothing else to any product, unless its row says so.
fn untranslated_fields() -> impl Iterator<Item = &'static str> {
    let is_translated = |name: &str| {
        FIELD_SYNONYMS.iter().any(|(own, _)| *own == name)
            || URL_FIELDS.iter().any(|(field, _)| *field == name)
            || COMMANDS.contains(&name)
            || name == TOOLS
    };
    field_names().filter(move |name| !is_translated(name))
}

/// A program as text, as a list with its arguments, as `{path, args, env}`, or as a shell command line.
fn command(
    entry: &mut Entry,
    provider: &Provider,
    definition: &mut Map<String, Value>,
) -> Result<(), String> {
    let (program, first) = match entry.first(COMMANDS) {
        None => return Ok(()),
        Some(Value::Array(words)) => {
            let mut words = words.into_iter();
            let Some(program) = words.next() else { return Ok(()) };
            (program, words.collect())
        }
        Some(Value::Object(mut parts)) => {
            let Some(program) = parts.remove("path") else { return Ok(()) };
            if let Some(env) = parts.remove("env") {
                definition.entry("env").or_insert(env);
            }
            let args = match parts.remove("args") {
                Some(Value::Array(args)) => args,
                _ => Vec::new(),
            };
            (program, args)
        }
        Some(Value::String(line)) if provider.command_line => {
            let words = shlex::split(&line).filter(|words| !words.is_empty());
            let Some(words) = words else {
                return Err("\"command\" cannot be split into words: a quote is not closed".into());
            };
            let mut words = words.into_iter().map(Value::String);
            (words.next().unwrap_or_default(), words.collect())
        }
        Some(program) => (program, Vec::new()),
    };
    definition.insert("command".to_owned(), program);
    if !first.is_empty() {
        let args = definition.entry("args").or_insert_with(|| json!([]));
        if let Value::Array(args) = args {
            args.splice(0..0, first);
        }
    }
    Ok(())
}

fn address(entry: &mut Entry, provider: &Provider, definition: &mut Map<String, Value>) {
    let found = URL_FIELDS.iter().fold(None, |found, (word, implied)| {
        let value = entry.take(word);
        found.or_else(|| Some((value?, implied.or(provider.url_type))))
    });
    let Some((url, implied)) = found else { return };
    definition.insert("url".to_owned(), url);
    if let Some(implied) = implied {
        definition.entry("type").or_insert_with(|| implied.into());
    }
}

fn in_millis(value: &Value, unit_ms: u64) -> Option<Value> {
    let millis = (value.as_f64()? * unit_ms as f64).round();
    // Beyond this, whole milliseconds are not exact.
    (1.0..1e15).contains(&millis).then(|| json!(millis as u64))
}

/// `tools` is an allow list, or already ours: settings by tool.
fn tools(entry: &mut Entry, definition: &mut Map<String, Value>) {
    if let Some(tools) = entry.take(TOOLS) {
        let field = if tools.is_array() { "enabledTools" } else { TOOLS };
        definition.entry(field).or_insert(tools);
    }
    // Products write an empty list or `*` for all tools.
    let all = |tools: &Vec<Value>| tools.is_empty() || tools.iter().any(|tool| tool == "*");
    if definition.get("enabledTools").and_then(Value::as_array).is_some_and(all) {
        definition.remove("enabledTools");
    }
}

/// Variables and headers that the product takes from its environment by name.
fn add_named_references(
    entry: &mut Entry,
    definition: &mut Map<String, Value>,
    warnings: &mut Vec<String>,
) {
    for field in PASSED_VARIABLES {
        let Some(Value::Array(names)) = entry.take(field) else { continue };
        for name in names {
            let name = name.as_str().or_else(|| name.get("name")?.as_str()).unwrap_or_default();
            add_references(definition, "env", name, "", name, field, warnings);
        }
    }
    if let Some(Value::Object(headers)) = entry.take("env_http_headers") {
        for (header, name) in &headers {
            let name = name.as_str().unwrap_or_default();
            add_references(definition, "headers", header, "", name, "env_http_headers", warnings);
        }
    }
    if let Some(name) = entry.take("bearer_token_env_var") {
        let (name, field) = (name.as_str().unwrap_or_default(), "bearer_token_env_var");
        add_references(definition, "headers", "Authorization", "Bearer ", name, field, warnings);
    }
}

fn add_references(
    definition: &mut Map<String, Value>,
    block: &str,
    key: &str,
    before: &str,
    name: &str,
    field: &str,
    warnings: &mut Vec<String>,
) {
    if !is_name(name) {
        warnings.push(format!("\"{field}\" has something that is no name of a variable"));
        return;
    }
    let entries = definition.entry(block).or_insert_with(|| json!({}));
    if let Value::Object(entries) = entries {
        let reference = format!("{before}${{{name}}}");
        entries.entry(key).or_insert(Value::String(reference));
    }
}

/// Replaces `${input:id}` by its default answer, in texts that are already translated.
fn fill_inputs(definition: &mut Map<String, Value>, inputs: &HashMap<String, String>) {
    type Fill = fn(&str, &HashMap<String, String>) -> String;
    fn walk(place: &mut Value, inputs: &HashMap<String, String>, fill: Fill) {
        match place {
            Value::String(text) if text.contains(INPUT) => *text = fill(text, inputs),
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, inputs, fill)),
            Value::Object(entries) => {
                entries.values_mut().for_each(|item| walk(item, inputs, fill));
            }
            _ => {}
        }
    }
    for field in ["command", "args", "envFile", "cwd", "url"] {
        if let Some(place) = definition.get_mut(field) {
            walk(place, inputs, fill_text);
        }
    }
    for field in ["env", "headers"] {
        if let Some(place) = definition.get_mut(field) {
            walk(place, inputs, fill_value);
        }
    }
}

/// Like `fill_text`, for a variable or header: an answer must not turn it into a command.
fn fill_value(text: &str, inputs: &HashMap<String, String>) -> String {
    let fill_text = fill_text(text, inputs);
    if text.starts_with(INPUT) { no_command(fill_text) } else { fill_text }
}

fn fill_text(text: &str, inputs: &HashMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(INPUT) {
        let Some(length) = rest[at..].find('}') else { break };
        let (id, literal) = (&rest[at + INPUT.len()..at + length], rest[..at].ends_with('$'));
        match inputs.get(id).filter(|_| !literal) {
            Some(answer) => {
                out.push_str(&rest[..at]);
                out.push_str(&answer.replace("${", "$${"));
            }
            None => out.push_str(&rest[..=at + length]),
        }
        rest = &rest[at + length + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::providers::PROVIDERS;

    #[test]
    fn no_field_of_ours_is_lost_in_the_file_of_any_product() {
        let schema = crate::config::schema();
        let fields = &schema["properties"]["mcpServers"]["additionalProperties"]["properties"];
        let fields: Vec<&String> = fields.as_object().expect("fields").keys().collect();
        for provider in PROVIDERS {
            for field in &fields {
                let entry = Map::from_iter([((*field).clone(), json!({"a": "b"}))]);
                let normal = normalise(entry, provider, &HashMap::new()).expect("an entry");
                // A program that is an object has other fields.
                let is_there = !normal.definition.is_empty() || *field == "command";
                assert!(is_there, "{}: {field}", provider.name);
            }
        }
    }

    #[test]
    fn a_proposed_answer_is_filled_in_once_and_literally() {
        let inputs = [("a", "${input:b}"), ("b", "x"), ("empty", "")]
            .map(|(id, answer)| (id.to_owned(), answer.to_owned()));
        let inputs = HashMap::from(inputs);
        let fill = |text| fill_text(text, &inputs);
        assert_eq!(fill("<${input:b}${input:b}>"), "<xx>");
        assert_eq!(fill("${input:a}"), "$${input:b}");
        assert_eq!(fill("${input:none}${input:empty}"), "${input:none}");
        assert_eq!(fill("$${input:b} ${input:b"), "$${input:b} ${input:b");
    }

    #[test]
    fn a_proposed_answer_is_never_a_command() {
        let inputs = [("a", "!id"), ("b", "$!id")];
        let inputs = HashMap::from(inputs.map(|(id, it)| (id.to_owned(), it.to_owned())));
        let block =
            json!({"A": "${input:a}", "B": "${input:b}", "C": "x${input:a}", "D": "!${input:a}"});
        let mut definition = Map::new();
        definition.insert("env".to_owned(), block);
        definition.insert("args".to_owned(), json!(["${input:a}"]));
        fill_inputs(&mut definition, &inputs);
        let fill_text = json!({"A": "$!id", "B": "$$!id", "C": "x!id", "D": "!!id"});
        assert_eq!(definition["env"], fill_text);
        assert_eq!(definition["args"], json!(["!id"]));
    }

    #[test]
    fn a_time_is_brought_to_milliseconds_or_left_for_the_rules() {
        assert_eq!(in_millis(&json!(20), 1000), Some(json!(20_000)));
        assert_eq!(in_millis(&json!(1.5), 1000), Some(json!(1500)));
        for wrong in [json!("20"), json!(0), json!(-1), json!(1e300), json!(null), json!([1])] {
            assert_eq!(in_millis(&wrong, 1000), None, "{wrong}");
        }
    }
}
