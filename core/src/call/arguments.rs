//! Owns a call's arguments, and how text becomes arguments. The text is kept as it is, so that long numbers stay exact.
//! Invariant: they are one JSON object in one line, and if they came as text, every reader finds the same in it.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::invalid;
use crate::error::{Error, Result};

/// A call's arguments: one JSON object, kept as text.
#[derive(Clone, Debug)]
pub struct Arguments(Vec<u8>);

impl Arguments {
    /// No arguments.
    pub fn none() -> Self {
        Arguments(b"{}".to_vec())
    }

    /// Takes arguments as a model's provider hands them over. Models leave them out, or write nothing or `null`, for a
    /// tool that has none; anything else must be an object.
    pub fn from_model(text: Option<&str>) -> Result<Self> {
        match text.map(str::trim) {
            None | Some("" | "null") => Ok(Arguments::none()),
            Some(text) => Arguments::from_json(text),
        }
    }

    /// Takes JSON text; it must be an object. Text that two readers may understand differently is refused: numbers that
    /// no `f64` can hold, half characters, names that appear twice in an object, and deep nesting.
    pub fn from_json(json: impl Into<Vec<u8>>) -> Result<Self> {
        let mut json = json.into();
        serde_json::from_slice::<Unambiguous>(&json)
            .map_err(|error| invalid(&format!("The arguments are not valid JSON: {error}")))?;
        // A message is one line on the wire. In JSON, these bytes are only ever space between values.
        for byte in json.iter_mut().filter(|byte| byte.is_ascii_whitespace()) {
            *byte = b' ';
        }
        let start = json.iter().position(|byte| *byte != b' ').unwrap_or_default();
        json.drain(..start);
        Arguments::from_writer(json)
    }

    /// Serialises anything that becomes a JSON object.
    pub fn new(arguments: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_vec(arguments)
            .map_err(|error| invalid(&format!("The arguments cannot become JSON: {error}")))?;
        Arguments::from_writer(json)
    }

    /// Takes compact JSON text whose writer is trusted to write valid JSON; it must be an object.
    pub fn from_writer(json: Vec<u8>) -> Result<Self> {
        if json.first() == Some(&b'{') {
            Ok(Arguments(json))
        } else {
            Err(invalid("The arguments must be a JSON object"))
        }
    }

    pub(crate) fn json(&self) -> &[u8] {
        &self.0
    }

    /// The JSON text, for hosts.
    #[doc(hidden)]
    pub fn into_json(self) -> Vec<u8> {
        self.0
    }
}

impl TryFrom<Value> for Arguments {
    type Error = Error;

    fn try_from(arguments: Value) -> Result<Self> {
        Arguments::new(&arguments)
    }
}

/// JSON text, as models write it.
impl TryFrom<&str> for Arguments {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        Arguments::from_model(Some(text))
    }
}

/// Reads a JSON value and keeps nothing of it. The parser itself refuses numbers that are out of range, half
/// characters, and deep nesting.
struct Unambiguous;

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(value: D) -> std::result::Result<Self, D::Error> {
        value.deserialize_any(Unambiguous)
    }
}

impl<'de> Visitor<'de> for Unambiguous {
    type Value = Unambiguous;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self, A::Error> {
        while items.next_element::<Unambiguous>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format_args!("the name \"{name}\" appears twice")));
            }
            members.next_value::<Unambiguous>()?;
            names.insert(name);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<String, &'static str> {
        let arguments = Arguments::from_model(Some(text));
        arguments.map(|it| String::from_utf8(it.into_json()).unwrap()).map_err(|error| error.code())
    }

    #[test]
    fn arguments_of_models_are_objects_or_nothing() {
        assert_eq!(Arguments::from_model(None).unwrap().json(), b"{}");
        let deep = |levels| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        let kept = [
            r#"{}"#,
            r#"{"a":1}"#,
            r#"{"big":1180591620717411303424,"long":0.1000000000000000055511}"#,
        ];
        for text in kept.iter().copied().chain([&*deep(100)]) {
            assert_eq!(read(text).as_deref(), Ok(text));
        }
        for text in ["", "  ", "\n", "null", " null\n"] {
            assert_eq!(read(text).as_deref(), Ok("{}"), "{text:?}");
        }
        let refused = [
            "[]",
            "1",
            "\"x\"",
            "true",
            "{",
            "{}{}",
            "{'a':1}",
            "None",
            "nul",
            "\"{}\"",
            "\u{feff}{}",
            "{\"a\":1e999}",
            "{\"a\":-1e999}",
            "{\"a\":[{\"b\":1e999}]}",
            "{\"a\":NaN}",
            "{\"a\":Infinity}",
            r#"{"a":"\ud800"}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"b":{"a":1,"\u0061":1}}"#,
            "{\"a\":\"\n\"}",
        ];
        for text in refused.iter().copied().chain([&*deep(200)]) {
            assert_eq!(read(text), Err("INVALID_ARGUMENTS"), "{text}");
        }
    }

    #[test]
    fn only_objects_are_arguments() {
        for text in ["[]", "1", "\"x\"", "null", "{", ""] {
            let error = Arguments::from_json(text).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENTS", "{text}");
        }
        Arguments::from_json("{}").unwrap();
    }

    #[test]
    fn arguments_become_one_line_and_keep_their_numbers() {
        let text = "\r\n{\n\t\"b\": 1180591620717411303424,\r\n  \"a\": \"x\\ny\"\n}";
        let arguments = Arguments::from_json(text).unwrap();
        let line = String::from_utf8(arguments.into_json()).unwrap();
        assert_eq!(line, r#"{  "b": 1180591620717411303424,    "a": "x\ny" }"#);
    }
}
