//! Owns hiding a server's configured values in the text that it sends: stderr, errors, log messages and tools may
//! repeat them encoded, in part, or across lines. Results of calls are left alone.
//! Invariant: only values that this server was given are hidden, and every match is hidden completely.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::STARS;
use super::forms::{Certainty, Encoding, Form, MIN_LENGTH};
use super::literals::replace_literals;
use super::needles::{Cut, Needles, is_word, widened};
use super::view::each_view;

/// Hides one server's values in text. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Mask(Option<Arc<Needles>>);

impl Mask {
    pub(super) fn new(needles: Option<Needles>) -> Mask {
        Mask(needles.map(Arc::new))
    }

    /// The values that it hides, in all their forms.
    pub(super) fn forms(&self) -> &[Form] {
        self.0.as_ref().map_or(&[], |needles| &needles.forms)
    }

    /// Whether the other one is a clone of this one.
    pub(crate) fn is_same(&self, other: &Mask) -> bool {
        match (&self.0, &other.0) {
            (Some(needles), Some(others)) => Arc::ptr_eq(needles, others),
            (None, None) => true,
            _ => false,
        }
    }

    /// The text with every value replaced by stars.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask_text(text, Certainty::Word, 0, Cut::default())
    }

    /// Like [`Mask::text`], for what a server offers to agents. A word under a name that is not secret stays: the tool
    /// may be about it.
    pub(crate) fn prose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask_text(text, Certainty::Secret, 0, Cut::default())
    }

    /// Like [`Mask::text`], for text that may have been cut at either end inside a value.
    pub(crate) fn fragment(&self, text: &str) -> String {
        self.part(text, 0, Cut { start: true, end: true })
    }

    /// The text after `from`, masked with the whole text as context.
    pub(crate) fn part(&self, text: &str, from: usize, cut: Cut) -> String {
        self.mask_text(text, Certainty::Word, from, cut).into_owned()
    }

    /// Where a value begins that may continue after the end of the text.
    pub(crate) fn unfinished_from(&self, text: &str) -> Option<usize> {
        let needles = self.0.as_ref()?;
        let mut open: Option<usize> = None;
        each_view(text, |view| {
            if let Some(start) = needles.unfinished_from(&view.bytes) {
                let start = floor(text, view.source_range(start..view.bytes.len()).start);
                open = Some(open.map_or(start, |open| open.min(start)));
            }
        });
        open
    }

    /// JSON text, such as a tool's entry, with its strings masked as in `prose`.
    pub(crate) fn raw_json(&self, json: Bytes) -> Bytes {
        let Some(needles) = &self.0 else { return json };
        let Ok(text) = std::str::from_utf8(&json) else { return json };
        let hide_text = |text: &str| match self.prose(text) {
            Cow::Owned(shown) => Some(shown),
            Cow::Borrowed(_) => None,
        };
        let hide_number = |number: &str| needles.contains(number).then(|| STARS.to_owned());
        match replace_literals(text, hide_text, hide_number) {
            Some(shown) => shown.into(),
            None => json,
        }
    }

    /// A JSON value with its strings and keys masked.
    pub(crate) fn json(&self, value: Value) -> Value {
        let Some(needles) = &self.0 else { return value };
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(key, value)| (self.text(&key).into_owned(), self.json(value)))
                    .collect(),
            ),
            Value::Number(number) => match needles.contains(&number.to_string()) {
                true => STARS.into(),
                false => Value::Number(number),
            },
            plain => plain,
        }
    }

    fn mask_text<'a>(
        &self,
        text: &'a str,
        certainty: Certainty,
        from: usize,
        cut: Cut,
    ) -> Cow<'a, str> {
        let Some(needles) = &self.0 else { return Cow::Borrowed(&text[from..]) };
        let found = ranges_to_hide(needles, text, certainty, cut);
        let (mut shown, mut at) = (String::new(), from);
        for place in found.into_iter().filter(|place| place.end > from) {
            shown.push_str(&text[at..place.start.max(at)]);
            shown.push_str(STARS);
            at = place.end;
        }
        if at == from {
            return Cow::Borrowed(&text[from..]);
        }
        shown.push_str(&text[at..]);
        // The stars may have formed a new match with the text around them.
        if needles.has_stars && !ranges_to_hide(needles, &shown, certainty, cut).is_empty() {
            return Cow::Borrowed(STARS);
        }
        shown.into()
    }
}

/// The ranges to hide: sorted, disjoint, at character boundaries.
fn ranges_to_hide(
    needles: &Needles,
    text: &str,
    certainty: Certainty,
    cut: Cut,
) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    each_view(text, |view| {
        let mut seen = 0;
        needles.find(view, |form, place| {
            let is_short = form.encoding == Encoding::Text && form.bytes.len() < MIN_LENGTH;
            if form.certainty > certainty || is_short && !is_word(&view.bytes, &place) {
                return;
            }
            let place = widened(form, &view.bytes, place, seen);
            seen = if form.is_prefix { place.end } else { 0 };
            let place = view.source_range(place);
            if view.is_new_match(&place) {
                add(place, &mut places);
            }
        });
        if cut.start || cut.end {
            needles.find_cut(&view.bytes, cut, |place| add(view.source_range(place), &mut places));
        }
    });
    let whole = |place: Range<usize>| floor(text, place.start)..ceiling(text, place.end);
    let mut places: Vec<_> = places.into_iter().map(whole).collect();
    places.sort_unstable_by_key(|place| place.start);
    places.dedup_by(|next, kept| {
        let joins = next.start <= kept.end;
        if joins {
            kept.end = kept.end.max(next.end);
        }
        joins
    });
    places
}

/// Adds a range, joined with the last one if they touch. A repetitive value matches at every byte.
fn add(place: Range<usize>, places: &mut Vec<Range<usize>>) {
    match places.last_mut() {
        Some(last) if last.start <= place.start && place.start <= last.end => {
            last.end = last.end.max(place.end);
        }
        _ => places.push(place),
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn ceiling(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
