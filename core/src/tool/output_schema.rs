//! Owns comparing structured results with the output schema of their tool.
//! Invariant: no schema of a server makes a comparison endless or large. Every schema that is applied to a value counts
//! what it costs, patterns take linear time, schemas whose compilation could explode are refused, and nothing is fetched.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::list::escaped;
use crate::error::{Error, ErrorKind, Executed, Message, Result};

/// The longest schema that is used, in bytes.
const LONGEST_SCHEMA: usize = 1 << 20;
/// How many patterns a schema may have, and the memory of each, in bytes.
const PATTERNS: usize = 256;
const PATTERN: usize = 256 << 10;
/// How many schemas one with `unevaluated…` may consist of once its references are followed: the compiler follows them.
const FOLLOWED: usize = 20_000;
/// What one comparison may cost, in schemas applied to small values; and what finding the place of a mismatch may cost,
/// which keeps every failed branch.
const STEPS: u64 = 20_000_000;
const STEPS_TO_PLACE: u64 = 20_000;
/// The keyword that counts. A schema of a server may use it too, and then counts more.
const COUNTER: &str = "x-mcpool-counter";
/// How much of the words of a schema an error keeps.
const WORDS: usize = 300;

thread_local! {
    /// What the comparison on this thread may still cost.
    static STEPS_LEFT: Cell<u64> = const { Cell::new(0) };
}

/// A compiled output schema.
#[derive(Debug)]
pub(super) struct OutputSchema(Validator);

/// Why a comparison was given up.
struct OutOfSteps;

/// Counts the application of the schema that it stands in.
struct Counter {
    cost: u64,
}

impl Counter {
    fn of(schema: &Map<String, Value>) -> Self {
        let size = |name: &str| schema.get(name).map_or(0, |value| size_of(value) as u64);
        // The other keywords have counters of their own, or cost no more than the value.
        let members = schema.values().map(|value| value.as_object().map_or(1, Map::len) as u64);
        Counter { cost: 1 + members.sum::<u64>() / 8 + size("enum") + size("const") }
    }

    fn count(&self, value: &Value) {
        let width = match value {
            Value::String(text) => text.len() / 64,
            Value::Array(items) => items.len() / 8,
            Value::Object(members) => members.len() / 8,
            _ => 0,
        };
        // What is compared with a list is compared with each of its values.
        let cost = self.cost.saturating_mul(1 + width as u64 / 8).saturating_add(width as u64);
        match STEPS_LEFT.get().checked_sub(cost) {
            Some(left) => STEPS_LEFT.set(left),
            // Without a message on stderr.
            None => resume_unwind(Box::new(OutOfSteps)),
        }
    }
}

impl<'i> Keyword<'i> for Counter {
    fn validate(&self, value: &'i Value) -> std::result::Result<(), ValidationError<'i>> {
        self.count(value);
        Ok(())
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        self.count(value);
        true
    }
}

impl OutputSchema {
    pub(super) fn compile(schema: &str) -> Result<OutputSchema> {
        if schema.len() > LONGEST_SCHEMA {
            return Err(too_large(&format!("has more than {LONGEST_SCHEMA} bytes")));
        }
        let mut schema: Value =
            serde_json::from_str(schema).map_err(|error| unusable(&error.to_string()))?;
        if patterns_in(&schema) > PATTERNS {
            return Err(too_large(&format!("has more than {PATTERNS} patterns")));
        }
        if has_unevaluated(&schema) && follow(&schema, &schema, &mut Vec::new(), FOLLOWED).is_none()
        {
            return Err(too_large("follows too many references"));
        }
        count_references(&mut schema);
        count_schemas(&mut schema);
        let patterns = PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .with_keyword(COUNTER, |parent, _, _| Ok(Box::new(Counter::of(parent))))
            .build(&schema)
            .map_err(|error| unusable(&words_of(&error)))?;
        Ok(OutputSchema(validator))
    }

