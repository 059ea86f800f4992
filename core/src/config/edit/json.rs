//! Owns editing JSON with comments in place.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::change::{DocumentChange, EditRefusal};
use crate::config::parse::CHOSEN_SYNTAX;

pub(super) fn apply(text: &str, changes: &[DocumentChange]) -> Result<String, EditRefusal> {
    let root = CstRootNode::parse(text, &CHOSEN_SYNTAX).map_err(|_| EditRefusal::NOT_IN_PLACE)?;
    let object = root.object_value_or_create().ok_or(EditRefusal::NOT_IN_PLACE)?;
    for change in changes {
        match change {
            DocumentChange::Set { path, value } => {
                let (last, container) = find_container(&object, path)?;
                match property(&container, last) {
                    Some(property) => property.set_value(input(value)),
                    None => {
                        container.append(last, input(value));
                    }
                }
            }
            DocumentChange::Remove { path } => {
                let (last, container) = find_container(&object, path)?;
                property(&container, last).ok_or(EditRefusal::NOT_IN_PLACE)?.remove();
            }
            DocumentChange::Push { path, item } => {
                let (last, container) = find_container(&object, path)?;
                list(&container, last)?.append(input(item));
            }
            DocumentChange::Pull { path, item } => {
                let (last, container) = find_container(&object, path)?;
                let is_it = |node: &CstNode| {
                    let text =
                        node.as_string_lit().and_then(|literal| literal.decoded_value().ok());
                    text.is_some_and(|text| item == &text)
                };
                let found = list(&container, last)?.elements().into_iter().find(is_it);
                found.ok_or(EditRefusal::NOT_IN_PLACE)?.remove();
            }
        }
    }
    Ok(root.to_string())
}

fn find_container<'p>(
    root: &CstObject,
    path: &'p [String],
) -> Result<(&'p str, CstObject), EditRefusal> {
    let (last, above) = path.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
    let mut at = root.clone();
    for name in above {
        at = match property(&at, name) {
            Some(property) if is_null(&property) => property.object_value_or_set(),
            Some(property) => property.object_value().ok_or(EditRefusal::NOT_IN_PLACE)?,
            None => at.object_value_or_create(name).ok_or(EditRefusal::NOT_IN_PLACE)?,
        };
    }
    Ok((last, at))
}

fn list(container: &CstObject, name: &str) -> Result<CstArray, EditRefusal> {
    match property(container, name) {
        Some(property) if is_null(&property) => Ok(property.array_value_or_set()),
        Some(property) => property.array_value().ok_or(EditRefusal::NOT_IN_PLACE),
        None => container.array_value_or_create(name).ok_or(EditRefusal::NOT_IN_PLACE),
    }
}

/// The last one of that name, which is the one that counts.
fn property(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let mut properties = object.properties().into_iter().rev();
    properties.find(|property| property.decoded_name().as_deref() == Some(name))
}

fn is_null(property: &CstObjectProp) -> bool {
    property.value().is_some_and(|value| value.as_null_keyword().is_some())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(on) => CstInputValue::Bool(*on),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}
