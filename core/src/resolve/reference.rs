//! Owns the grammar of references: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${env:NAME}`, `${file:path}`,
//! `${input:id}`; `$${` is a literal `${`, and every other `$` is only that. What they stand for is `expand`'s work.
//! Invariant: one pass over the text, whatever is in it.

use std::collections::HashMap;
use std::ops::Range;

use crate::variable_name::name_length;

/// How a literal `${` is written.
pub(super) const ESCAPED: &str = "$${";
pub(super) const OPEN: &str = "${";

/// A text and where its references end.
pub(super) struct Template<'a> {
    pub(super) text: &'a str,
    ends: HashMap<usize, usize>,
}

/// What stands between `${` and `}`.
pub(super) enum Reference<'a> {
    Variable {
        name: &'a str,
        /// `${env:NAME}`, which is a variable whatever its name.
        explicit: bool,
        otherwise: Otherwise<'a>,
    },
    /// Where in the text the path stands.
    File(Range<usize>),
    Input(&'a str),
}

/// What a variable that is not set, or empty, means.
pub(super) enum Otherwise<'a> {
    Unresolved,
    /// Where in the text the default stands.
    Default(Range<usize>),
    Error(&'a str),
}

impl<'a> Template<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut ends = HashMap::new();
        // A literal `${` has a `}` of its own too, if it has one.
        let mut open: Vec<Option<usize>> = Vec::new();
        let mut at = 0;
        while let Some(step) = memchr::memchr2(b'$', b'}', &bytes[at..]) {
            at += step;
            if bytes[at] == b'}' {
                if let Some(Some(start)) = open.pop() {
                    ends.insert(start, at);
                }
                at += 1;
            } else if text[at..].starts_with(ESCAPED) {
                open.push(None);
                at += ESCAPED.len();
            } else if text[at..].starts_with(OPEN) {
                open.push(Some(at));
                at += OPEN.len();
            } else {
                at += 1;
            }
        }
        Template { text, ends }
    }

    /// The reference that begins here, and where the text goes on behind it.
    pub(super) fn reference_at(&self, start: usize) -> Option<(Reference<'a>, usize)> {
        let end = *self.ends.get(&start)?;
        let from = start + OPEN.len();
        let body = &self.text[from..end];
        if let Some(path) = body.strip_prefix("file:") {
            let path = end - path.len()..end;
            return (!path.is_empty()).then_some((Reference::File(path), end + 1));
        }
        if let Some(id) = body.strip_prefix("input:") {
            return Some((Reference::Input(id), end + 1));
        }
        let (variable, explicit) = match body.strip_prefix("env:") {
            Some(variable) => (variable, true),
            None => (body, false),
        };
        let (name, rest) = variable.split_at(name_length(variable));
        if name.is_empty() {
            return None;
        }
        let otherwise = match (rest, rest.strip_prefix(":-"), rest.strip_prefix(":?")) {
            ("", _, _) => Otherwise::Unresolved,
            (_, Some(default), _) => Otherwise::Default(end - default.len()..end),
            (_, _, Some(message)) => Otherwise::Error(message),
            _ => return None,
        };
        Some((Reference::Variable { name, explicit, otherwise }, end + 1))
    }
}