    /// Fails if the structured content of a result does not match. Takes time.
    pub(super) fn check(&self, structured: &Value) -> Result<()> {
        match within(STEPS, || self.0.is_valid(structured)) {
            Some(true) => return Ok(()),
            Some(false) => {}
            None => return Err(too_large("takes too long to compare with this result")),
        }
        let place = within(STEPS_TO_PLACE, || {
            let error = self.0.validate(structured).err()?;
            let place = match error.instance_path().as_str() {
                "" => "as a whole".to_owned(),
                path => format!("at {path}"),
            };
            // The value is not repeated: it may be long or secret.
            Some(format!("{place}: {}", words_of(&error)))
        });
        let why =
            printable(&place.flatten().unwrap_or_else(|| "at a place deep inside".to_owned()));
        let text = format!("The result does not match the tool's output schema, {why}");
        Err(mismatch(Message::new(text).quoting(&why)))
    }
}

/// Runs a comparison that may cost so much; `None` if it costs more.
fn within<T>(steps: u64, compare: impl FnOnce() -> T) -> Option<T> {
    STEPS_LEFT.set(steps);
    // A comparison changes nothing that a panic could leave half changed.
    match catch_unwind(AssertUnwindSafe(compare)) {
        Ok(compared) => Some(compared),
        Err(panic) if panic.is::<OutOfSteps>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// The error of a result that is not as its tool promises.
pub(super) fn mismatch(message: impl Into<Message>) -> Error {
    Error::new(ErrorKind::ProtocolError, message)
        .with_executed(Executed::Yes)
        .with_hint("without \"check_output\" the result is given as it is")
}

fn unusable(why: &str) -> Error {
    let why = printable(why);
    let text = Message::new(format!("The tool's output schema cannot be used: {why}"));
    Error::new(ErrorKind::ProtocolError, text.quoting(&why)).with_executed(Executed::Yes)
}

fn too_large(why: &str) -> Error {
    let text = format!("The tool's output schema {why}");
    Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::Yes)
}

/// What an error says, without values and without our counter.
fn words_of(error: &ValidationError<'_>) -> String {
    let words = error.masked().to_string();
    match words.contains(COUNTER) {
        true => format!("it fails \"{}\"", error.kind().keyword()),
        false => words,
    }
}

/// The beginning of a text of others, in one line.
fn printable(words: &str) -> String {
    let mut shown: String = words.chars().take(WORDS).flat_map(escaped).collect();
    if words.chars().nth(WORDS).is_some() {
        shown.push('…');
    }
    shown
}

/// How many values a value consists of; of texts, every 64 bytes count.
fn size_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size_of).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size_of).sum::<usize>(),
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    }
}

fn patterns_in(schema: &Value) -> usize {
    let own = |members: &Map<String, Value>| {
        let named = members.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        named + usize::from(members.get("pattern").is_some_and(Value::is_string))
    };
    match schema {
        Value::Array(items) => items.iter().map(patterns_in).sum(),
        Value::Object(members) => own(members) + members.values().map(patterns_in).sum::<usize>(),
        _ => 0,
    }
}

fn has_unevaluated(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_unevaluated),
        Value::Object(members) => {
            let names = ["unevaluatedProperties", "unevaluatedItems"];
            names.iter().any(|name| members.contains_key(*name))
                || members.values().any(has_unevaluated)
        }
        _ => false,
    }
}

