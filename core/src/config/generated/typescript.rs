//! Writes the types of a config for TypeScript, formatted as `biome` would.

use super::{Field, Object, ValueShape, current, with_inner_objects};
use crate::config::server::DEFINITION;
use crate::generated_file::doc_comment;

const HEAD: &str =
    "// The types of a config and of the definitions in it. Generated from the fields that
// `core/src/config/server.rs` declares: change them there.
import type { extra } from './extra.js';
";

const OTHERS: &str =
    "  /** Fields that are not ours, for other programs that read the same definition. */
  [extra]?: Readonly<Record<string, unknown>> | undefined;
";

/// A module with an interface for the object and each one inside it.
pub(super) fn module(object: &'static Object) -> String {
    let interfaces = with_inner_objects(object).into_iter().map(interface);
    HEAD.to_owned() + &interfaces.collect::<String>()
}

fn interface(object: &Object) -> String {
    // Unknown fields are a warning at run time, because other programs share these definitions. An index signature for
    // them would accept every misspelt field.
    let takes_others = object.is_open || object.name == DEFINITION.name;
    let others = if takes_others { OTHERS } else { "" };
    let fields: String = current(object).map(field).collect();
    let about = doc_comment("", object.about);
    format!("\n{about}export interface {} {{\n{fields}{others}}}\n", object.name)
}

fn field(field: &Field) -> String {
    let (about, typed) = (doc_comment("  ", field.about()), typed(&field.shape));
    match field.is_required {
        true => format!("{about}  {}: {typed};\n", field.name),
        false => format!("{about}  {}?: {typed} | undefined;\n", field.name),
    }
}

fn typed(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Switch => "boolean".to_owned(),
        // A union of the usual words would refuse a definition whose author let TypeScript infer its type.
        ValueShape::Text { .. } | ValueShape::LooseText | ValueShape::Spellings { .. } => {
            "string".to_owned()
        }
        ValueShape::Words(words) => format!("'{}'", words.join("' | '")),
        ValueShape::Integer { .. } | ValueShape::Port => "number".to_owned(),
        ValueShape::List(item) => format!("readonly {}[]", typed(item)),
        // What is undefined is left out, as in JSON: a variable of the environment, say.
        ValueShape::ByName(value) => {
            format!("Readonly<Record<string, {} | undefined>>", typed(value))
        }
        ValueShape::Object(object) => object.name.to_owned(),
        ValueShape::Either(shapes) => shapes.iter().map(typed).collect::<Vec<_>>().join(" | "),
    }
}
