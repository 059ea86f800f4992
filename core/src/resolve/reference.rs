//! Owns the grammar of references: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${env:NAME}`, `${file:path}`,
//! `${input:id}`; `$${` is a literal `${`, and any other `$` is literal. `expand` looks up their values.
//! Invariant: one pass over the text, whatever it contains.

use std::collections::HashMap;
use std::ops::Range;

use crate::variable_name::name_length;

/// The escape of a literal `${`.
pub(super) const ESCAPED: &str = "$${";
pub(super) const OPEN: &str = "${";

/// A text and the ends of its references.
pub(super) struct Template<'a> {
    pub(super) text: &'a str,
    ends: HashMap<usize, usize>,
}

/// The content of `${…}`.
pub(super) enum Reference<'a> {
    Variable {
        name: &'a str,
        /// `${env:NAME}` is always a variable, whatever its name.
        explicit: bool,
        fallback: Fallback<'a>,
    },
    /// The path's range in the text.
    File(Range<usize>),
    Input(&'a str),
}

/// What to do if a variable is unset or empty.
pub(super) enum Fallback<'a> {
    Unresolved,
    /// The default's range in the text.
    Default(Range<usize>),
    Error(&'a str),
}

impl<'a> Template<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut ends = HashMap::new();
        // A literal `${` may have its own `}`.
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

    /// The reference that begins here, and the position after it.
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
        let fallback = match (rest, rest.strip_prefix(":-"), rest.strip_prefix(":?")) {
            ("", _, _) => Fallback::Unresolved,
            (_, Some(default), _) => Fallback::Default(end - default.len()..end),
            (_, _, Some(message)) => Fallback::Error(message),
            _ => return None,
        };
        Some((Reference::Variable { name, explicit, fallback }, end + 1))
    }
}
