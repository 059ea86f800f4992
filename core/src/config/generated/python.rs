//! Writes the types of a definition for Python, formatted as `ruff` would.

use super::{Field, Object, Shape, current, described, with_inner_objects};
use crate::generated_file::wrap;

const WIDTH: usize = 110;
const HEAD: &str = r#""""What the definition of a server may say: words for type checkers and editors.

Generated from the fields that `core/src/config/server.rs` declares: change them there.
"""

from __future__ import annotations

from typing import Literal, TypedDict
"#;

/// A module with a `TypedDict` for the object and each one inside it.
pub(super) fn module(object: &'static Object) -> String {
    let classes = with_inner_objects(object).into_iter().map(class);
    HEAD.to_owned() + &classes.collect::<String>()
}

fn class(object: &Object) -> String {
    let fields: String = current(object).map(field).collect();
    let about = docstring(object.about);
    format!("\n\nclass {}(TypedDict, total=False):\n{about}\n{fields}", object.name)
}

fn field(field: &Field) -> String {
    format!("    {}: {}\n{}", field.name, typed(&field.shape), docstring(&described(field)))
}

fn docstring(text: &str) -> String {
    let one_line = format!("    \"\"\"{text}\"\"\"\n");
    if one_line.len() <= WIDTH {
        return one_line;
    }
    let lines = wrap(text, WIDTH - "    \"\"\"".len()).join("\n    ");
    format!("    \"\"\"{lines}\n    \"\"\"\n")
}

fn typed(shape: &Shape) -> String {
    match shape {
        Shape::Switch => "bool".to_owned(),
        Shape::Text { .. } | Shape::LooseText => "str".to_owned(),
        Shape::Words(words) => format!("Literal[\"{}\"]", words.join("\", \"")),
        Shape::Spellings { usual, .. } => format!("{} | str", typed(&Shape::Words(usual))),
        Shape::Integer { .. } => "int".to_owned(),
        Shape::List(item) => format!("list[{}]", typed(item)),
        Shape::ByName(value) => format!("dict[str, {}]", typed(value)),
        Shape::Object(object) => object.name.to_owned(),
        Shape::Either(shapes) => shapes.iter().map(typed).collect::<Vec<_>>().join(" | "),
    }
}
