//! Owns what must not be shown: secret values are a type that prints as stars (`Secret`), a definition is shown without
//! the values that may be secret (`shown`), and what a server says is told without the values it was given (`mask`).
//! Invariant: the only way to a [`Secret`]'s text is [`Secret::expose`], called where the value leaves for its
//! server, is written to the user's own file, or goes into a hash.

use std::fmt;

mod arguments;
mod find;
mod forms;
mod given;
mod literals;
mod mask;
mod names;
mod needles;
mod reference;
mod shown;
mod view;

pub(crate) use arguments::{arguments, shortened};
pub(crate) use given::Given;
pub(crate) use mask::Mask;
pub(crate) use names::is_secret_key;
pub(crate) use needles::Cut;
pub(crate) use shown::{args, definition, text, url};

const STARS: &str = "***";

/// A header or environment value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value into custody.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The value itself, for the child's environment or the request's header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

/// Why JSON is not what was expected, without the value that stands in its place.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let blank = |from: usize, kind: &str| {
        let rest = &text[from..];
        let end = rest.rfind("expected").unwrap_or(rest.len());
        format!("{}{kind}{}", &text[..from], &rest[end..])
    };
    for start in ["invalid type: ", "invalid value: ", "unknown variant ", "invalid length "] {
        if let Some(at) = text.find(start) {
            return blank(at, "not what belongs there, ");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_json_is_told_without_the_value() {
        for (text, shown) in [
            ("[\"hunter2, expected\"]", "not what belongs there, expected u8 at line 1 column 20"),
            ("[300]", "not what belongs there, expected u8 at line 1 column 4"),
            ("[", "EOF while parsing a list at line 1 column 1"),
        ] {
            let error = serde_json::from_str::<Vec<u8>>(text).unwrap_err();
            assert_eq!(reason(&error), shown);
        }
    }

    #[test]
    fn a_secret_prints_as_stars() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
