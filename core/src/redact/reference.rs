//! Owns finding references such as `${NAME}` in a value as written, so that redaction keeps them: they are names. Their
//! defaults are values.
//! Invariant: one pass over the text, whatever the nesting.

use std::ops::Range;

use crate::variable_name::is_name;

/// Deeper nesting is treated as having no references.
const MAX_DEPTH: usize = 16;

/// The outermost references of a text, in order.
pub(super) struct References(Vec<Range<usize>>);

/// A piece of a value as written.
pub(super) enum Piece<'a> {
    /// Text outside of references.
    Literal(&'a str),
    /// `${name}` and what follows the name.
    Reference { name: &'a str, rest: Suffix },
}

/// What follows a reference's name, with its range in the whole text.
pub(super) enum Suffix {
    Nothing,
    /// `:-default`: a value.
    Default(Range<usize>),
    /// `:?message`: text for people.
    Message(Range<usize>),
}

impl References {
    /// `None` if references are nested too deeply.
    pub(super) fn find(text: &str) -> Option<References> {
        let bytes = text.as_bytes();
        let mut open = Vec::new();
        let mut found: Vec<Range<usize>> = Vec::new();
        for at in memchr::memchr2_iter(b'$', b'}', bytes) {
            if bytes[at] == b'$' {
                let escaped = at > 0 && bytes[at - 1] == b'$';
                if bytes.get(at + 1) == Some(&b'{') && !escaped {
                    open.push(at);
                }
                if open.len() > MAX_DEPTH {
                    return None;
                }
            } else if let Some(start) = open.pop()
                && is_reference(&text[start + 2..at])
            {
                while found.last().is_some_and(|inner| inner.start > start) {
                    found.pop();
                }
                found.push(start..at + 1);
            }
        }
        Some(References(found))
    }

    /// The end of the reference that begins at `start`.
    fn end_of(&self, start: usize) -> Option<usize> {
        let at = self.0.binary_search_by_key(&start, |range| range.start).ok()?;
        Some(self.0[at].end)
    }

    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.0.iter().cloned()
    }

    /// The first position at or after `from` of one of `signs` outside of references.
    pub(super) fn outside(&self, text: &str, from: usize, signs: &[char]) -> usize {
        let mut at = from;
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            if signs.contains(&c) {
                return at;
            }
            let reference = if c == '$' { self.end_of(at) } else { None };
            at = reference.unwrap_or(at + c.len_utf8());
        }
        text.len()
    }

    /// The pieces of the text, each with its range.
    pub(super) fn pieces<'a>(&self, text: &'a str) -> Vec<(Range<usize>, Piece<'a>)> {
        let mut pieces = Vec::new();
        let mut from = 0;
        let literal = |range: Range<usize>| (range.clone(), Piece::Literal(&text[range]));
        for range in self.ranges() {
            if from < range.start {
                pieces.push(literal(from..range.start));
            }
            let inner = &text[range.start + 2..range.end - 1];
            let sign = end_of_name(inner);
            let rest = range.start + 2 + sign + 2..range.end - 1;
            let rest = match &inner[sign..] {
                "" => Suffix::Nothing,
                written if written.starts_with(":-") => Suffix::Default(rest),
                _ => Suffix::Message(rest),
            };
            from = range.end;
            pieces.push((range, Piece::Reference { name: &inner[..sign], rest }));
        }
        if from < text.len() {
            pieces.push(literal(from..text.len()));
        }
        pieces
    }
}

/// A name ends at its default or its message.
fn end_of_name(inner: &str) -> usize {
    let sign = |sign| inner.find(sign).unwrap_or(inner.len());
    sign(":-").min(sign(":?"))
}

/// Whether the text between the braces is a reference; otherwise it is plain text.
fn is_reference(inner: &str) -> bool {
    let name = &inner[..end_of_name(inner)];
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_path = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`' | '=');
    match name.split_once(':') {
        Some(("file", path)) => path.chars().all(is_path),
        Some(("input", id)) => id.chars().all(is_word),
        Some(("env", name)) => is_name(name),
        Some(_) => false,
        None => is_name(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        References::find(text).unwrap().ranges().map(|range| &text[range]).collect()
    }

    #[test]
    fn the_outermost_references_are_found() {
        assert_eq!(found("a${B}c${D:-${E}}"), ["${B}", "${D:-${E}}"]);
        assert_eq!(found("${open ${A}"), ["${A}"]);
        assert_eq!(found("$${A} ${B"), Vec::<&str>::new());
        assert_eq!(found("${no name ${A:?x y} --key 'x'}"), ["${A:?x y}"]);
    }

    #[test]
    fn nesting_has_an_end() {
        assert!(References::find(&"${A:-".repeat(1_000_000)).is_none());
    }
}
