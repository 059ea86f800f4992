//! Owns translating an entry of any product into our model: field names, units, references. Our own fields are taken as
//! they are, and fields that nobody knows are left in the definition, for `config` to warn of and to validate the rest.
//! Invariant: driven by the product's row of the table and by the entry's fields, never by the product's name.

use serde_json::{Map, Value, json};

use super::Provider;
use super::entry::Entry;
use super::inputs::{Inputs, fill_inputs};
use super::named_references::add_named_references;
use super::retry::take_retry;
use crate::config::field_names;
use crate::config::syntax::{Syntax, translate_definition};

/// Our field, and its synonyms in order of precedence.
pub(super) const FIELD_SYNONYMS: &[(&str, &[&str])] = &[
    ("type", &["type", "transport"]),
    ("args", &["args"]),
    ("env", &["env", "environment", "envs"]),
    ("envFile", &["envFile", "env_file"]),
    ("cwd", &["cwd"]),
    ("headers", &["headers", "http_headers"]),
    ("enabled", &["enabled"]),
    ("disabled", &["disabled"]),
    ("auth", &["auth", "oauth"]),
];
/// The same, of lists that are put together.
pub(super) const LIST_SYNONYMS: &[(&str, &[&str])] = &[
    (
        "enabledTools",
        &["enabledTools", "enabled_tools", "includeTools", "available_tools", "toolsAllowed"],
    ),
    ("disabledTools", &["disabledTools", "disabled_tools", "excludeTools", "toolsDenied"]),
];
/// The same, of the object about signing in.
const AUTH_SYNONYMS: &[(&str, &[&str])] = &[
    ("clientId", &["clientId", "CLIENT_ID", "client_id"]),
    ("clientSecret", &["clientSecret", "CLIENT_SECRET", "client_secret"]),
    ("scopes", &["scopes", "scope"]),
    ("callbackPort", &["callbackPort", "callback_port"]),
];
pub(super) const COMMANDS: &[&str] = &["command", "cmd"];
/// Field names for a URL, and the transport that each implies.
pub(super) const URL_FIELDS: &[(&str, Option<&str>)] = &[
    ("httpUrl", Some("http")),
    ("url", None),
    ("serverUrl", None),
    ("uri", None),
    ("baseUrl", None),
];
pub(crate) const TOOLS: &str = "tools";
/// Lists of tools that need no approval.
pub(super) const APPROVAL_LISTS: &[&str] = &["autoApprove", "alwaysAllow"];
/// Fields that only describe a server to people.
const DESCRIPTIONS: &[&str] =
    &["name", "title", "description", "icon", "displayName", "display_name"];
/// How many values that look like commands are named.
const MOST_NAMED: usize = 3;

/// A normalised entry.
pub(crate) struct Normalised {
    pub(crate) definition: Map<String, Value>,
    pub(crate) warnings: Vec<String>,
}

/// Normalises `entry`. The error is a sentence about what is wrong with it.
pub(crate) fn normalise(
    entry: Map<String, Value>,
    provider: &Provider,
    inputs: &Inputs,
) -> Result<Normalised, String> {
    let mut entry = Entry::new(entry);
    let mut definition = Map::new();
    rename(&mut entry, provider, &mut definition)?;
    warn_of_commands(&mut entry, provider, &definition);
    for field in translate_definition(&mut definition, provider.syntax) {
        let not_run = format!("\"{field}\" has a $(…), which is not run and stays as it is");
        entry.warnings.push(not_run);
    }
    fill_inputs(&mut definition, inputs);
    // After the translation: these are references although the product has no sign for them.
    add_named_references(&mut entry, &mut definition);
    let (left, warnings) = entry.left();
    let is_quiet = |field: &str| {
        !provider.is_own && (DESCRIPTIONS.contains(&field) || provider.quiet.contains(&field))
    };
    definition.extend(left.into_iter().filter(|(field, _)| !is_quiet(field)));
    Ok(Normalised { definition, warnings })
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
    for (ours, words) in LIST_SYNONYMS {
        if let Some(value) = entry.merged(words) {
            definition.insert((*ours).to_owned(), value);
        }
    }
    auth(entry, definition);
    command(entry, provider, definition)?;
    address(entry, provider, definition);
    // What is said in our own words wins over what another field implies.
    let is_time = |field: &&str| provider.times.iter().any(|time| time.field == *field);
    for field in untranslated_fields().filter(|field| !is_time(field)) {
        if let Some(value) = entry.take(field) {
            definition.entry(field).or_insert(value);
        }
    }
    times(entry, provider, definition);
    tools(entry, provider, definition);
    approval(entry, provider, definition);
    take_retry(entry, provider.retry, definition);
    nested_headers(entry, definition);
    Ok(())
}

