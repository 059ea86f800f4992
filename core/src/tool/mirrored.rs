//! Owns the arguments that a tool wants to be repeated in headers (`x-mcp-header` in its input schema): reading the
//! declarations, and their values in a call.
//! Invariant: a schema is searched once for a tool, and only if it may declare something. A declaration names a header
//! below `Mcp-Param-`, so it can replace no other.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use http::header::{HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ServerTool;
use crate::headers::mirrored_value;
use crate::json_string::{LossyString, unescape};

const KEY: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";
/// How many arguments a tool may have in headers.
const MOST: usize = 100;

/// An argument that is repeated in a header.
#[derive(Debug)]
pub(super) struct MirroredArgument {
    /// The members that lead to it.
    path: Vec<String>,
    header: HeaderName,
}

impl ServerTool {
    /// What is wrong with its declarations of headers, if anything.
    pub(crate) fn header_problem(&self) -> Option<&'static str> {
        self.mirrored().as_ref().err().copied()
    }

    /// The headers that repeat arguments of a call. `arguments` is a JSON object.
    pub(crate) fn mirrored_arguments(&self, arguments: &[u8]) -> Vec<(HeaderName, HeaderValue)> {
        let Ok(mirrored) = self.mirrored() else { return Vec::new() };
        let value = |argument: &MirroredArgument| {
            let value = value_at(arguments, &argument.path)?;
            Some((argument.header.clone(), mirrored_value(&value)?))
        };
        mirrored.iter().filter_map(value).collect()
    }

    fn mirrored(&self) -> &Result<Box<[MirroredArgument]>, &'static str> {
        self.mirrored.get_or_init(|| match self.parts().input_schema {
            Some(schema) => declared(schema.get()).map(Vec::into_boxed_slice),
            None => Ok(Box::default()),
        })
    }
}

/// The declarations of a schema, or why they are not valid.
fn declared(schema: &str) -> Result<Vec<MirroredArgument>, &'static str> {
    // Any character of a member's name may be written as an escape.
    if !schema.contains(KEY) && !schema.contains("\\u") {
        return Ok(Vec::new());
    }
    let Ok(tree) = serde_json::from_str::<Value>(schema) else {
        return match schema.contains(KEY) {
            true => Err("its input schema declares headers, but cannot be read"),
            false => Ok(Vec::new()),
        };
    };
    let mut search = Search::default();
    search.schema(&tree, Place::Argument)?;
    Ok(search.found)
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Reached from the root through `properties` alone.
    Argument,
    Elsewhere,
}

#[derive(Default)]
struct Search {
    path: Vec<String>,
    found: Vec<MirroredArgument>,
    headers: HashSet<HeaderName>,
}

impl Search {
    fn schema(&mut self, schema: &Value, place: Place) -> Result<(), &'static str> {
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(items) => {
                return items.iter().try_for_each(|item| self.schema(item, Place::Elsewhere));
            }
            _ => return Ok(()),
        };
        for (key, value) in members {
            match key.as_str() {
                KEY => self.declaration(value, schema, place)?,
                "properties" => {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        self.path.push(name.clone());
                        self.schema(property, place)?;
                        self.path.pop();
                    }
                }
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                    let schemas = value.as_object().into_iter().flatten();
                    for (_, definition) in schemas {
                        self.schema(definition, Place::Elsewhere)?;
                    }
                }
                // They hold values, not schemas.
                "default" | "const" | "enum" | "examples" => {}
                _ => self.schema(value, Place::Elsewhere)?,
            }
        }
        Ok(())
    }

    fn declaration(
        &mut self,
        name: &Value,
        schema: &Value,
        place: Place,
    ) -> Result<(), &'static str> {
        if place == Place::Elsewhere || self.path.is_empty() {
            return Err("it declares a header for something that is not an argument");
        }
        let name = name.as_str().filter(|name| !name.is_empty());
        let name = name.ok_or("it declares a header without a name")?;
        if !is_mirrored_type(&schema["type"]) {
            return Err(
                "it declares a header for an argument that is not a string, integer or boolean",
            );
        }
        let header = HeaderName::try_from(format!("{PREFIX}{name}"))
            .map_err(|_| "it declares a header with a name that no header can have")?;
        if !self.headers.insert(header.clone()) {
            return Err("it declares the same header twice");
        }
        if self.found.len() == MOST {
            return Err("it declares too many headers");
        }
        self.found.push(MirroredArgument { path: self.path.clone(), header });
        Ok(())
    }
}

