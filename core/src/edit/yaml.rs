//! Owns editing YAML in place: the tree tells where a part is, and its text is removed, replaced or inserted. Comments
//! are removed only inside a removed part.

use serde_json::{Map, Value};

use super::change::{DocumentChange, EditRefusal, PathPart};
use tree::{Entry, Kind, Node};

mod tree;
mod write;

const STEP: usize = 2;

pub(super) fn apply(text: &str, changes: &[DocumentChange]) -> Result<String, EditRefusal> {
    let mut text = text.to_owned();
    for change in changes {
        // Positions move with each change, so each change parses the text again.
        let edit = Edit { root: tree::read(&text)?, text: &text };
        text = match change {
            DocumentChange::Set { path, value } => edit.set(path, value)?,
            DocumentChange::Remove { path } => edit.remove(path)?,
            DocumentChange::Push { path, item } => edit.push(path, item)?,
            DocumentChange::Pull { path, item } => edit.pull(path, item)?,
        };
    }
    Ok(text)
}

struct Edit<'a> {
    text: &'a str,
    root: Option<Node>,
}

/// The path from the root to a value: the entries passed, and the rest of the path.
struct NodePath<'t, 'p> {
    passed: Vec<&'t Entry>,
    /// The mappings and lists passed.
    containers: Vec<&'t Node>,
    node: &'t Node,
    left: &'p [PathPart],
}

