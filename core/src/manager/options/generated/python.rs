//! Owns the Python file: a `TypedDict` for each group, which type checkers read, and tables of the same keywords, which
//! `help()` and `inspect.signature` show.

use serde_json::Value;

use super::{Group, seconds};
use crate::generated_file::wrap;
use crate::options::{Language, OptionInfo, OptionKind};

const HEAD: &str = r#""""Options of managers, discovery, pools, calls and edits. Generated from `core`; not to be edited."""

from __future__ import annotations

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal, TypedDict

    from ._calls import OnProgress
    from ._client_info import ClientInfo
    from ._host_env import HostEnv
    from ._naming import Naming
    from ._native import Pool
    from ._questions import LoginStore, OnApproval, OnAuth, OnElicitation, OnIdentity, OnSampling
    from ._trust import Trust
"#;

const TABLES: &str = r#"

# The keywords of functions with `**options`, each with its type and its default, and what they do.
"#;

const WIDTH: usize = 108;

/// What the functions of one kind take.
struct Keywords {
    /// The name of the `TypedDict`.
    class: &'static str,
    about: &'static str,
    /// The name of the table.
    table: &'static str,
    /// The others whose keywords it has too: the `TypedDict` that it extends, and the tables before and after its own.
    extends: Option<&'static str>,
    before: Option<&'static str>,
    after: Option<&'static str>,
    /// What the `TypedDict` adds.
    added: Vec<OptionInfo>,
    /// What the table adds; those of two tables are in one of them.
    listed: Vec<OptionInfo>,
}

pub(super) fn file(groups: &[Group]) -> String {
    let [manager, files, discover, pool, call, edit] = groups else { panic!("six groups") };
    let all = |group: &Group, class, table| Keywords {
        class,
        about: group.about,
        table,
        extends: None,
        before: None,
        after: None,
        added: group.options.clone(),
        listed: group.options.clone(),
    };
    let only = |group: &Group, is_in: &dyn Fn(&OptionInfo) -> bool| -> Vec<OptionInfo> {
        group.options.iter().filter(|option| is_in(option)).copied().collect()
    };
    // The project's directory is a positional argument of discovery.
    let of_discovery = only(discover, &|option| option.name != "cwd");
    let of_manager_too = |name| manager.options.iter().any(|option| option.name == name);
    let kinds = [
        all(manager, "ManagerOptions", "MANAGER"),
        Keywords {
            extends: Some("ManagerOptions"),
            after: Some("MANAGER"),
            ..all(files, "FileOptions", "FILE")
        },
        Keywords {
            added: of_discovery.clone(),
            listed: of_discovery.clone(),
            ..all(discover, "DiscoverOptions", "DISCOVER")
        },
        Keywords {
            about: "Options of a manager that is made by discovery.",
            extends: Some("FileOptions"),
            before: Some("DISCOVER"),
            after: Some("FILE"),
            added: only(discover, &|option| option.name != "cwd" && !of_manager_too(option.name)),
            listed: Vec::new(),
            ..all(discover, "DiscoverManagerOptions", "DISCOVER_MANAGER")
        },
        all(pool, "PoolOptions", "POOL"),
        all(call, "CallOptions", "CALL"),
        all(edit, "EditOptions", "EDIT"),
    ];
    let classes: String = kinds.iter().map(class).collect();
    let tables: Vec<String> = kinds.iter().map(table).collect();
    [HEAD, &classes, TABLES, &tables.join("\n")].concat()
}

fn class(Keywords { class, about, extends, added, .. }: &Keywords) -> String {
    let base = extends.unwrap_or("TypedDict");
    let mut text =
        format!("\n    class {class}({base}, total=False):\n        \"\"\"{about}\"\"\"\n\n");
    for option in added {
        text += &format!("        {}: {} | None\n", option.name, type_of(option));
        let default = match (option.default)() {
            Value::Null => String::new(),
            _ => format!(" Default: {}.", default_of(option)),
        };
        let unit = if (option.kind)().is_time() { " In seconds." } else { "" };
        let lines = wrap(&format!("{}{unit}{default}", option.about), WIDTH - 14);
        text += &format!("        \"\"\"{}\"\"\"\n", lines.join("\n        "));
    }
    text
}

fn table(Keywords { table, before, after, listed, .. }: &Keywords) -> String {
    let others =
        |name: Option<&str>| name.map(|name| format!("    **{name},\n")).unwrap_or_default();
    let rows: String = listed.iter().map(row).collect();
    let rows = [others(*before), rows, others(*after)].concat();
    let text = format!("{table}: dict[str, tuple[str, object]] = {{\n{rows}}}\n");
    // Those of a class are described there.
    if after.is_some() {
        return text;
    }
    let described: String = listed.iter().map(described).collect();
    let described = format!("\"\"\"\\\n{described}\"\"\"");
    match before {
        None => text + &format!("{table}_DOC = {described}\n"),
        Some(before) => {
            text + &format!("{table}_DOC = (\n    {before}_DOC\n    + {described}\n)\n")
        }
    }
}

fn row(option: &OptionInfo) -> String {
    let kind = format!("{} | None", type_of(option));
    let quote = if kind.contains('"') { '\'' } else { '"' };
    format!("    \"{}\": ({quote}{kind}{quote}, {}),\n", option.name, default_of(option))
}

fn described(option: &OptionInfo) -> String {
    let unit = if (option.kind)().is_time() { " In seconds." } else { "" };
    let lines = wrap(&format!("`{}`: {}{unit}", option.name, option.about), WIDTH - 8);
    lines.join("\n") + "\n"
}

fn type_of(option: &OptionInfo) -> String {
    let literal = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        format!("Literal[{}]", words.join(", "))
    };
    match (option.kind)() {
        OptionKind::Flag => "bool".to_owned(),
        OptionKind::Count => "int".to_owned(),
        OptionKind::Time => "float".to_owned(),
        OptionKind::TimeOrWords(words) => format!("float | {}", literal(words)),
        OptionKind::Texts => "Sequence[str]".to_owned(),
        OptionKind::Object => "Mapping[str, Any]".to_owned(),
        OptionKind::Text(_) => "str".to_owned(),
        OptionKind::Headers => "Mapping[str, str]".to_owned(),
        OptionKind::HeadersByServer => "Mapping[str, str | Mapping[str, str]]".to_owned(),
        OptionKind::Words(words) => literal(words),
        OptionKind::FlagOrWords(words) => format!("bool | {}", literal(words)),
        OptionKind::Path => "str | PathLike[str]".to_owned(),
        OptionKind::PathOrFalse => "str | PathLike[str] | Literal[False]".to_owned(),
        OptionKind::Pool => "Pool".to_owned(),
        OptionKind::Function(name)
        | OptionKind::WordsOrFunction(name, _)
        | OptionKind::Declared(name, _) => name.to_owned(),
    }
}

fn default_of(option: &OptionInfo) -> String {
    match (option.default)() {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        // Debug writes a float as Python does: 5.0.
        ms if (option.kind)().is_time() => format!("{:?}", seconds(&ms)),
        other => other.to_string(),
    }
}

#[test]
fn python_names_have_no_unit() {
    let gate = super::ManagerOptions::OPTIONS.iter().find(|option| option.name == "gate").unwrap();
    assert_eq!(gate.name_in(Language::Python), "gate");
    assert_eq!((type_of(gate), default_of(gate)), ("float".to_owned(), "0.25".to_owned()));
}
