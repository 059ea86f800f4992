//! Owns reading our own JSON (options, requests of the bindings) so that an error names the field and what was expected
//! there, and never the value: it may be a secret in the wrong place.
//! Leaves the syntax to `serde_json`, whose syntax errors quote nothing. Its errors about types do quote, so the types are
//! checked by a deserializer of our own.

use std::fmt::{self, Display};
use std::vec;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};

use crate::similar::did_you_mean;

/// Reads a value of type `T`; the error is a phrase for people.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    from_value(serde_json::from_str(text).map_err(|error| error.to_string())?)
}

/// The same for JSON that is parsed already.
pub(crate) fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    T::deserialize(Node(value)).map_err(|mismatch| mismatch.to_string())
}

/// What is wrong, and the path to the field.
#[derive(Debug)]
struct Mismatch {
    path: Vec<String>,
    what: String,
}

impl Mismatch {
    fn new(what: String) -> Self {
        Mismatch { path: Vec::new(), what }
    }

    fn within(mut self, key: impl Into<String>) -> Self {
        self.path.insert(0, key.into());
        self
    }
}

impl Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "\"{}\": {}", self.path.join("."), self.what),
        }
    }
}

impl std::error::Error for Mismatch {}

impl Error for Mismatch {
    fn custom<T: Display>(what: T) -> Self {
        Mismatch::new(what.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match expected.to_string().as_str() {
            "a map" => "an object".to_owned(),
            expected => expected.to_owned(),
        };
        Mismatch::new(format!("{} in place of {expected}", kind_of(found)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Mismatch::new(format!("not what belongs there, expected {expected}"))
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Mismatch::new(format!("too short or too long, expected {expected}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let known = match did_you_mean(field, expected.iter().copied()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("its fields are {}", expected.join(", ")),
        };
        Mismatch::new(format!("unknown field \"{field}\", {known}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Mismatch::new(format!("not one of {}", expected.join(", ")))
    }
}

fn kind_of(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Str(_) => "a string",
        Unexpected::Seq => "a list",
        Unexpected::Map => "an object",
        Unexpected::Unit => "null",
        _ => "another kind of value",
    }
}

/// A value that is read.
struct Node(Value);

impl<'de> Deserializer<'de> for Node {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (.., number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items { items: items.into_iter(), index: 0 }),
            Value::Object(fields) => visitor.visit_map(Fields::new(fields)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(variant.into_deserializer()),
            Value::Object(fields) => {
                visitor.visit_enum(MapAccessDeserializer::new(Fields::new(fields)))
            }
            other => Node(other).deserialize_any(visitor),
        }
    }

    /// A list of values without names is not taken for a struct.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let found = match &self.0 {
            Value::Object(_) => return self.deserialize_any(visitor),
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(_) => Unexpected::Float(0.0),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
        };
        Err(Mismatch::invalid_type(found, &"an object"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items {
    items: vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Mismatch> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Node(item)).map(Some).map_err(|error| error.within(index.to_string()))
    }
}

struct Fields {
    fields: map::IntoIter,
    current: Option<(String, Value)>,
}

impl Fields {
    fn new(fields: Map<String, Value>) -> Self {
        Fields { fields: fields.into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Mismatch> {
        let Some((key, value)) = self.fields.next() else { return Ok(None) };
        self.current = Some((key.clone(), value));
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (key, value) = self.current.take().unwrap_or_default();
        seed.deserialize(Node(value)).map_err(|error| error.within(key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        Red,
        Mixed { share: u8 },
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Size {
        Number(i64),
        Word(Colour),
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Options {
        colour: Option<Colour>,
        sizes: Option<Vec<Size>>,
        env: Option<BTreeMap<String, String>>,
        any: Option<Value>,
        share: Option<f64>,
    }

    #[test]
    fn what_serde_json_reads_is_read_alike() {
        for text in [
            "{}",
            r#"{"colour": "red", "sizes": [1, -2, "red", {"mixed": {"share": 3}}], "share": 2}"#,
            r#"{"colour": null, "env": {"A": "b"}, "any": {"x": [1.5, true, null, "y"]}}"#,
            r#"{"colour": {"mixed": {"share": 255}}, "share": 0.25, "any": 18446744073709551615}"#,
        ] {
            let expected: Options = serde_json::from_str(text).unwrap();
            assert_eq!(from_json::<Options>(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_the_value() {
        for (text, told) in [
            (r#"{"env": {"A": 77123}}"#, r#""env.A": a number in place of a string"#),
            (r#"{"env": "hunter2"}"#, r#""env": a string in place of an object"#),
            (r#"{"colour": "hunter2"}"#, r#""colour": not one of red, mixed"#),
            (
                r#"{"colour": {"mixed": {"share": 77123}}}"#,
                r#""colour.mixed.share": not what belongs there, expected u8"#,
            ),
            ("[", "EOF while parsing a list at line 1 column 1"),
            (r#""hunter2""#, "a string in place of an object"),
            ("[null, null, null, null, null]", "a list in place of an object"),
        ] {
            assert_eq!(from_json::<Options>(text).unwrap_err(), told, "{text}");
        }
        let told = from_json::<Options>(r#"{"color": "hunter2"}"#).unwrap_err();
        assert_eq!(told, "unknown field \"color\", did you mean \"colour\"?");
        let told = from_json::<Options>(r#"{"sizes": [1, "hunter2"]}"#).unwrap_err();
        assert!(told.starts_with("\"sizes.1\": ") && !told.contains("hunter2"), "{told}");
    }
}