/// How many objects a schema has if its references are followed, on each path once; `None` if there are more than
/// `most`, or if a reference is not one into the schema itself.
fn follow<'a>(
    root: &'a Value,
    schema: &'a Value,
    path: &mut Vec<&'a str>,
    most: usize,
) -> Option<usize> {
    let mut count = 0;
    match schema {
        Value::Array(items) => {
            for item in items {
                count += follow(root, item, path, most - count)?;
            }
        }
        Value::Object(members) => {
            count = 1;
            for (name, value) in members {
                // Definitions count where they are used.
                if matches!(&**name, "$defs" | "definitions") {
                    continue;
                }
                count += follow(root, value, path, most.checked_sub(count)?)?;
            }
            for name in REFERENCES {
                let Some(target) = members.get(name).and_then(Value::as_str) else { continue };
                if path.contains(&target) {
                    continue;
                }
                let at = root.pointer(target.strip_prefix('#')?)?;
                path.push(target);
                count += follow(root, at, path, most.checked_sub(count)?)?;
                path.pop();
            }
        }
        _ => {}
    }
    (count <= most).then_some(count)
}

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Puts the counter beside every reference. Older drafts ignore what is beside a reference, so it moves into `allOf`.
fn count_references(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(count_references),
        Value::Object(members) => {
            members.values_mut().for_each(count_references);
            for name in REFERENCES {
                if members.get(name).is_some_and(Value::is_string) {
                    let target = members.remove(name);
                    let all = members.entry("allOf").or_insert_with(|| json!([]));
                    let Some(all) = all.as_array_mut() else { return };
                    all.insert(0, json!({COUNTER: true}));
                    all.insert(1, json!({name: target}));
                }
            }
        }
        _ => {}
    }
}

