//! Makes what repeats the declared fields elsewhere: the shipped schema, the types of Python and TypeScript, the table in
//! the docs. The tests fail while a committed file differs from it.

use super::field::{Field, fields_of};
use super::shape::{Object, ValueShape};

mod docs;
mod python;
mod typescript;

/// The fields that a new definition should use.
fn current(object: &Object) -> impl Iterator<Item = &'static Field> {
    fields_of(object.rows).filter(|field| !field.is_deprecated)
}

/// The object and those inside it, each once, inner ones first.
fn with_inner_objects(object: &'static Object) -> Vec<&'static Object> {
    let mut found = Vec::new();
    for field in current(object) {
        collect(&field.shape, &mut found);
    }
    found.push(object);
    found
}

fn collect(shape: &ValueShape, found: &mut Vec<&'static Object>) {
    match shape {
        ValueShape::Object(object) => found.extend(with_inner_objects(object)),
        ValueShape::List(inner) | ValueShape::ByName(inner) => collect(inner, found),
        ValueShape::Either(shapes) => shapes.iter().for_each(|shape| collect(shape, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::document::DOCUMENT;
    use crate::config::schema;
    use crate::config::server::DEFINITION;
    use crate::generated_file::{assert_file, assert_part};

    #[test]
    fn the_generated_schema_is_committed() {
        let text = format!("{:#}\n", schema());
        // Each package ships its own copy.
        for file in ["core/schema/mcpool.schema.json", "python/mcpool/mcpool.schema.json"] {
            assert_file(file, &text);
        }
    }

    #[test]
    fn the_generated_python_types_are_committed() {
        assert_file("python/mcpool/_server_config.py", &python::module(&DEFINITION));
    }

    #[test]
    fn the_generated_typescript_types_are_committed() {
        assert_file("node/lib/server-config.ts", &typescript::module(&DOCUMENT));
    }

    #[test]
    fn the_generated_table_of_the_docs_is_committed() {
        assert_part("docs/configuration.md", "fields", &docs::table(&DEFINITION));
    }
}
