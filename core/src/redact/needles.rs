//! Owns finding many values in one text: which of them may be there is told by their beginnings, in one pass; only those
//! are looked for.
//! Invariant: the time is the text's length times the number of values that begin in it, whatever repeats in either.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;

use super::forms::{Form, Kind};
use super::view::{View, unfinished};

/// So much of a value is looked for first.
const BEGINNING: usize = 8;
/// The shortest part of a value that is hidden where a text was cut.
const LEAST_PART: usize = 6;

pub(super) struct Needles {
    /// In order, each once.
    forms: Vec<Form>,
    /// Those that have each beginning in common.
    groups: Vec<Range<usize>>,
    beginnings: AhoCorasick,
    /// Whether what is put in a value's place could be a part of a value.
    pub(super) has_stars: bool,
}

impl Needles {
    pub(super) fn new(mut forms: Vec<Form>) -> Option<Self> {
        // Of equal ones the strictest comes first and stays.
        forms.sort_unstable();
        forms.dedup_by(|next, kept| next.bytes == kept.bytes);
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, form) in forms.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if beginning(&forms[group.start]) == beginning(form) => {
                    group.end = at + 1;
                }
                _ => groups.push(at..at + 1),
            }
        }
        let starts = groups.iter().map(|group| beginning(&forms[group.start]));
        // A mask is made with every start of a server: this kind takes half the time of the one that is searched faster.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        // Fails only for more patterns than memory has room for.
        let beginnings = AhoCorasick::builder().kind(kind).build(starts).ok();
        let beginnings = beginnings.filter(|_| !forms.is_empty())?;
        let has_stars = forms.iter().any(|form| form.bytes.contains(&b'*'));
        Some(Needles { forms, groups, beginnings, has_stars })
    }

    pub(super) fn contains(&self, value: &str) -> bool {
        self.forms.binary_search_by(|form| (*form.bytes).cmp(value.as_bytes())).is_ok()
    }

    /// Calls for the place of every value in the view, also where they overlap.
    pub(super) fn find(&self, view: &View<'_>, mut found: impl FnMut(&Form, Range<usize>)) {
        for (form, from) in self.begun(&view.bytes) {
            if form.bytes.len() <= view.bytes.len() - from {
                each_place(&form.bytes, &view.bytes, from, |place| found(form, place));
            }
        }
    }

    /// The values whose beginning is in the text, and where it is first.
    fn begun(&self, text: &[u8]) -> impl Iterator<Item = (&Form, usize)> {
        let mut begun = BTreeMap::new();
        for found in self.beginnings.find_overlapping_iter(text) {
            begun.entry(found.pattern().as_usize()).or_insert(found.start());
        }
        begun.into_iter().flat_map(|(group, from)| {
            self.forms[self.groups[group].clone()].iter().map(move |form| (form, from))
        })
    }

    /// The longest end of the text that is the beginning of a value, but not all of one.
    pub(super) fn begun_at_end(&self, text: &[u8]) -> usize {
        let short = (1..BEGINNING.min(text.len() + 1)).rev().find(|&length| {
            let end = &text[text.len() - length..];
            let next = self.forms.partition_point(|form| *form.bytes <= *end);
            self.forms.get(next).is_some_and(|form| form.bytes.starts_with(end))
        });
        let long = self.begun(text).map(|(form, _)| begun_at_end(&form.bytes, text)).max();
        short.max(long).unwrap_or(0)
    }

    /// Where a value may begin that the text ends in the middle of.
    pub(super) fn open_at_end(&self, text: &[u8]) -> Option<usize> {
        let whole = &text[..text.len() - unfinished(text)];
        let open = |text: &[u8]| Some(self.begun_at_end(text)).filter(|length| *length > 0);
        let escape = (whole.len() < text.len()).then_some(whole.len());
        let starts = [text, whole].map(|text| open(text).map(|length| text.len() - length));
        starts.into_iter().flatten().chain(escape).min()
    }

    /// The parts of a text that was cut: an end or a beginning that is a part of a value, or all of it.
    pub(super) fn find_cut(&self, text: &[u8], cut: Cut, mut found: impl FnMut(Range<usize>)) {
        let enough = |length: &usize| *length >= LEAST_PART;
        let whole = &text[..text.len() - unfinished(text)];
        if cut.end {
            if let Some(length) = Some(self.begun_at_end(text)).filter(enough) {
                found(text.len() - length..text.len());
            }
            if let Some(length) = Some(self.begun_at_end(whole)).filter(enough) {
                found(whole.len() - length..text.len());
            }
        }
        let parts = self.forms.iter().filter(|form| form.bytes.len() > LEAST_PART);
        for form in parts.filter(|_| cut.start) {
            let length = ended_at_start(&form.bytes, text);
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

/// Where a text was cut.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cut {
    pub(crate) start: bool,
    pub(crate) end: bool,
}

fn beginning(form: &Form) -> &[u8] {
    &form.bytes[..form.bytes.len().min(BEGINNING)]
}

/// By Knuth, Morris and Pratt: for each length of `pattern`, the longest end of that much that is a beginning too.
fn borders(pattern: &[u8]) -> Vec<u32> {
    let mut borders = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        matched = next(pattern, &borders, matched, pattern[at]);
        borders[at] = matched as u32;
    }
    borders
}

/// How much of the pattern is there after one more byte.
fn next(pattern: &[u8], borders: &[u32], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && pattern.get(matched) != Some(&byte) {
        matched = borders[matched - 1] as usize;
    }
    matched + usize::from(pattern[matched] == byte)
}

fn each_place(pattern: &[u8], text: &[u8], from: usize, mut found: impl FnMut(Range<usize>)) {
    let borders = borders(pattern);
    let mut matched = 0;
    for (at, &byte) in text.iter().enumerate().skip(from) {
        matched = next(pattern, &borders, matched, byte);
        if matched == pattern.len() {
            found(at + 1 - matched..at + 1);
        }
    }
}

fn begun_at_end(pattern: &[u8], text: &[u8]) -> usize {
    let text = &text[text.len().saturating_sub(pattern.len() - 1)..];
    let pattern = &pattern[..pattern.len().min(text.len() + 1)];
    let borders = borders(pattern);
    text.iter().fold(0, |matched, &byte| next(pattern, &borders, matched, byte))
}

fn ended_at_start(pattern: &[u8], text: &[u8]) -> usize {
    let most = text.len().min(pattern.len() - 1);
    let reversed = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<_>>();
    begun_at_end(&reversed(&pattern[pattern.len() - most - 1..]), &reversed(&text[..most]))
}

/// A place as far as its form says: characters that hold a few bits of the value only, and the rest of a long one.
pub(super) fn widened(form: &Form, text: &[u8], place: Range<usize>, seen: usize) -> Range<usize> {
    let is_code = |at: usize| {
        text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte))
    };
    let Range { mut start, mut end } = place;
    if let Kind::Base64 { before, after } = form.kind {
        start -= usize::from(before && start > 0 && is_code(start - 1));
        end += usize::from(after && is_code(end));
    }
    if form.goes_on {
        end = end.max(seen);
        while is_code(end) {
            end += 1;
        }
    }
    if matches!(form.kind, Kind::Base64 { .. }) {
        end += text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    }
    start..end
}

/// Whether a short value stands there as a word of its own.
pub(super) fn is_word(text: &[u8], place: &Range<usize>) -> bool {
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let before = place.start.checked_sub(1).and_then(|at| text.get(at));
    !before.is_some_and(joins) && !text.get(place.end).is_some_and(joins)
}
