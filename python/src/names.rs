//! Owns reading the names and other texts that verbs take. Another value is a `TypeError` that says what belongs there.

use std::ops::Deref;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::tool::Tool;

macro_rules! texts {
    ($($(#[$about:meta])* $name:ident = $what:literal, of a tool: $hint:literal;)*) => {$(
        $(#[$about])*
        pub(crate) struct $name<'a>(&'a str);

        impl<'a> FromPyObject<'a, '_> for $name<'a> {
            type Error = PyErr;

            fn extract(given: Borrowed<'a, '_, PyAny>) -> PyResult<Self> {
                match <&'a str>::extract(given) {
                    Ok(text) => Ok($name(text)),
                    // With half of a surrogate pair.
                    Err(error) if given.is_instance_of::<PyString>() => Err(error),
                    Err(_) => Err(refused($what, $hint, &given)),
                }
            }
        }

        impl Deref for $name<'_> {
            type Target = str;

            fn deref(&self) -> &str {
                self.0
            }
        }
    )*};
}

texts! {
    /// The name of a server.
    ServerName = "The name of the server", of a tool: "tool.server is one";
    /// The name of a tool, in the catalog or the server's own.
    ToolName = "The name of the tool", of a tool: "call() takes tool.name, call_tool() takes tool.raw_name";
    /// What the tools are searched for.
    Query = "The query", of a tool: "tool.name is one";
    /// Where a browser was sent back to.
    RedirectUrl = "The redirect URL", of a tool: "that is a tool";
}

fn refused(what: &str, hint: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let text = match given.is_none() {
        true => format!("{what} must be a text, not None"),
        false => match given.get_type().name() {
            Ok(kind) => format!("{what} must be a text, not {}", with_article(&kind.to_string())),
            Err(error) => return error,
        },
    };
    match given.is_instance_of::<Tool>() {
        true => PyTypeError::new_err(format!("{text} ({hint})")),
        false => PyTypeError::new_err(text),
    }
}

/// `an int`, `a dict`.
pub(crate) fn with_article(kind: &str) -> String {
    let is_vowel = kind.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
    format!("{} {kind}", if is_vowel { "an" } else { "a" })
}
