//! Owns searching one text for many values: one pass finds the values whose prefix occurs, and only those are searched
//! for.
//! Invariant: the time is the text's length times the number of values whose prefix occurs in it, even for repetitive
//! input.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;

use super::forms::{Encoding, Form};
use super::view::{View, unfinished_escape_length};

/// The length of the prefixes that the first pass finds.
const PREFIX_LENGTH: usize = 8;
/// The shortest part of a value that is hidden where a text was cut.
const MIN_PART: usize = 6;

pub(super) struct Needles {
    /// Sorted and unique.
    forms: Vec<Form>,
    /// The ranges of `forms` that share a prefix.
    groups: Vec<Range<usize>>,
    prefixes: AhoCorasick,
    /// Whether the stars themselves could be part of a value.
    pub(super) has_stars: bool,
}

impl Needles {
    pub(super) fn new(mut forms: Vec<Form>) -> Option<Self> {
        // Among equal forms the strictest sorts first and is kept.
        forms.sort_unstable();
        forms.dedup_by(|next, kept| next.bytes == kept.bytes);
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, form) in forms.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if prefix(&forms[group.start]) == prefix(form) => {
                    group.end = at + 1;
                }
                _ => groups.push(at..at + 1),
            }
        }
        let starts = groups.iter().map(|group| prefix(&forms[group.start]));
        // A mask is built at every start of a server: this kind builds in half the time of the one that searches
        // faster.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        // Fails only with more patterns than fit into memory.
        let prefixes = AhoCorasick::builder().kind(kind).build(starts).ok();
        let prefixes = prefixes.filter(|_| !forms.is_empty())?;
        let has_stars = forms.iter().any(|form| form.bytes.contains(&b'*'));
        Some(Needles { forms, groups, prefixes, has_stars })
    }

    pub(super) fn contains(&self, value: &str) -> bool {
        self.forms.binary_search_by(|form| (*form.bytes).cmp(value.as_bytes())).is_ok()
    }

    /// Calls `found` for every match in the view, including overlapping ones.
    pub(super) fn find(&self, view: &View<'_>, mut found: impl FnMut(&Form, Range<usize>)) {
        for (form, from) in self.candidates(&view.bytes) {
            if form.bytes.len() <= view.bytes.len() - from {
                each_match(&form.bytes, &view.bytes, from, |place| found(form, place));
            }
        }
    }

    /// The forms whose prefix occurs in the text, and where it occurs first.
    fn candidates(&self, text: &[u8]) -> impl Iterator<Item = (&Form, usize)> {
        let mut candidates = BTreeMap::new();
        for found in self.prefixes.find_overlapping_iter(text) {
            candidates.entry(found.pattern().as_usize()).or_insert(found.start());
        }
        candidates.into_iter().flat_map(|(group, from)| {
            self.forms[self.groups[group].clone()].iter().map(move |form| (form, from))
        })
    }

    /// The length of the longest suffix of the text that is a proper prefix of a value.
    pub(super) fn partial_suffix_length(&self, text: &[u8]) -> usize {
        let short = (1..PREFIX_LENGTH.min(text.len() + 1)).rev().find(|&length| {
            let end = &text[text.len() - length..];
            let next = self.forms.partition_point(|form| *form.bytes <= *end);
            self.forms.get(next).is_some_and(|form| form.bytes.starts_with(end))
        });
        let long =
            self.candidates(text).map(|(form, _)| partial_suffix_length(&form.bytes, text)).max();
        short.max(long).unwrap_or(0)
    }

    /// Where a value begins that may continue after the end of the text.
    pub(super) fn unfinished_from(&self, text: &[u8]) -> Option<usize> {
        let whole = &text[..text.len() - unfinished_escape_length(text)];
        let open =
            |text: &[u8]| Some(self.partial_suffix_length(text)).filter(|length| *length > 0);
        let escape = (whole.len() < text.len()).then_some(whole.len());
        let starts = [text, whole].map(|text| open(text).map(|length| text.len() - length));
        starts.into_iter().flatten().chain(escape).min()
    }

    /// Matches at a cut: a suffix or prefix of the text that is a part of a value, or a whole text inside a value.
    pub(super) fn find_cut(&self, text: &[u8], cut: Cut, mut found: impl FnMut(Range<usize>)) {
        let enough = |length: &usize| *length >= MIN_PART;
        let whole = &text[..text.len() - unfinished_escape_length(text)];
        if cut.end {
            if let Some(length) = Some(self.partial_suffix_length(text)).filter(enough) {
                found(text.len() - length..text.len());
            }
            if let Some(length) = Some(self.partial_suffix_length(whole)).filter(enough) {
                found(whole.len() - length..text.len());
            }
        }
        let parts = self.forms.iter().filter(|form| form.bytes.len() > MIN_PART);
        for form in parts.filter(|_| cut.start) {
            let length = partial_prefix_length(&form.bytes, text);
            if enough(&length) {
                found(0..length);
            }
            let inside = enough(&text.len()) && text.len() < form.bytes.len();
            if inside && cut.end && memmem::find(&form.bytes, text).is_some() {
                found(0..text.len());
            }
        }
    }
}