/// An argument may also be null, and then has no header.
fn is_mirrored_type(kind: &Value) -> bool {
    let is_one = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        Value::Array(kinds) => {
            kinds.iter().any(is_one) && kinds.iter().all(|kind| is_one(kind) || kind == "null")
        }
        kind => is_one(kind),
    }
}

/// The text of the value at this place, if it is one that a header repeats.
fn value_at(arguments: &[u8], path: &[String]) -> Option<String> {
    let mut json = std::str::from_utf8(arguments).ok()?;
    for key in path {
        let mut members: HashMap<LossyString<'_>, &RawValue> = serde_json::from_str(json).ok()?;
        json = members.remove(&LossyString(key.into()))?.get();
    }
    match json.as_bytes().first()? {
        b'"' => unescape(json).map(Cow::into_owned),
        b't' | b'f' => Some(json.to_owned()),
        b'-' | b'0'..=b'9' => Some(integer_text(json)),
        _ => None,
    }
}

/// A number as a header repeats it: a whole number without a fraction or an exponent.
fn integer_text(json: &str) -> String {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    match json.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() <= SAFE => (number as i64).to_string(),
        _ => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(properties: &str) -> ServerTool {
        let json = format!(
            r#"{{"name":"t","inputSchema":{{"type":"object","properties":{properties}}}}}"#
        );
        ServerTool::read(&"s".into(), json.into()).unwrap()
    }

    #[test]
    fn declared_arguments_are_repeated() {
        let tool = tool(
            r#"{"a":{"type":"string","x-mcp-header":"Method"},"n":{"type":"integer","x-mcp-header":"N"},
                "b":{"type":"boolean","x-mcp-header":"B"},"z":{"type":["string","null"],"x-mcp-header":"Z"},
                "o":{"type":"object","properties":{"i":{"type":"string","x-mcp-header":"Inner"}}},
                "q":{"type":"string","default":{"x-mcp-header":"no"}}}"#,
        );
        assert_eq!(tool.header_problem(), None);
        let arguments = r#"{"a":"x\r\nX: 1","n":42.0,"b":false,"z":null,"o":{"i":"é"},"q":"no"}"#;
        let mut headers: Vec<_> = tool
            .mirrored_arguments(arguments.as_bytes())
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        headers.sort();
        assert_eq!(
            headers,
            [
                "mcp-param-b: false",
                "mcp-param-inner: =?base64?w6k=?=",
                "mcp-param-method: =?base64?eA0KWDogMQ==?=",
                "mcp-param-n: 42",
            ]
        );
        assert!(tool.mirrored_arguments(b"{}").is_empty());
        assert!(tool.mirrored_arguments(b"{\"o\":7}").is_empty());
    }

    #[test]
    fn an_invalid_declaration_is_a_problem_of_the_tool() {
        for properties in [
            r#"{"a":{"type":"string","x-mcp-header":""}}"#,
            r#"{"a":{"type":"string","x-mcp-header":7}}"#,
            r#"{"a":{"type":"object","x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"number","x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"null","x-mcp-header":"A"}}"#,
            r#"{"a":{"x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"A b"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"A:b"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"Région"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"A\r\nX"}}"#,
            r#"{"a":{"type":"string","x-mcp\u002dheader":"A b"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}"#,
            r#"{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}"#,
            r#"{"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}}"#,
        ] {
            assert!(tool(properties).header_problem().is_some(), "{properties}");
        }
        let many = (0..=MOST)
            .map(|n| format!(r#""a{n}":{{"type":"string","x-mcp-header":"A{n}"}}"#))
            .collect::<Vec<_>>();
        assert!(tool(&format!("{{{}}}", many.join(","))).header_problem().is_some());
        let half = r#"{"a":{"type":"string","title":"\ud800"#;
        assert_eq!(tool(&format!(r#"{half}"}}}}"#)).header_problem(), None, "it declares nothing");
        let declaring = format!(r#"{half}","x-mcp-header":"A"}}}}"#);
        assert!(tool(&declaring).header_problem().is_some(), "it cannot be read");
        let named = r#"{"x-mcp-header":{"type":"string"}}"#;
        assert_eq!(tool(named).header_problem(), None, "an argument of that name");
    }
}