impl Edit<'_> {
    fn walk<'p>(&self, path: &'p [PathPart]) -> Option<NodePath<'_, 'p>> {
        let (passed, containers) = (Vec::new(), Vec::new());
        let mut found = NodePath { passed, containers, node: self.root.as_ref()?, left: path };
        while let Some((part, left)) = found.left.split_first() {
            let next = match (part, &found.node.kind) {
                (PathPart::Key(name), Kind::Mapping { entries, .. }) => {
                    let mut entries = entries.iter().rev();
                    let Some(entry) = entries.find(|entry| entry.name == *name) else { break };
                    found.passed.push(entry);
                    &entry.value
                }
                (PathPart::Item(index), Kind::Sequence { items, .. }) => items.get(*index)?,
                _ => break,
            };
            found.containers.push(found.node);
            (found.node, found.left) = (next, left);
        }
        Some(found)
    }

    fn set(&self, path: &[PathPart], value: &Value) -> Result<String, EditRefusal> {
        let Some(found) = self.walk(path) else {
            let mut lines = String::new();
            if let Some((PathPart::Key(first), rest)) = path.split_first() {
                write::entry(first, &nested(rest, value), 0, STEP, &mut lines);
            }
            return Ok(self.with_lines_at(self.text.len(), &lines));
        };
        match (found.left, &found.node.kind) {
            ([], _) if matches!(path.last(), Some(PathPart::Key(_))) => self.replace(&found, value),
            (rest, Kind::Null) => self.replace(&found, &nested(rest, value)),
            (rest, Kind::Mapping { flow: true, entries })
                if entries.is_empty() && !found.passed.is_empty() && !self.in_brackets(&found) =>
            {
                self.replace(&found, &nested(rest, value))
            }
            ([PathPart::Key(first), rest @ ..], Kind::Mapping { flow, entries }) => {
                let value = nested(rest, value);
                if *flow {
                    let written = format!(
                        "{}: {}",
                        write::in_brackets(&first.as_str().into()),
                        write::in_brackets(&value)
                    );
                    let last = entries.last().map(|entry| entry.value.end.max(entry.colon_end));
                    return self.add_in_brackets(
                        found.node,
                        last,
                        entries.last().map(|it| it.key_start),
                        &written,
                    );
                }
                let indent =
                    self.column(entries.first().ok_or(EditRefusal::NOT_IN_PLACE)?.key_start)?;
                let mut lines = String::new();
                write::entry(first, &value, indent, self.step(), &mut lines);
                Ok(self.with_lines_at(self.below(found.node.end, indent), &lines))
            }
            (_, Kind::Alias) => Err(EditRefusal("it is an alias of something else in the file")),
            _ => Err(EditRefusal::NOT_IN_PLACE),
        }
    }

    fn replace(&self, found: &NodePath<'_, '_>, value: &Value) -> Result<String, EditRefusal> {
        let entry = found.passed.last().ok_or(EditRefusal::NOT_IN_PLACE)?;
        let end = entry.value.end.max(entry.colon_end);
        let mut written = String::new();
        if self.in_brackets(found) {
            written = format!(" {}", write::in_brackets(value));
        } else {
            write::after_colon(value, self.column(entry.key_start)?, self.step(), &mut written);
        }
        if self.text[..end].ends_with('\n') {
            written.push('\n');
        }
        Ok(self.spliced(entry.colon_end, end, &written))
    }

    fn remove(&self, path: &[PathPart]) -> Result<String, EditRefusal> {
        let found = self
            .walk(path)
            .filter(|found| found.left.is_empty())
            .ok_or(EditRefusal::NOT_IN_PLACE)?;
        let container = *found.containers.last().ok_or(EditRefusal::NOT_IN_PLACE)?;
        if let (Some(PathPart::Item(index)), Kind::Sequence { flow, items }) =
            (path.last(), &container.kind)
        {
            let list = NodePath { node: container, ..found };
            return self.remove_item(&list, *flow, items, *index);
        }
        let (entry, above) = found.passed.split_last().ok_or(EditRefusal::NOT_IN_PLACE)?;
        let Kind::Mapping { flow, entries } = &container.kind else {
            return Err(EditRefusal::NOT_IN_PLACE);
        };
        let end = entry.value.end.max(entry.colon_end);
        if *flow {
            let places = entries.iter().map(|it| (it.key_start, it.value.end.max(it.colon_end)));
            return self.remove_in_brackets(places, entry.key_start);
        }
        let is_item = matches!(path, [.., PathPart::Item(_), _]);
        if entries.len() == 1 && !above.is_empty() && !is_item {
            let containers = found.containers[..found.containers.len() - 1].to_vec();
            let emptied =
                NodePath { passed: above.to_vec(), containers, node: container, left: &[] };
            return self.replace(&emptied, &Value::Object(Map::new()));
        }
        if let Some(next) = entries.get(1).filter(|_| self.is_behind_dash(entry.key_start)) {
            return Ok(self.spliced(entry.key_start, next.key_start, ""));
        }
        self.column(entry.key_start)?;
        Ok(self.spliced(self.line_start(entry.key_start), self.next_line(end), ""))
    }

    fn push(&self, path: &[PathPart], item: &Value) -> Result<String, EditRefusal> {
        let list = || Value::Array(vec![item.clone()]);
        let Some(found) = self.walk(path).filter(|found| found.left.is_empty()) else {
            return self.set(path, &list());
        };
        match &found.node.kind {
            Kind::Sequence { flow: true, items }
                if !items.is_empty() || self.in_brackets(&found) =>
            {
                let written = write::in_brackets(item);
                let last = items.last();
                self.add_in_brackets(
                    found.node,
                    last.map(|it| it.end),
                    last.map(|it| it.start),
                    &written,
                )
            }
            Kind::Sequence { flow: false, items } => {
                let indent =
                    self.dash_column(items.first().ok_or(EditRefusal::NOT_IN_PLACE)?.start)?;
                let mut lines = String::new();
                write::item(item, indent, self.step(), &mut lines);
                Ok(self.with_lines_at(self.below(found.node.end, indent + 1), &lines))
            }
            Kind::Sequence { .. } | Kind::Null => self.replace(&found, &list()),
            _ => Err(EditRefusal::NOT_IN_PLACE),
        }
    }

    fn pull(&self, path: &[PathPart], item: &Value) -> Result<String, EditRefusal> {
        let found = self
            .walk(path)
            .filter(|found| found.left.is_empty())
            .ok_or(EditRefusal::NOT_IN_PLACE)?;
        let Kind::Sequence { flow, items } = &found.node.kind else {
            return Err(EditRefusal::NOT_IN_PLACE);
        };
        let is_it = |node: &&Node| matches!(&node.kind, Kind::Scalar(text) if item == text);
        let index = items.iter().position(|node| is_it(&node)).ok_or(EditRefusal::NOT_IN_PLACE)?;
        self.remove_item(&found, *flow, items, index)
    }

    /// Removes an item of the list at the end of `list`.
    fn remove_item(
        &self,
        list: &NodePath<'_, '_>,
        flow: bool,
        items: &[Node],
        index: usize,
    ) -> Result<String, EditRefusal> {
        let item = items.get(index).ok_or(EditRefusal::NOT_IN_PLACE)?;
        if flow {
            return self.remove_in_brackets(items.iter().map(|it| (it.start, it.end)), item.start);
        }
        if items.len() == 1 {
            return self.replace(list, &Value::Array(Vec::new()));
        }
        self.dash_column(item.start)?;
        Ok(self.spliced(self.line_start(item.start), self.next_line(item.end), ""))
    }

    fn add_in_brackets(
        &self,
        container: &Node,
        last_end: Option<usize>,
        last_start: Option<usize>,
        written: &str,
    ) -> Result<String, EditRefusal> {
        let (Some(end), Some(start)) = (last_end, last_start) else {
            let at = container.end - 1;
            return Ok(self.spliced(at, at, written));
        };
        let own_line = self.text[self.line_start(start)..start].trim().is_empty();
        let gap = if own_line {
            format!("\n{}", &self.text[self.line_start(start)..start])
        } else {
            " ".to_owned()
        };
        let behind = self.text[end..].trim_start();
        match behind.starts_with(',') {
            true => {
                let comma_end = self.text.len() - behind.len() + 1;
                Ok(self.spliced(comma_end, comma_end, &format!("{gap}{written},")))
            }
            false => Ok(self.spliced(end, end, &format!(",{gap}{written}"))),
        }
    }

    fn remove_in_brackets(
        &self,
        places: impl Iterator<Item = (usize, usize)>,
        start: usize,
    ) -> Result<String, EditRefusal> {
        let places: Vec<(usize, usize)> = places.collect();
        let index =
            places.iter().position(|place| place.0 == start).ok_or(EditRefusal::NOT_IN_PLACE)?;
        let (from, to) =
            match (index.checked_sub(1).map(|before| places[before]), places.get(index + 1)) {
                (_, Some(next)) => (start, next.0),
                (Some(before), None) => (before.1, places[index].1),
                (None, None) => (start, places[index].1),
            };
        Ok(self.spliced(from, to, ""))
    }

    /// Whether the end of `found` is inside brackets, where lines have no meaning.
    fn in_brackets(&self, found: &NodePath<'_, '_>) -> bool {
        let is_flow = |container: &&Node| {
            matches!(
                container.kind,
                Kind::Mapping { flow: true, .. } | Kind::Sequence { flow: true, .. }
            )
        };
        found.containers.iter().any(is_flow)
    }

    /// The indentation of a nested mapping's entries in this text.
    fn step(&self) -> usize {
        let Some(Node { kind: Kind::Mapping { flow: false, entries }, .. }) = &self.root else {
            return STEP;
        };
        let outer = entries.first().and_then(|entry| self.column(entry.key_start).ok());
        let inner = entries.iter().find_map(|entry| match &entry.value.kind {
            Kind::Mapping { flow: false, entries } => self.column(entries.first()?.key_start).ok(),
            _ => None,
        });
        match (outer, inner) {
            (Some(outer), Some(inner)) if inner > outer => inner - outer,
            _ => STEP,
        }
    }

    /// The indentation of `at`, which must be first on its line, or behind the dash of an item.
    fn column(&self, at: usize) -> Result<usize, EditRefusal> {
        let before = &self.text[self.line_start(at)..at];
        if before.bytes().all(|byte| byte == b' ') || self.is_behind_dash(at) {
            Ok(before.len())
        } else {
            Err(EditRefusal::NOT_IN_PLACE)
        }
    }

    fn is_behind_dash(&self, at: usize) -> bool {
        let before = &self.text[self.line_start(at)..at];
        before.ends_with(' ') && before.trim() == "-" && !before.contains('\t')
    }

    fn dash_column(&self, at: usize) -> Result<usize, EditRefusal> {
        let before = &self.text[self.line_start(at)..at];
        let indent = before.trim_end().strip_suffix('-').ok_or(EditRefusal::NOT_IN_PLACE)?;
        if indent.bytes().all(|byte| byte == b' ') {
            Ok(indent.len())
        } else {
            Err(EditRefusal::NOT_IN_PLACE)
        }
    }

    /// The line after `end` and after the comments that belong to it: those that follow directly, and those that are
    /// indented deeper than `indent`.
    fn below(&self, end: usize, indent: usize) -> usize {
        let mut place = self.next_line(end);
        let (mut at, mut blank_between) = (place, false);
        while let Some(line) = self.text[at..].split_inclusive('\n').next() {
            let words = line.trim_start_matches(' ');
            let depth = line.len() - words.len();
            let belongs = if blank_between { depth > indent } else { depth >= indent };
            match words.chars().next() {
                Some('#') if belongs => place = at + line.len(),
                Some('\n') => blank_between = true,
                _ => break,
            }
            at += line.len();
        }
        place
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn next_line(&self, at: usize) -> usize {
        if self.text[..at].ends_with('\n') {
            return at;
        }
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn with_lines_at(&self, at: usize, lines: &str) -> String {
        let whole_line = at == 0 || self.text[..at].ends_with('\n');
        if whole_line {
            self.spliced(at, at, lines)
        } else {
            // The text keeps ending without a newline.
            self.spliced(at, at, &format!("\n{}", lines.trim_end_matches('\n')))
        }
    }

    fn spliced(&self, from: usize, to: usize, written: &str) -> String {
        format!("{}{written}{}", &self.text[..from], &self.text[to..])
    }
}

/// The value inside objects for the rest of a path. There are no items in what does not exist.
fn nested(path: &[PathPart], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, part| match part {
        PathPart::Key(name) => Value::Object(Map::from_iter([(name.clone(), value)])),
        PathPart::Item(_) => value,
    })
}
