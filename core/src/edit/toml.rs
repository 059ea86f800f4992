//! Owns editing TOML in place. A server is a table of its own, with one line per value. Comments above a removed part
//! stay.

use serde_json::Value;
use toml_edit::{Array, Decor, DocumentMut, InlineTable, Item, Table, TableLike, Value as Node};

use super::change::{DocumentChange, EditRefusal, PathPart};

const NOT_IN_TOML: EditRefusal = EditRefusal("TOML can hold neither null nor so large a number");

pub(super) fn apply(text: &str, changes: &[DocumentChange]) -> Result<String, EditRefusal> {
    let mut document: DocumentMut = text.parse().map_err(|_| EditRefusal::NOT_IN_PLACE)?;
    for change in changes {
        match change {
            DocumentChange::Set { path, value } => {
                set(document.as_table_mut(), &keys(path)?, value)?;
            }
            DocumentChange::Remove { path } => remove(&mut document, &keys(path)?)?,
            DocumentChange::Push { path, item } => {
                let path = keys(path)?;
                let (last, above) = path.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
                let container = find_container(document.as_table_mut(), above)?;
                let list = container.entry(last).or_insert(Item::Value(Array::new().into()));
                list.as_array_mut().ok_or(EditRefusal::NOT_IN_PLACE)?.push(node(item)?);
            }
            DocumentChange::Pull { path, item } => {
                let path = keys(path)?;
                let (last, above) = path.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
                let list = find_container(document.as_table_mut(), above)?.get_mut(last);
                let list = list.and_then(Item::as_array_mut).ok_or(EditRefusal::NOT_IN_PLACE)?;
                let index = list.iter().position(|it| it.as_str() == item.as_str());
                list.remove(index.ok_or(EditRefusal::NOT_IN_PLACE)?);
            }
        }
    }
    Ok(document.to_string())
}

/// The path as keys: no product has a list of servers in TOML.
fn keys(path: &[PathPart]) -> Result<Vec<String>, EditRefusal> {
    let keys = path.iter().map(|part| match part {
        PathPart::Key(key) => Ok(key.clone()),
        PathPart::Item(_) => Err(EditRefusal::NOT_IN_PLACE),
    });
    keys.collect()
}

fn find_container<'t>(
    root: &'t mut Table,
    path: &[String],
) -> Result<&'t mut dyn TableLike, EditRefusal> {
    let mut at: &mut dyn TableLike = root;
    for name in path {
        if !at.contains_key(name) {
            let mut made = Table::new();
            made.set_implicit(true);
            at.insert(name, Item::Table(made));
        }
        at = at.get_mut(name).and_then(Item::as_table_like_mut).ok_or(EditRefusal::NOT_IN_PLACE)?;
    }
    Ok(at)
}

fn set(root: &mut Table, path: &[String], value: &Value) -> Result<(), EditRefusal> {
    let (last, above) = path.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
    let container = find_container(root, above)?;
    if let Some(old) = container.get_mut(last) {
        let mut new = node(value)?;
        if let Some(old) = old.as_value() {
            *new.decor_mut() = old.decor().clone();
        }
        *old = Item::Value(new);
        return Ok(());
    }
    let own_header = above.len() == 1 && !container.is_dotted();
    let item = match value {
        Value::Object(map) if path.len() == 1 || own_header => {
            let mut table = Table::new();
            for (key, value) in map {
                table.insert(key, Item::Value(node(value)?));
            }
            Item::Table(table)
        }
        _ => Item::Value(node(value)?),
    };
    container.insert(last, item);
    Ok(())
}

fn remove(document: &mut DocumentMut, path: &[String]) -> Result<(), EditRefusal> {
    let (last, above) = path.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
    let container = find_container(document.as_table_mut(), above)?;
    let next_key = container.iter().skip_while(|(key, _)| key != last).nth(1);
    let next_key = next_key.filter(|(_, item)| item.is_value()).map(|(key, _)| key.to_owned());
    let mut comments = container.key(last).map(|key| prefix(key.leaf_decor())).unwrap_or_default();
    let mut removed = container.remove(last).ok_or(EditRefusal::NOT_IN_PLACE)?;
    let mut position = None;
    if let Some(table) = removed.as_table_mut().filter(|table| !table.is_dotted()) {
        visit(table, &mut |table| {
            comments.push_str(&prefix(table.decor()));
            position = position.min(table.position()).or(table.position());
        });
    } else if let Some(mut key) = next_key.and_then(|next| container.key_mut(&next)) {
        give(&comments, key.leaf_decor_mut());
        comments.clear();
    }
    let emptied = container.is_empty();
    let container = table_at(document.as_table_mut(), above);
    if let Some(container) = container {
        position = position.or(container.position());
        if emptied {
            // A table without its own header would vanish with its last entry.
            container.set_implicit(false);
            container.set_dotted(false);
        }
    }
    if comments.contains('#') {
        move_comments_to_next(document, position, &comments);
    }
    Ok(())
}

/// Puts comments above the first table after `position`, or at the end.
fn move_comments_to_next(document: &mut DocumentMut, position: Option<isize>, comments: &str) {
    let mut next: Option<isize> = None;
    visit(document.as_table_mut(), &mut |table| {
        if table.position() > position && !table.is_implicit() {
            next = next.min(table.position()).or(table.position());
        }
    });
    match next {
        Some(_) => visit(document.as_table_mut(), &mut |table| {
            if table.position() == next {
                give(comments, table.decor_mut());
            }
        }),
        None => {
            let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{comments}{trailing}"));
        }
    }
}

fn give(comments: &str, decor: &mut Decor) {
    if comments.contains('#') {
        decor.set_prefix(format!("{comments}{}", prefix(decor)));
    }
}

fn prefix(decor: &Decor) -> String {
    decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned()
}

fn table_at<'t>(root: &'t mut Table, path: &[String]) -> Option<&'t mut Table> {
    path.iter().try_fold(root, |at, name| at.get_mut(name)?.as_table_mut())
}

fn visit(table: &mut Table, with: &mut dyn FnMut(&mut Table)) {
    with(table);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(nested) => visit(nested, with),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|nested| visit(nested, with)),
            _ => {}
        }
    }
}

fn node(value: &Value) -> Result<Node, EditRefusal> {
    Ok(match value {
        Value::Null => return Err(NOT_IN_TOML),
        Value::Bool(on) => (*on).into(),
        Value::Number(number) => match (number.as_i64(), number.is_f64(), number.as_f64()) {
            (Some(whole), ..) => whole.into(),
            (None, true, Some(fraction)) => fraction.into(),
            _ => return Err(NOT_IN_TOML),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let items = items.iter().map(node).collect::<Result<Vec<Node>, _>>()?;
            items.into_iter().collect::<Array>().into()
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, node(value)?);
            }
            table.into()
        }
    })
}