/// Our own field names, which mean nothing else to any product, unless its row says so.
fn untranslated_fields() -> impl Iterator<Item = &'static str> {
    let is_translated = |name: &str| {
        FIELD_SYNONYMS.iter().chain(LIST_SYNONYMS).any(|(own, _)| *own == name)
            || URL_FIELDS.iter().any(|(field, _)| *field == name)
            || COMMANDS.contains(&name)
            || name == TOOLS
    };
    field_names().filter(move |name| !is_translated(name))
}

fn auth(entry: &mut Entry, definition: &mut Map<String, Value>) {
    match definition.get_mut("auth") {
        Some(Value::Object(auth)) => {
            let mut fields = Entry::new(std::mem::take(auth));
            for (ours, words) in AUTH_SYNONYMS {
                if let Some(value) = fields.first(words) {
                    auth.insert((*ours).to_owned(), value);
                }
            }
            let (left, warnings) = fields.left();
            auth.extend(left);
            entry.warnings.extend(warnings);
        }
        // Products say so to keep a server from asking for a sign-in.
        Some(switch @ Value::Bool(false)) => *switch = json!({"type": "none"}),
        Some(Value::Bool(true)) => drop(definition.shift_remove("auth")),
        Some(_) | None => {}
    }
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
        Some(Value::Object(parts)) => {
            let mut parts = Entry::new(parts);
            let program = parts.take("path");
            if let Some(env) = parts.take("env") {
                if definition.contains_key("env") {
                    entry.warnings.push("\"command.env\" has no effect beside \"env\"".to_owned());
                } else {
                    definition.insert("env".to_owned(), env);
                }
            }
            let args = match parts.take("args") {
                Some(Value::Array(args)) => args,
                _ => Vec::new(),
            };
            warn_of_rest(entry, "command", parts);
            let Some(program) = program else { return Ok(()) };
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
    let words: Vec<&str> = URL_FIELDS.iter().map(|(word, _)| *word).collect();
    let implied = URL_FIELDS.iter().find(|(word, _)| entry.has(word));
    let Some(url) = entry.first(&words) else { return };
    definition.insert("url".to_owned(), url);
    if let Some(implied) = implied.and_then(|(_, implied)| implied.or(provider.url_type)) {
        definition.entry("type").or_insert_with(|| implied.into());
    }
}

fn times(entry: &mut Entry, provider: &Provider, definition: &mut Map<String, Value>) {
    for time in provider.all_times() {
        let Some(value) = entry.take(time.field) else { continue };
        let millis = in_millis(&value, time.unit_ms);
        // An invalid time is reported once.
        let sets = if millis.is_some() { time.sets } else { &time.sets[..1] };
        let free: Vec<_> = sets.iter().filter(|field| !definition.contains_key(**field)).collect();
        if free.is_empty() {
            let twice = format!("\"{}\" has no effect beside \"{}\"", time.field, sets[0]);
            entry.warnings.push(twice);
        }
        for field in free {
            definition.insert((*field).to_owned(), millis.as_ref().unwrap_or(&value).clone());
        }
    }
}

fn in_millis(value: &Value, unit_ms: u64) -> Option<Value> {
    let millis = (value.as_f64()? * unit_ms as f64).round();
    // Beyond this, whole milliseconds are not exact.
    (1.0..1e15).contains(&millis).then(|| json!(millis as u64))
}

/// `tools` is settings by tool, or one more allow list.
fn tools(entry: &mut Entry, provider: &Provider, definition: &mut Map<String, Value>) {
    match (entry.take(TOOLS), definition.get_mut("enabledTools")) {
        (None, _) => {}
        (Some(Value::Array(tools)), Some(Value::Array(enabled))) => enabled.extend(tools),
        (Some(tools), _) => {
            let field = if tools.is_array() { "enabledTools" } else { TOOLS };
            definition.insert(field.to_owned(), tools);
        }
    }
    let means_all = |tools: &Vec<Value>| {
        let has_star = !provider.is_own && tools.iter().any(|tool| tool == "*");
        has_star || provider.empty_list_is_all && tools.is_empty()
    };
    if definition.get("enabledTools").and_then(Value::as_array).is_some_and(means_all) {
        definition.shift_remove("enabledTools");
    }
}

/// Fields that do without a person's approval.
fn approval(entry: &mut Entry, provider: &Provider, definition: &mut Map<String, Value>) {
    let mut none_asks = false;
    for word in APPROVAL_LISTS {
        let Some(tools) = entry.take(word) else { continue };
        let listed = tools.as_array();
        if listed.is_some_and(|tools| tools.iter().any(|tool| tool == "*")) {
            none_asks = true;
        } else if tools != false && listed.is_none_or(|tools| !tools.is_empty()) {
            let single = format!("\"{word}\" counts only with \"*\"; its tools ask for approval");
            entry.warnings.push(single);
        }
    }
    if !provider.is_own {
        none_asks |= entry.take("trust") == Some(Value::Bool(true));
    }
    if none_asks {
        definition.entry("requiresApproval").or_insert(Value::Bool(false));
    }
}

/// Some products nest headers one level down.
fn nested_headers(entry: &mut Entry, definition: &mut Map<String, Value>) {
    const OPTIONS: &str = "requestOptions";
    let Some(Value::Object(options)) = entry.take(OPTIONS) else { return };
    let mut options = Entry::new(options);
    if let Some(headers) = options.take("headers") {
        if definition.contains_key("headers") {
            let twice = format!("\"{OPTIONS}.headers\" has no effect beside \"headers\"");
            entry.warnings.push(twice);
        } else {
            definition.insert("headers".to_owned(), headers);
        }
    }
    warn_of_rest(entry, OPTIONS, options);
}

fn warn_of_rest(entry: &mut Entry, field: &str, part: Entry) {
    let (left, _) = part.left();
    let names: Vec<&str> = left.keys().map(String::as_str).take(MOST_NAMED).collect();
    if !names.is_empty() {
        entry.warnings.push(format!("\"{field}\": {} has no effect", quoted(&names)));
    }
}

/// Values that would be commands in a file of ours.
fn warn_of_commands(entry: &mut Entry, provider: &Provider, definition: &Map<String, Value>) {
    if provider.syntax.contains(Syntax::COMMANDS) {
        return;
    }
    for block in ["env", "headers"] {
        let values = definition.get(block).and_then(Value::as_object).into_iter().flatten();
        let is_command = |value: &Value| value.as_str().is_some_and(|it| it.starts_with('!'));
        let alike = values.filter(|(_, value)| is_command(value)).map(|(name, _)| name.as_str());
        let names: Vec<&str> = alike.take(MOST_NAMED).collect();
        if !names.is_empty() {
            entry.warnings.push(format!(
                "\"{block}\": {} begins with \"!\", which runs nothing in a file of {}: the text is passed on as it is. \
                 To run the command, define the server in mcpool's own file, .mcpool/mcp.json or the user's mcp.json",
                quoted(&names),
                provider.name,
            ));
        }
    }
}

fn quoted(names: &[&str]) -> String {
    let short = |name: &&str| format!("\"{}\"", name.chars().take(100).collect::<String>());
    names.iter().map(short).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::PROVIDERS;

    #[test]
    fn no_field_of_ours_is_lost_in_the_file_of_any_product() {
        let schema = crate::config::schema();
        let fields = &schema["properties"]["mcpServers"]["additionalProperties"]["properties"];
        let fields: Vec<&String> = fields.as_object().expect("fields").keys().collect();
        for provider in PROVIDERS {
            let is_its = |field: &str| provider.times.iter().any(|time| time.field == field);
            // A program that is an object has other fields, and two words have another spelling.
            let is_other =
                |field: &str| ["command", "enabled_tools", "disabled_tools"].contains(&field);
            for field in fields.iter().filter(|field| !is_its(field) && !is_other(field)) {
                let value = json!({"a": "b"});
                let entry = Map::from_iter([((*field).clone(), value.clone())]);
                let normal = normalise(entry, provider, &Inputs::default()).expect("an entry");
                assert_eq!(normal.definition.get(*field), Some(&value), "{}", provider.name);
                assert!(normal.warnings.is_empty(), "{}: {field}", provider.name);
            }
        }
    }

    #[test]
    fn no_field_is_dropped_without_a_word() {
        let odd = json!({
            "command": "x", "sandbox": true, "readOnly": true, "envs": {"A": "1"}, "env": {"A": "2"},
            "autoApprove": ["one"], "requestOptions": {"verifySsl": true}, "env_vars": "A",
        });
        for provider in PROVIDERS {
            let Value::Object(entry) = odd.clone() else { unreachable!() };
            let Normalised { definition, warnings } =
                normalise(entry, provider, &Inputs::default()).expect("an entry");
            for left in ["sandbox", "readOnly"] {
                assert!(definition.contains_key(left), "{}: {left}", provider.name);
            }
            for told in ["envs", "autoApprove", "requestOptions", "env_vars"] {
                let told = format!("\"{told}\"");
                let is_told = warnings.iter().any(|warning| warning.starts_with(&told));
                assert!(is_told, "{}: {told} of {warnings:?}", provider.name);
            }
        }
    }

    #[test]
    fn what_is_said_in_our_words_wins_over_what_another_field_implies() {
        for provider in PROVIDERS {
            let entry = json!({"command": "x", "timeout": 5, "toolTimeout": 7000, "trust": true, "requiresApproval": true});
            let Value::Object(entry) = entry else { unreachable!() };
            let normal = normalise(entry, provider, &Inputs::default()).expect("an entry");
            assert_eq!(normal.definition["toolTimeout"], 7000, "{}", provider.name);
            assert_eq!(normal.definition["requiresApproval"], true, "{}", provider.name);
        }
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
