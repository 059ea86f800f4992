//! Owns what is generated from the tables of options: the Python types, the TypeScript types and the tables of
//! `docs/options.md`. The files are committed; the test fails while they differ from the tables, and
//! `MCPOOL_WRITE_GENERATED=1 cargo test -p mcpool --lib generated` writes them anew.

use serde_json::Value;

use super::{ManagerOptions, WATCH};
use crate::call::CallOptions;
use crate::discover::DiscoverOptions;
use crate::edit::EditTarget;
use crate::generated_file::{assert_file, assert_part};
use crate::options::{Language, OptionInfo, OptionKind};
use crate::pool::PoolOptions;

mod python;
mod typescript;

/// One group of options as users see them.
struct Group {
    /// The name of its type.
    name: &'static str,
    about: &'static str,
    /// The type whose options it has too.
    extends: Option<&'static str>,
    options: Vec<OptionInfo>,
}

fn groups() -> [Group; 6] {
    let of = |options: &[OptionInfo], is_in: fn(&OptionInfo) -> bool| -> Vec<OptionInfo> {
        options.iter().filter(|option| is_in(option)).copied().collect()
    };
    [
        Group {
            name: "ManagerOptions",
            about: "Options of a manager; the defaults are good.",
            extends: None,
            options: of(ManagerOptions::OPTIONS, |option| option.name != WATCH),
        },
        Group {
            name: "FileOptions",
            about: "Options of a manager on a config file.",
            extends: Some("ManagerOptions"),
            options: of(ManagerOptions::OPTIONS, |option| option.name == WATCH),
        },
        Group {
            name: "DiscoverOptions",
            about: "Options of discovery: where to look, and what to leave out.",
            extends: None,
            options: DiscoverOptions::OPTIONS.to_vec(),
        },
        Group {
            name: "PoolOptions",
            about: "Options of a pool; the defaults are good.",
            extends: None,
            options: PoolOptions::OPTIONS.to_vec(),
        },
        Group {
            name: "CallOptions",
            about: "Options of one call.",
            extends: None,
            options: CallOptions::OPTIONS.to_vec(),
        },
        Group {
            name: "EditOptions",
            about: "Options of a change of a config file: which file it is.",
            extends: None,
            options: EditTarget::OPTIONS.to_vec(),
        },
    ]
}

fn tables() -> String {
    let mut text = String::new();
    for group in groups() {
        text += &format!(
            "\n## {}\n\n{}\n\n| option (Python, Node) | values | default | meaning |\n|---|---|---|---|\n",
            group.name, group.about
        );
        text.extend(group.options.iter().map(row));
    }
    text + "\n"
}

fn row(option: &OptionInfo) -> String {
    let [python, node] = [Language::Python, Language::Node].map(|it| option.name_in(it));
    let names =
        if python == node { format!("`{python}`") } else { format!("`{python}`, `{node}`") };
    let words = |words: &[&str]| {
        words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
    };
    let values = match (option.kind)() {
        OptionKind::Flag => "true, false".to_owned(),
        OptionKind::Count => "a whole number".to_owned(),
        OptionKind::Time => "seconds, milliseconds".to_owned(),
        OptionKind::TimeOrWords(some) => format!("seconds, milliseconds, or {}", words(some)),
        OptionKind::Texts => "a list of texts".to_owned(),
        OptionKind::Object => "an object".to_owned(),
        OptionKind::Text(_) => "a text".to_owned(),
        OptionKind::Headers => "names and texts".to_owned(),
        OptionKind::HeadersByServer => "names and texts, or those of a server".to_owned(),
        OptionKind::Words(some) => words(some),
        OptionKind::FlagOrWords(some) => format!("true, false, {}", words(some)),
        OptionKind::Path => "a path".to_owned(),
        OptionKind::PathOrFalse => "a path, false".to_owned(),
        OptionKind::WordsOrFunction(_, some) => format!("{}, or a function", words(some)),
        kind @ (OptionKind::Function(_) | OptionKind::Pool | OptionKind::Declared(..)) => {
            kind.expected(Language::Python)
        }
    };
    let default = match (option.default)() {
        Value::Null => String::new(),
        Value::Number(ms) if (option.kind)().is_time() => {
            format!("{} s, {ms} ms", seconds(&Value::Number(ms.clone())))
        }
        other => format!("`{other}`"),
    };
    format!("| {names} | {values} | {default} | {} |\n", option.about)
}

/// Milliseconds as seconds, without needless digits.
fn seconds(ms: &Value) -> f64 {
    ms.as_f64().unwrap_or_default() / 1000.0
}

#[test]
fn files_are_what_the_tables_say() {
    assert_file("python/mcpool/_options.py", &python::file(&groups()));
    assert_file("node/lib/options.ts", &typescript::file(&groups()));
    assert_part("docs/options.md", "options", &tables());
}
