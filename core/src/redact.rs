//! Owns redaction: `Secret` is a value that prints as stars, `definition` redacts definitions, `mask` hides the values that
//! a server was given in the text that the server sends, `json` describes what is wrong with our JSON without the
//! offending value.
//! Invariant: [`Secret::expose`] is the only access to a [`Secret`]'s text. It is called where the value is sent to its
//! server, written to the user's own file, or hashed.

use std::fmt;

mod arguments;
mod definition;
mod find;
mod forms;
mod json;
mod literals;
mod mask;
mod mask_builder;
mod names;
mod needles;
mod reference;
mod view;

pub(crate) use arguments::{arguments, shortened};
pub(crate) use definition::{args, definition, text, url};
pub(crate) use json::{from_json, from_value};
pub(crate) use mask::{Mask, MoreValues};
pub(crate) use mask_builder::MaskBuilder;
pub(crate) use names::{is_credential, is_secret_key};
pub(crate) use needles::Cut;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_stars() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
