//! Owns what must not be shown: secret values are a type that prints as stars (`Secret`), a definition is shown without
//! the values that may be secret (`shown`), what a server says is told without the values it was given (`mask`),
//! and what is wrong with JSON of ours without the value in question (`json`).
//! Invariant: the only way to a [`Secret`]'s text is [`Secret::expose`], called where the value leaves for its
//! server, is written to the user's own file, or goes into a hash.

use std::fmt;

mod arguments;
mod find;
mod forms;
mod given;
mod json;
mod literals;
mod mask;
mod names;
mod needles;
mod reference;
mod shown;
mod view;

pub(crate) use arguments::{arguments, shortened};
pub(crate) use given::Given;
pub(crate) use json::{from_json, from_value};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_stars() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
