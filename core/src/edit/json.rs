//! Owns editing JSON with comments in place.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::change::{DocumentChange, EditRefusal, PathPart};
use crate::config::parse::CHOSEN_SYNTAX;

pub(super) fn apply(text: &str, changes: &[DocumentChange]) -> Result<String, EditRefusal> {
    let root = CstRootNode::parse(text, &CHOSEN_SYNTAX).map_err(|_| EditRefusal::NOT_IN_PLACE)?;
    let object = root.object_value_or_create().ok_or(EditRefusal::NOT_IN_PLACE)?;
    for change in changes {
        match change {
            DocumentChange::Set { path, value } => match find_container(&object, path)? {
                (PathPart::Key(last), Container::Object(container)) => {
                    match property(&container, last) {
                        Some(property) => property.set_value(input(value)),
                        None => drop(container.append(last, input(value))),
                    }
                }
                _ => return Err(EditRefusal::NOT_IN_PLACE),
            },
            DocumentChange::Remove { path } => match find_container(&object, path)? {
                (PathPart::Key(last), Container::Object(container)) => {
                    property(&container, last).ok_or(EditRefusal::NOT_IN_PLACE)?.remove();
                }
                (PathPart::Item(index), Container::List(list)) => {
                    let item = list.elements().into_iter().nth(*index);
                    item.ok_or(EditRefusal::NOT_IN_PLACE)?.remove();
                }
                _ => return Err(EditRefusal::NOT_IN_PLACE),
            },
            DocumentChange::Push { path, item } => {
                drop(find_list(&object, path)?.append(input(item)));
            }
            DocumentChange::Pull { path, item } => {
                let is_it = |node: &CstNode| {
                    let text =
                        node.as_string_lit().and_then(|literal| literal.decoded_value().ok());
                    text.is_some_and(|text| item == &text)
                };
                let found = find_list(&object, path)?.elements().into_iter().find(is_it);
                found.ok_or(EditRefusal::NOT_IN_PLACE)?.remove();
            }
        }
    }
    Ok(root.to_string())
}

enum Container {
    Object(CstObject),
    List(CstArray),
}

/// The object or list that the last part of the path is in.
fn find_container<'p>(
    root: &CstObject,
    path: &'p [PathPart],
) -> Result<(&'p PathPart, Container), EditRefusal> {
    let (last, above) = path.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
    let mut at = Container::Object(root.clone());
    for (index, part) in above.iter().enumerate() {
        let is_list = matches!(path[index + 1], PathPart::Item(_));
        at = match (at, part) {
            (Container::Object(object), PathPart::Key(key)) if is_list => {
                Container::List(list(&object, key)?)
            }
            (Container::Object(object), PathPart::Key(key)) => {
                Container::Object(nested_object(&object, key)?)
            }
            (Container::List(list), PathPart::Item(index)) => {
                let item = list.elements().into_iter().nth(*index);
                let object = item.and_then(|item| item.as_object());
                Container::Object(object.ok_or(EditRefusal::NOT_IN_PLACE)?)
            }
            _ => return Err(EditRefusal::NOT_IN_PLACE),
        };
    }
    Ok((last, at))
}

fn find_list(root: &CstObject, path: &[PathPart]) -> Result<CstArray, EditRefusal> {
    match find_container(root, path)? {
        (PathPart::Key(last), Container::Object(container)) => list(&container, last),
        _ => Err(EditRefusal::NOT_IN_PLACE),
    }
}

fn nested_object(object: &CstObject, name: &str) -> Result<CstObject, EditRefusal> {
    match property(object, name) {
        Some(property) if is_null(&property) => Ok(property.object_value_or_set()),
        Some(property) => property.object_value().ok_or(EditRefusal::NOT_IN_PLACE),
        None => object.object_value_or_create(name).ok_or(EditRefusal::NOT_IN_PLACE),
    }
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
