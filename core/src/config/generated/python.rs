//! Writes the types of a definition for Python, formatted as `ruff` would.

use super::{Field, Object, ValueShape, current, with_inner_objects};
use crate::generated_file::docstring;

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
    let about = docstring("    ", object.about);
    format!("\n\nclass {}(TypedDict, total=False):\n{about}\n{fields}", object.name)
}

fn field(field: &Field) -> String {
    let about = docstring("    ", field.about());
    format!("    {}: {}\n{about}", field.name, typed(&field.shape))
}

fn typed(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Switch => "bool".to_owned(),
        ValueShape::Text { .. } | ValueShape::LooseText => "str".to_owned(),
        ValueShape::Words(words) => format!("Literal[\"{}\"]", words.join("\", \"")),
        ValueShape::Spellings { usual, .. } => {
            format!("{} | str", typed(&ValueShape::Words(usual)))
        }
        ValueShape::Integer { .. } | ValueShape::Port => "int".to_owned(),
        ValueShape::List(item) => format!("list[{}]", typed(item)),
        ValueShape::ByName(value) => format!("dict[str, {}]", typed(value)),
        ValueShape::Object(object) => object.name.to_owned(),
        ValueShape::Either(shapes) => shapes.iter().map(typed).collect::<Vec<_>>().join(" | "),
    }
}
