//! Describes what may be written as a field's value. `schema` makes JSON Schema of it, `generated` TypeScript, Python and
//! words for the docs.

use super::field::Row;

/// What a value may be.
#[cfg_attr(not(test), expect(dead_code, reason = "`generated` uses the usual words"))]
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// True or false.
    Switch,
    /// A text of at least so many characters.
    Text {
        least: u64,
    },
    /// A text, or a number or truth value that its author left without quotes.
    LooseText,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of the usual words, or another spelling of one of them.
    Spellings {
        usual: &'static [&'static str],
        all: fn() -> Vec<&'static str>,
    },
    /// A whole number of at least this.
    Integer {
        least: u64,
    },
    List(&'static Shape),
    /// An object of such values by name.
    ByName(&'static Shape),
    /// An object of fields.
    Object(&'static Object),
    Either(&'static [Shape]),
}

impl Shape {
    /// Any text.
    pub(super) const TEXT: Shape = Shape::Text { least: 0 };
}

/// An object with fields of its own, which has a name as a type.
#[cfg_attr(not(test), expect(dead_code, reason = "`generated` uses name and about"))]
pub(super) struct Object {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) rows: &'static [Row],
    /// Whether it may hold fields that are not listed.
    pub(super) is_open: bool,
}
