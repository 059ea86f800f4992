//! Owns hiding the values that a server was given in what the server says: its stderr, its errors, its log messages, its
//! tools may repeat them, encoded, in parts, over lines. What it answers to a call is its own word and left alone.
//! Invariant: what is hidden was handed to that server, and nothing that overlaps a place that is hidden is left of it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::STARS;
use super::forms::{Kind, LEAST, Weight};
use super::literals::replace_literals;
use super::needles::{Cut, Needles, is_word, widened};
use super::view::each_view;

/// The values that one server was given; hides them in text. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Mask(Option<Arc<Needles>>);

impl Mask {
    pub(super) fn new(needles: Option<Needles>) -> Mask {
        Mask(needles.map(Arc::new))
    }

    /// Whether the other one is a clone of this one.
    pub(crate) fn is_same(&self, other: &Mask) -> bool {
        match (&self.0, &other.0) {
            (Some(needles), Some(others)) => Arc::ptr_eq(needles, others),
            (None, None) => true,
            _ => false,
        }
    }

    /// The text, with stars for every value.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.hidden(text, Weight::Word, 0, Cut::default())
    }

    /// The same for what a server offers to agents. A word that was given under a name of no weight stays: it may be what
    /// the tool is about.
    pub(crate) fn prose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.hidden(text, Weight::Secret, 0, Cut::default())
    }

    /// The text that may have been cut at either end, in the middle of a value.
    pub(crate) fn fragment(&self, text: &str) -> String {
        self.part(text, 0, Cut { start: true, end: true })
    }

    /// What is behind `from`, where all of the text decides what is hidden.
    pub(crate) fn part(&self, text: &str, from: usize, cut: Cut) -> String {
        self.hidden(text, Weight::Word, from, cut).into_owned()
    }

    /// Where a value may begin that goes on behind the end of the text.
    pub(crate) fn open_from(&self, text: &str) -> Option<usize> {
        let needles = self.0.as_ref()?;
        let mut open: Option<usize> = None;
        each_view(text, |view| {
            if let Some(start) = needles.open_at_end(&view.bytes) {
                let start = floor(text, view.place(start..view.bytes.len()).start);
                open = Some(open.map_or(start, |open| open.min(start)));
            }
        });
        open
    }

    /// JSON as it is written, such as the entry of a tool, with stars in its strings as in `prose`.
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

    /// JSON with stars for every value in its strings and keys.
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

    fn hidden<'a>(&self, text: &'a str, weight: Weight, from: usize, cut: Cut) -> Cow<'a, str> {
        let Some(needles) = &self.0 else { return Cow::Borrowed(&text[from..]) };
        let found = places(needles, text, weight, cut);
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
        // The stars may have made a value of what stands around them.
        if needles.has_stars && !places(needles, &shown, weight, cut).is_empty() {
            return Cow::Borrowed(STARS);
        }
        shown.into()
    }
}

/// What is to be hidden: in order, apart from each other, whole characters.
fn places(needles: &Needles, text: &str, weight: Weight, cut: Cut) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    each_view(text, |view| {
        let mut seen = 0;
        needles.find(view, |form, place| {
            let is_short = form.kind == Kind::Text && form.bytes.len() < LEAST;
            if form.weight > weight || is_short && !is_word(&view.bytes, &place) {
                return;
            }
            let place = widened(form, &view.bytes, place, seen);
            seen = if form.goes_on { place.end } else { 0 };
            let place = view.place(place);
            if view.counts(&place) {
                add(place, &mut places);
            }
        });
        if cut.start || cut.end {
            needles.find_cut(&view.bytes, cut, |place| add(view.place(place), &mut places));
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

/// Adds a place to a list, into the last one where they meet: what repeats is found at every byte.
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
