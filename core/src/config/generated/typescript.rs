//! Writes the types of a config for TypeScript, formatted as `biome` would.

use super::{Field, Object, Shape, current, described, with_inner_objects};
use crate::config::server::DEFINITION;
use crate::generated_file::wrap;

const WIDTH: usize = 110;
const HEAD: &str =
    "// The types of a config and of the definitions in it. Generated from the fields that
// `core/src/config/server.rs` declares: change them there.
";

/// A module with an interface for the object and each one inside it.
pub(super) fn module(object: &'static Object) -> String {
    let interfaces = with_inner_objects(object).into_iter().map(interface);
    HEAD.to_owned() + &interfaces.collect::<String>()
}

fn interface(object: &Object) -> String {
    // What we do not know is a warning at run time, not a type error: other programs share these definitions.
    let takes_others = object.is_open || object.name == DEFINITION.name;
    let others = if takes_others { "  [field: string]: unknown;\n" } else { "" };
    let fields: String = current(object).map(field).collect();
    let about = comment("", object.about);
    format!("\n{about}export interface {} {{\n{fields}{others}}}\n", object.name)
}

fn field(field: &Field) -> String {
    let optional = if field.is_required { "" } else { "?" };
    let about = comment("  ", &described(field));
    format!("{about}  {}{optional}: {};\n", field.name, typed(&field.shape))
}

fn comment(indent: &str, text: &str) -> String {
    let one_line = format!("{indent}/** {text} */\n");
    if one_line.len() <= WIDTH {
        return one_line;
    }
    let lines = wrap(text, WIDTH - indent.len() - " * ".len());
    let lines: String = lines.iter().map(|line| format!("{indent} * {line}\n")).collect();
    format!("{indent}/**\n{lines}{indent} */\n")
}

fn typed(shape: &Shape) -> String {
    match shape {
        Shape::Switch => "boolean".to_owned(),
        // A union of the usual words would refuse a definition whose author let TypeScript infer its type.
        Shape::Text { .. } | Shape::LooseText | Shape::Spellings { .. } => "string".to_owned(),
        Shape::Words(words) => format!("'{}'", words.join("' | '")),
        Shape::Integer { .. } => "number".to_owned(),
        Shape::List(item) => format!("{}[]", typed(item)),
        Shape::ByName(value) => format!("Record<string, {}>", typed(value)),
        Shape::Object(object) => object.name.to_owned(),
        Shape::Either(shapes) => shapes.iter().map(typed).collect::<Vec<_>>().join(" | "),
    }
}
