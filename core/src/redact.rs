//! Owns redaction: `Secret` is a value that prints as stars, `shown` redacts definitions, `mask` hides the values that
//! a server was given in the text that the server sends.
//! Invariant: [`Secret::expose`] is the only access to a [`Secret`]'s text. It is called where the value is sent to its
//! server, written to the user's own file, or hashed.

use std::fmt;

mod arguments;
mod find;
mod forms;
mod literals;
mod mask;
mod mask_builder;
mod names;
mod needles;
mod reference;
mod shown;
mod view;

pub(crate) use arguments::{arguments, shortened};
pub(crate) use mask::Mask;
pub(crate) use mask_builder::MaskBuilder;
pub(crate) use names::is_secret_key;
pub(crate) use needles::Cut;
#[cfg(any(test, fuzzing))]
pub(crate) use shown::args;
pub(crate) use shown::{definition, text, url};

const STARS: &str = "***";

/// A header or environment value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret value.
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

/// Why JSON could not be read, without the offending value.
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