/// At which ends a text was cut.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cut {
    pub(crate) start: bool,
    pub(crate) end: bool,
}

fn prefix(form: &Form) -> &[u8] {
    &form.bytes[..form.bytes.len().min(PREFIX_LENGTH)]
}

/// The failure function of Knuth, Morris and Pratt: for each prefix of `pattern`, the length of its longest border.
fn borders(pattern: &[u8]) -> Vec<u32> {
    let mut borders = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        matched = next(pattern, &borders, matched, pattern[at]);
        borders[at] = matched as u32;
    }
    borders
}

/// The matched length after one more byte.
fn next(pattern: &[u8], borders: &[u32], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && pattern.get(matched) != Some(&byte) {
        matched = borders[matched - 1] as usize;
    }
    matched + usize::from(pattern[matched] == byte)
}

fn each_match(pattern: &[u8], text: &[u8], from: usize, mut found: impl FnMut(Range<usize>)) {
    let borders = borders(pattern);
    let mut matched = 0;
    for (at, &byte) in text.iter().enumerate().skip(from) {
        matched = next(pattern, &borders, matched, byte);
        if matched == pattern.len() {
            found(at + 1 - matched..at + 1);
        }
    }
}

fn partial_suffix_length(pattern: &[u8], text: &[u8]) -> usize {
    let text = &text[text.len().saturating_sub(pattern.len() - 1)..];
    let pattern = &pattern[..pattern.len().min(text.len() + 1)];
    let borders = borders(pattern);
    text.iter().fold(0, |matched, &byte| next(pattern, &borders, matched, byte))
}

fn partial_prefix_length(pattern: &[u8], text: &[u8]) -> usize {
    let most = text.len().min(pattern.len() - 1);
    let reversed = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<_>>();
    partial_suffix_length(&reversed(&pattern[pattern.len() - most - 1..]), &reversed(&text[..most]))
}

/// A match widened by its form: characters that hold only some bits of the value, and the rest of a long value.
pub(super) fn widened(form: &Form, text: &[u8], place: Range<usize>, seen: usize) -> Range<usize> {
    let is_code = |at: usize| {
        text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte))
    };
    let Range { mut start, mut end } = place;
    if let Encoding::Base64 { before, after } = form.encoding {
        start -= usize::from(before && start > 0 && is_code(start - 1));
        end += usize::from(after && is_code(end));
    }
    if form.is_prefix {
        end = end.max(seen);
        while is_code(end) {
            end += 1;
        }
    }
    if matches!(form.encoding, Encoding::Base64 { .. }) {
        end += text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    }
    start..end
}

/// Whether a short match is a whole word.
pub(super) fn is_word(text: &[u8], place: &Range<usize>) -> bool {
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let before = place.start.checked_sub(1).and_then(|at| text.get(at));
    !before.is_some_and(joins) && !text.get(place.end).is_some_and(joins)
}
