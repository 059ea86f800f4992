//! Owns comparing structured results with the output schema of their tool.
//! Invariant: no schema of a server makes a comparison endless: references are counted, patterns take linear time, and
//! nothing is fetched.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorKind, Executed, Message, Result};
use crate::sync::lock;

/// The longest schema that is used, in bytes.
const LONGEST_SCHEMA: usize = 1 << 20;
/// How many references one comparison follows. Without references it takes at most the size of the schema times that of
/// the result.
const STEPS: u32 = 1_000_000;
/// How many patterns a schema may have, and the memory of each, in bytes.
const PATTERNS: usize = 256;
const PATTERN: usize = 256 << 10;
/// The keyword that counts references. A schema of a server may use it too, and then counts more.
const COUNTER: &str = "x-mcpool-counter";
/// How much of the words of a schema an error keeps.
const WORDS: usize = 500;

/// A compiled output schema.
#[derive(Debug)]
pub(super) struct OutputSchema {
    validator: Validator,
    steps_left: Arc<AtomicU32>,
    /// The steps are those of one comparison at a time.
    comparing: Mutex<()>,
}

/// Why a comparison was given up.
struct OutOfSteps;

struct Counter(Arc<AtomicU32>);

impl Counter {
    fn count(&self) {
        if self.0.load(Ordering::Relaxed) == 0 {
            // Without a message on stderr.
            resume_unwind(Box::new(OutOfSteps));
        }
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<'i> Keyword<'i> for Counter {
    fn validate(&self, _: &'i Value) -> std::result::Result<(), ValidationError<'i>> {
        self.count();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        self.count();
        true
    }
}

impl OutputSchema {
    pub(super) fn compile(schema: &str) -> Result<OutputSchema> {
        let unusable = |why: &str| {
            let why = shortened(why);
            let text = Message::new(format!("The tool's output schema cannot be used: {why}"));
            Error::new(ErrorKind::ProtocolError, text.quoting(&why)).with_executed(Executed::Yes)
        };
        if schema.len() > LONGEST_SCHEMA {
            return Err(unusable(&format!("it is over {LONGEST_SCHEMA} bytes")));
        }
        let mut schema: Value =
            serde_json::from_str(schema).map_err(|error| unusable(&error.to_string()))?;
        if patterns_in(&schema) > PATTERNS {
            return Err(unusable(&format!("it has more than {PATTERNS} patterns")));
        }
        count_references(&mut schema);
        let patterns = PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN);
        let steps_left = Arc::new(AtomicU32::new(0));
        let counter = steps_left.clone();
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .with_keyword(COUNTER, move |_, _, _| Ok(Box::new(Counter(counter.clone()))))
            .build(&schema)
            .map_err(|error| unusable(&error.masked().to_string()))?;
        Ok(OutputSchema { validator, steps_left, comparing: Mutex::default() })
    }

    /// Fails if the structured content of a result does not match. Takes time.
    pub(super) fn check(&self, structured: &Value) -> Result<()> {
        let _comparing = lock(&self.comparing);
        self.steps_left.store(STEPS, Ordering::Relaxed);
        // A comparison changes nothing that a panic could leave half changed.
        let compared = catch_unwind(AssertUnwindSafe(|| self.validator.validate(structured)));
        match compared {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                let place = match error.instance_path().as_str() {
                    "" => "as a whole".to_owned(),
                    path => format!("at {path}"),
                };
                // The value is not repeated: it may be long or secret.
                let why = shortened(&format!("{place}: {}", error.masked()));
                let text = format!("The result does not match the tool's output schema, {why}");
                Err(mismatch(Message::new(text).quoting(&why)))
            }
            Err(panic) if panic.is::<OutOfSteps>() => {
                let text = format!(
                    "Comparing the result with the tool's output schema takes more than {STEPS} steps"
                );
                Err(Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::Yes))
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// The error of a result that is not as its tool promises.
pub(super) fn mismatch(message: impl Into<Message>) -> Error {
    Error::new(ErrorKind::ProtocolError, message)
        .with_executed(Executed::Yes)
        .with_hint("without \"check_output\" the result is given as it is")
}

fn shortened(words: &str) -> String {
    match words.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
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

/// Puts the counter beside every reference. Older drafts ignore what is beside a reference, so it moves into `allOf`.
fn count_references(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(count_references),
        Value::Object(members) => {
            members.values_mut().for_each(count_references);
            let is_reference = |name: &str, members: &Map<String, Value>| {
                members.get(name).is_some_and(Value::is_string)
            };
            for name in ["$ref", "$dynamicRef", "$recursiveRef"] {
                if is_reference(name, members) {
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
        let hidden = json!({"default": {"a": {"anyOf": [{"$ref": "#/default/b"}, {"$ref": "#/default/b"}]}, "b": {"allOf": [{"$ref": "#/default/a"}, {"not": {"$ref": "#/default/a"}}]}}, "items": {"$ref": "#/default/a"}});
        let _ = check(hidden, json!([1]));
    }

    #[test]
    fn nothing_is_fetched_and_nothing_overflows() {
        let refused = [
            json!({"$ref": "http://127.0.0.1:9/schema"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"type": 7}),
            json!({"properties": {"a": {"pattern": "(?=x)"}}}),
            json!({"properties": {"a": {"pattern": "((x{999}){999}){999}"}}}),
            json!({"allOf": (0..=PATTERNS).map(|at| json!({"pattern": at.to_string()})).collect::<Vec<_>>()}),
        ];
        for schema in refused {
            let error = check(schema.clone(), json!({"a": "x"})).unwrap_err();
            assert_eq!(error.code(), "PROTOCOL_ERROR", "{schema}");
        }
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
