//! Describes the allowed values of a field. `schema` makes JSON Schema from it, `generated` makes TypeScript, Python
//! and text for the docs.

use super::field::FieldRow;

/// The allowed values.
#[cfg_attr(not(test), expect(dead_code, reason = "`generated` uses the usual words"))]
#[derive(Clone, Copy)]
pub(super) enum ValueShape {
    /// True or false.
    Switch,
    /// A text of at least this many characters.
    Text {
        least: u64,
    },
    /// A text, or a number or boolean that was written without quotes.
    LooseText,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of the usual words, or an alternative spelling.
    Spellings {
        usual: &'static [&'static str],
        all: fn() -> Vec<&'static str>,
    },
    /// A whole number of at least this.
    Integer {
        least: u64,
    },
    /// The number of a port.
    Port,
    List(&'static ValueShape),
    /// An object with such values by name.
    ByName(&'static ValueShape),
    /// An object of fields.
    Object(&'static Object),
    Either(&'static [ValueShape]),
}

impl ValueShape {
    /// Any text.
    pub(super) const TEXT: ValueShape = ValueShape::Text { least: 0 };
}

/// An object with its own fields, which has a name as a type.
#[cfg_attr(not(test), expect(dead_code, reason = "`generated` uses name and about"))]
pub(super) struct Object {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) rows: &'static [FieldRow],
    /// Whether fields that are not listed are allowed.
    pub(super) is_open: bool,
}