/// Puts the counter into every schema that is applied to a value.
fn count_schemas(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    // In it, nothing may stand beside the reference.
    if REFERENCES.iter().any(|name| members.contains_key(*name)) {
        return;
    }
    for (name, value) in members.iter_mut() {
        match (&**name, value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(schemas),
            ) => schemas.values_mut().for_each(count_schemas),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(count_schemas);
            }
            (
                "additionalItems"
                | "additionalProperties"
                | "contains"
                | "contentSchema"
                | "else"
                | "if"
                | "items"
                | "not"
                | "propertyNames"
                | "then"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                schema,
            ) => count_schemas(schema),
            _ => {}
        }
    }
    members.shift_insert(0, COUNTER.to_owned(), json!(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, structured: Value) -> Result<()> {
        OutputSchema::compile(&schema.to_string()).and_then(|schema| schema.check(&structured))
    }

    #[test]
    fn a_mismatch_names_the_place_and_not_the_value() {
        let schema =
            json!({"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]});
        check(schema.clone(), json!({"t": 1})).unwrap();
        let error = check(schema.clone(), json!({"t": "secret"})).unwrap_err();
        assert_eq!((error.code(), error.executed()), ("PROTOCOL_ERROR", Some(Executed::Yes)));
        assert!(error.message().contains("at /t: "), "{error}");
        assert!(!error.message().contains("secret"), "{error}");
        assert!(error.by_server());
        assert!(check(schema, json!({})).unwrap_err().message().contains("as a whole"));
    }

    #[test]
    fn references_are_followed_in_every_draft() {
        let tree = json!({
            "$defs": {"node": {"type": "object", "properties": {
                "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
            }, "required": ["name"]}},
            "$ref": "#/$defs/node",
        });
        for draft in [
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            let mut tree = tree.clone();
            tree["$schema"] = json!(draft);
            check(tree.clone(), json!({"name": "a", "children": [{"name": "b"}]})).unwrap();
            check(tree, json!({"name": "a", "children": [{"name": 7}]})).unwrap_err();
        }
    }

    #[test]
    fn a_schema_that_multiplies_references_is_given_up() {
        let mut defs = Map::new();
        for at in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            defs.insert(format!("d{at}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d60".to_owned(), json!({"type": "object"}));
        let schema = json!({"$defs": defs, "$ref": "#/$defs/d0"});
        assert_eq!(check(schema, json!({})).unwrap_err().code(), "LIMIT_EXCEEDED");
        let wide: Vec<_> = (0..20_000).map(|at| json!({"a": at})).collect();
        let schema = json!({"items": {"enum": wide}});
        let items: Vec<_> = (0..20_000).map(|_| json!({"a": 19_999})).collect();
        assert_eq!(check(schema, items.into()).unwrap_err().code(), "LIMIT_EXCEEDED");
        let hidden = json!({"default": {"a": {"anyOf": [{"$ref": "#/default/b"}, {"$ref": "#/default/b"}]}, "b": {"allOf": [{"$ref": "#/default/a"}, {"not": {"$ref": "#/default/a"}}]}}, "items": {"$ref": "#/default/a"}});
        let _ = check(hidden, json!([1]));
    }

    #[test]
    fn schemas_that_explode_when_they_are_compiled_are_refused() {
        let mut defs = Map::new();
        for at in 0..30 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            let schema = json!({"anyOf": [next, next], "unevaluatedProperties": false});
            defs.insert(format!("d{at}"), schema);
        }
        defs.insert("d30".to_owned(), json!({"type": "object"}));
        let schema = json!({"$defs": defs, "$ref": "#/$defs/d0"});
        assert_eq!(check(schema, json!({"a": 1})).unwrap_err().code(), "LIMIT_EXCEEDED");
        let usual = json!({
            "$defs": {"point": {"properties": {"x": {"type": "number"}, "next": {"$ref": "#/$defs/point"}}, "unevaluatedProperties": false}},
            "allOf": [{"$ref": "#/$defs/point"}], "unevaluatedProperties": false,
        });
        check(usual.clone(), json!({"x": 1, "next": {"x": 2}})).unwrap();
        check(usual, json!({"x": 1, "y": 2})).unwrap_err();
    }

    #[test]
    fn a_recursive_schema_that_multiplies_stays_small() {
        let again = json!({"$ref": "#"});
        let text = json!({"type": "string"});
        let schema =
            json!({"type": "object", "properties": {"a": {"anyOf": [again, again, text]}}});
        let nested = |depth: usize| (0..depth).fold(json!(7), |value, _| json!({"a": value}));
        // The place of this mismatch would cost more than it is worth.
        let error = check(schema, nested(60)).unwrap_err();
        assert_eq!(error.code(), "PROTOCOL_ERROR");
        assert!(error.message().contains("deep inside"), "{error}");
    }

    #[test]
    fn errors_show_neither_our_counter_nor_control_characters() {
        let error = check(json!({"not": {"type": "object"}}), json!({})).unwrap_err();
        assert!(!error.message().contains("mcpool"), "{error}");
        let schema = json!({"additionalProperties": {"type": "number"}});
        let error = check(schema, json!({"\u{1b}[31m\n": "x"})).unwrap_err();
        assert!(!error.message().contains(['\u{1b}', '\n']), "{error}");
    }

    #[test]
    fn nothing_is_fetched_and_nothing_overflows() {
        let refused = [
            json!({"$ref": "http://127.0.0.1:9/schema"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"type": 7}),
            json!({"properties": {"a": {"pattern": "(?=x)"}}}),
            json!({"properties": {"a": {"pattern": "((x{999}){999}){999}"}}}),
        ];
        for schema in refused {
            let error = check(schema.clone(), json!({"a": "x"})).unwrap_err();
            assert_eq!(error.code(), "PROTOCOL_ERROR", "{schema}");
        }
        let patterns: Vec<_> =
            (0..=PATTERNS).map(|at| json!({"pattern": at.to_string()})).collect();
        let error = check(json!({"allOf": patterns}), json!({})).unwrap_err();
        assert_eq!(error.code(), "LIMIT_EXCEEDED");
        check(json!({"$ref": "#"}), json!({"a": 1})).unwrap();
        let deep = |open: &str, close: &str, end: &str| {
            format!("{}{end}{}", open.repeat(120), close.repeat(120))
        };
        let schema = deep("{\"items\":", "}", "{\"type\":\"string\"}");
        let value: Value = serde_json::from_str(&deep("[", "]", "7")).unwrap();
        let schema = OutputSchema::compile(&schema).unwrap();
        assert_eq!(schema.check(&value).unwrap_err().code(), "PROTOCOL_ERROR");
        let recursive = json!({"items": {"$ref": "#"}, "not": {"const": 7}});
        assert_eq!(check(recursive, value).unwrap_err().code(), "PROTOCOL_ERROR");
    }
}
