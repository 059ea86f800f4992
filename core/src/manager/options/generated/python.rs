//! Owns the Python file: a `TypedDict` for each group, which type checkers read, and functions with the same keywords, which
//! `help()` and `inspect.signature` read.

use serde_json::Value;

use super::{Group, seconds};
use crate::generated_file::wrap;
use crate::options::{Language, OptionInfo, OptionKind};

const HEAD: &str = r#""""The options of managers and of discovery. Generated from the tables in `core`; not to be edited."""

from __future__ import annotations

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal, TypedDict

    from ._host_env import HostEnv
    from ._native import Pool
    from ._questions import OnApproval
    from ._tool import Naming
    from ._trust import Trust
"#;

const WIDTH: usize = 108;

pub(super) fn file(groups: &[Group]) -> String {
    let [manager, files, discover, _pool] = groups else { panic!("four groups") };
    // The project's directory is a positional argument.
    let keywords = |group: &Group| -> Vec<OptionInfo> {
        group.options.iter().filter(|option| option.name != "cwd").copied().collect()
    };
    let manager_too = |option: &OptionInfo| manager.options.iter().any(|it| it.name == option.name);
    let mut only_discover = keywords(discover);
    only_discover.retain(|option| !manager_too(option));

    let mut text = HEAD.to_owned();
    for (group, options) in
        [(manager, keywords(manager)), (files, keywords(files)), (discover, keywords(discover))]
    {
        text += &class(group.name, group.extends, group.about, &options);
    }
    text += &class(
        "DiscoverManagerOptions",
        Some("FileOptions"),
        "Options of a manager that is made by discovery.",
        &only_discover,
    );
    text += "\n\nif not TYPE_CHECKING:\n    # Never called: `show_keywords` shows their signatures in place of `**options`.\n";
    let (of_file, of_discover) = (keywords(files), keywords(discover));
    let all = |lists: [&[OptionInfo]; 3]| lists.concat();
    let own = keywords(manager);
    text += &function("manager", &["self", "config: Mapping[str, Any] | str"], &own, &own);
    text += &function(
        "manager_from_file",
        &["cls", "path: str | PathLike[str]"],
        &all([&of_file, &own, &[]]),
        &[],
    );
    let cwd = "cwd: str | PathLike[str] | None = None";
    let with_discover = all([&only_discover, &of_file, &own]);
    text += &function("discover_manager", &["cls", cwd], &with_discover, &[]);
    text + &function("discover", &[cwd], &of_discover, &of_discover)
}

fn class(name: &str, extends: Option<&str>, about: &str, options: &[OptionInfo]) -> String {
    let base = extends.unwrap_or("TypedDict");
    let mut text =
        format!("\n    class {name}({base}, total=False):\n        \"\"\"{about}\"\"\"\n\n");
    for option in options {
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

fn function(
    name: &str,
    positional: &[&str],
    options: &[OptionInfo],
    described: &[OptionInfo],
) -> String {
    let mut text = format!("\n    def {name}(\n");
    text.extend(positional.iter().map(|parameter| format!("        {parameter},\n")));
    text += "        *,\n";
    text.extend(options.iter().map(|option| {
        format!("        {}: {} | None = {},\n", option.name, type_of(option), default_of(option))
    }));
    if described.is_empty() {
        return text + "    ): ...\n";
    }
    text += "    ):\n        \"\"\"Options; all times are seconds.\n\n";
    for option in described {
        let lines = wrap(&format!("`{}`: {}", option.name, option.about), WIDTH - 8);
        text += &format!("        {}\n", lines.join("\n        "));
    }
    text + "        \"\"\"\n"
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
        OptionKind::Words(words) => literal(words),
        OptionKind::FlagOrWords(words) => format!("bool | {}", literal(words)),
        OptionKind::Path => "str | PathLike[str]".to_owned(),
        OptionKind::PathOrFalse => "str | PathLike[str] | Literal[False]".to_owned(),
        OptionKind::Declared(name, _) => name.to_owned(),
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
