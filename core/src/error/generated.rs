//! Makes what repeats the kinds and the fields elsewhere: the classes of Python and TypeScript with their exports, and the
//! tables in `docs/errors.md`. The tests fail while a committed file differs from it, and
//! `MCPOOL_WRITE_GENERATED=1 cargo test -p mcpool --lib generated` writes them anew.

use super::fields::FIELDS;
use super::{Cause, Error, ErrorKind, Executed, Restart, RpcError, Stage};
use crate::camel_case::camel_case;
use crate::generated_file::{assert_file, assert_part};

mod python;
mod typescript;

/// The declaration of one field.
pub(super) struct FieldInfo {
    /// Its name in Rust, in Python and in the JSON.
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
    pub(super) about: &'static str,
    /// Whether an error may be without it.
    pub(super) is_optional: bool,
}

/// The declaration of a value that has fields of its own.
pub(super) struct ObjectInfo {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) fields: &'static [FieldInfo],
}

const OBJECTS: [ObjectInfo; 2] = [RpcError::INFO, Restart::INFO];

/// What the values of a field are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum FieldKind {
    Text,
    Number,
    Flag,
    /// One of these words; the type of TypeScript has this name and description.
    Words {
        name: &'static str,
        about: &'static str,
        words: &'static [&'static str],
    },
    /// Any JSON.
    Any,
    /// An object of this class or interface.
    Object(&'static str),
    /// Every language has a place of its own for it.
    Cause,
}

pub(super) trait FieldType {
    const KIND: FieldKind;
    const IS_OPTIONAL: bool = false;
}

impl<T: FieldType> FieldType for Option<T> {
    const KIND: FieldKind = T::KIND;
    const IS_OPTIONAL: bool = true;
}

macro_rules! field_types {
    ($($Type:ty: $kind:expr,)*) => {
        $(impl FieldType for $Type { const KIND: FieldKind = $kind; })*
    };
}

field_types! {
    &str: FieldKind::Text,
    String: FieldKind::Text,
    bool: FieldKind::Flag,
    i32: FieldKind::Number,
    i64: FieldKind::Number,
    u16: FieldKind::Number,
    u32: FieldKind::Number,
    u64: FieldKind::Number,
    Stage: FieldKind::Words { name: "Stage", about: Stage::ABOUT, words: Stage::NAMES },
    Executed: FieldKind::Words { name: "Executed", about: Executed::ABOUT, words: Executed::NAMES },
    serde_json::Value: FieldKind::Any,
    Error: FieldKind::Object("McpoolError"),
    RpcError: FieldKind::Object(RpcError::INFO.name),
    Restart: FieldKind::Object(Restart::INFO.name),
    Cause: FieldKind::Cause,
}

impl FieldInfo {
    /// The description, with the words that a value can be.
    fn about_with_words(&self) -> String {
        match self.kind {
            FieldKind::Words { words, .. } => {
                format!("{} One of `{}`.", self.about, words.join("`, `"))
            }
            _ => self.about.to_owned(),
        }
    }
}

/// The name of a kind's class in Python and TypeScript.
fn class_name(kind: ErrorKind) -> String {
    let name = format!("{kind:?}");
    if name.ends_with("Error") { name } else { name + "Error" }
}

/// Whether the class is also the language's own `TimeoutError`.
fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectTimeout | ErrorKind::ToolTimeout)
}

/// The names of all classes, in the order of the alphabet.
fn class_names() -> Vec<String> {
    let mut names: Vec<String> = ErrorKind::ALL.iter().copied().map(class_name).collect();
    names.push("McpoolError".to_owned());
    names.sort();
    names
}

fn table_of_codes() -> String {
    let rows = ErrorKind::ALL.iter().map(|kind| {
        format!("| `{}` | `{}` | {} |\n", kind.code(), class_name(*kind), kind.about())
    });
    "| code | class | meaning |\n|---|---|---|\n".to_owned() + &rows.collect::<String>()
}

fn table_of_fields() -> String {
    let rows = FIELDS.iter().map(|field| {
        let (python, node) = match field.kind {
            FieldKind::Cause => ("__cause__", "cause".to_owned()),
            _ => (field.name, camel_case(field.name)),
        };
        let about = field.about_with_words();
        format!("| `{python}` | `{node}` | `{}()` | {about} |\n", field.name)
    });
    "| Python | Node | Rust | meaning |\n|---|---|---|---|\n".to_owned() + &rows.collect::<String>()
}

#[test]
fn files_are_what_the_lists_say() {
    assert_file("python/mcpool/_error_classes.py", &python::module());
    assert_part("python/mcpool/__init__.py", "errors", &python::exports());
    assert_file("node/lib/error-classes.ts", &typescript::module());
    assert_file("node/lib/error-classes.mts", &typescript::esm_module());
    assert_part("docs/errors.md", "fields", &table_of_fields());
    assert_part("docs/errors.md", "codes", &table_of_codes());
}
