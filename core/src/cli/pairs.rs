//! Owns `key=value` and `key:=json` on the command line. The tool's schema decides the type of a value; the arguments of
//! a prompt are texts.
//! Invariant: numbers keep their digits; JSON is sent exactly as the user wrote it.

use std::str::FromStr;

use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

#[derive(Clone, Debug)]
pub(super) struct Pair {
    key: String,
    value: PairValue,
}

#[derive(Clone, Debug)]
enum PairValue {
    /// After `=`: the schema decides its type.
    Untyped(String),
    /// After `:=`.
    Json(Box<RawValue>),
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (key, text) = word.split_once('=').ok_or("write key=value or key:=json")?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (
                key,
                PairValue::Json(
                    parse_json(text).map_err(|problem| invalid_value(key, "JSON", &problem))?,
                ),
            ),
            None => (key, PairValue::Untyped(text.to_owned())),
        };
        if key.is_empty() {
            return Err("there is no key before \"=\"".to_owned());
        }
        Ok(Pair { key: key.to_owned(), value })
    }
}

/// `key=value` where every value is text.
#[derive(Clone, Debug)]
pub(super) struct TextPair {
    pub(super) key: String,
    pub(super) value: String,
}

impl FromStr for TextPair {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (key, value) = word.split_once('=').ok_or("write key=value")?;
        match key {
            "" => Err("there is no key before \"=\"".to_owned()),
            _ if key.ends_with(':') => Err("every value is text: write key=value".to_owned()),
            _ => Ok(TextPair { key: key.to_owned(), value: value.to_owned() }),
        }
    }
}

/// The type that a schema gives to an untyped value.
enum ValueType {
    Text,
    Json,
    Either,
}

/// Builds one JSON object from all pairs by the tool's input schema; the error names the invalid pair.
pub(super) fn build_object(pairs: &[Pair], schema: &Value) -> Result<Vec<u8>, String> {
    let mut fields = IndexMap::new();
    for Pair { key, value } in pairs {
        let value = match value {
            PairValue::Json(json) => json.clone(),
            PairValue::Untyped(text) => {
                let types = allowed_types(&schema["properties"][key.as_str()]);
                match (value_type(&types), parse_json(text)) {
                    (ValueType::Text, _) | (ValueType::Either, Err(_)) => json_string(text),
                    (_, Ok(json)) => json,
                    (ValueType::Json, Err(problem)) => {
                        let wanted = format!("JSON of type {}", types.join(" or "));
                        return Err(invalid_value(key, &wanted, &problem));
                    }
                }
            }
        };
        if fields.insert(key, value).is_some() {
            return Err(format!("\"{key}\" is given twice"));
        }
    }
    serde_json::to_vec(&fields).map_err(|error| error.to_string())
}

fn value_type(types: &[&str]) -> ValueType {
    let text = types.contains(&"string");
    // `null` decides nothing: `key:=null` can express it.
    let other = types.iter().any(|name| !["string", "null"].contains(name));
    match (text, other) {
        (true, false) => ValueType::Text,
        (false, true) => ValueType::Json,
        _ => ValueType::Either,
    }
}

/// The types that a property's schema allows, directly or as alternatives.
fn allowed_types(property: &Value) -> Vec<&str> {
    let named = match &property["type"] {
        Value::Array(names) => names.iter().collect(),
        name => vec![name],
    };
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| property[key].as_array());
    let alternatives = alternatives.flatten().map(|alternative| &alternative["type"]);
    named.into_iter().chain(alternatives).filter_map(Value::as_str).collect()
}

fn parse_json(text: &str) -> Result<Box<RawValue>, String> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(raw.to_owned())
}

fn json_string(text: &str) -> Box<RawValue> {
    to_raw_value(text).expect("text is always JSON")
}

fn invalid_value(key: &str, wanted: &str, problem: &str) -> String {
    format!("the value of \"{key}\" must be {wanted}: {problem}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent(words: &[&str]) -> Result<String, String> {
        let schema = json!({"properties": {
            "s": {"type": "string"}, "n": {"type": "number"}, "l": {"type": "array"}, "o": {"type": "object"},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "mixed": {"type": ["string", "integer"]},
        }});
        let pairs: Result<Vec<Pair>, String> = words.iter().map(|word| word.parse()).collect();
        build_object(&pairs?, &schema).map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn the_schema_decides_what_a_value_means() {
        assert_eq!(sent(&["s=1", "n=1", "l=[1]"]).unwrap(), r#"{"s":"1","n":1,"l":[1]}"#);
        assert_eq!(sent(&["maybe=1", "mixed=1"]).unwrap(), r#"{"maybe":"1","mixed":1}"#);
        assert_eq!(
            sent(&["mixed=one", "s=a=b", "s2="]).unwrap(),
            r#"{"mixed":"one","s":"a=b","s2":""}"#
        );
    }

    #[test]
    fn unknown_keys_are_json_if_they_can_be() {
        assert_eq!(
            sent(&["x=true", "y=yes", r#"z={"a": 1}"#]).unwrap(),
            r#"{"x":true,"y":"yes","z":{"a": 1}}"#
        );
    }

    #[test]
    fn json_can_be_forced_and_keeps_its_digits() {
        assert_eq!(sent(&["s:=null", "n=1.10e400"]).unwrap(), r#"{"s":null,"n":1.10e400}"#);
    }

    #[test]
    fn a_text_pair_takes_the_value_as_it_is() {
        let pair: TextPair = "name= a=\n1".parse().unwrap();
        assert_eq!((pair.key.as_str(), pair.value.as_str()), ("name", " a=\n1"));
        for wrong in ["name", "=a", "days:=3", ""] {
            assert!(wrong.parse::<TextPair>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pair_that_cannot_be_meant_is_named() {
        assert!(sent(&["n=one"]).unwrap_err().contains("\"n\" must be JSON of type number"));
        assert!(sent(&["s:=one"]).unwrap_err().contains("\"s\" must be JSON"));
        assert!(sent(&["s=a", "s=b"]).unwrap_err().contains("\"s\" is given twice"));
        assert!(sent(&["=a"]).unwrap_err().contains("no key"));
        assert!(sent(&["word"]).unwrap_err().contains("key=value"));
    }
}
