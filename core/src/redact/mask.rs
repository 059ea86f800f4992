//! Owns hiding a server's configured values in the text that it sends: stderr, errors, log messages and tools may
//! repeat them encoded, in part, or across lines. Results of calls are left alone.
//! Invariant: only values that this server was given are hidden, and every match is hidden completely.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::STARS;
use super::forms::{Certainty, Encoding, MIN_LENGTH};
use super::literals::replace_literals;
use super::needles::{Cut, Needles, is_word, widened};
use super::view::{View, each_view};

/// Hides one server's values in text. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Mask(Option<Arc<MaskValues>>);

struct MaskValues {
    needles: Option<Arc<Needles>>,
    more: Vec<Arc<dyn MoreValues>>,
}

/// Values that are hidden too. Their mask is made for the first text that is masked, because most calls have none.
pub(crate) trait MoreValues: Send + Sync {
    fn mask(&self) -> &Mask;
}

impl Mask {
    pub(super) fn new(needles: Option<Needles>) -> Mask {
        let values = |needles| MaskValues { needles: Some(Arc::new(needles)), more: Vec::new() };
        Mask(needles.map(values).map(Arc::new))
    }

    /// The same mask, which hides these values too.
    pub(crate) fn with_more(&self, more: Vec<Arc<dyn MoreValues>>) -> Mask {
        let needles = self.0.as_ref().and_then(|values| values.needles.clone());
        Mask(Some(Arc::new(MaskValues { needles, more })))
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn needles(&self) -> Option<&Needles> {
        self.0.as_ref()?.needles.as_deref()
    }

    fn all(&self) -> impl Iterator<Item = &Needles> {
        let more = self.0.iter().flat_map(|values| values.more.iter());
        let more = more.filter_map(|values| values.mask().needles());
        self.needles().into_iter().chain(more)
    }

    /// Whether the other one is a clone of this one.
    pub(crate) fn is_same(&self, other: &Mask) -> bool {
        match (&self.0, &other.0) {
            (Some(values), Some(others)) => Arc::ptr_eq(values, others),
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
        if self.is_empty() {
            return None;
        }
        let mut open: Option<usize> = None;
        each_view(text, |view| {
            for start in self.all().filter_map(|needles| needles.unfinished_from(&view.bytes)) {
                let start = floor(text, view.source_range(start..view.bytes.len()).start);
                open = Some(open.map_or(start, |open| open.min(start)));
            }
        });
        open
    }

    /// JSON text, such as a tool's entry, with its strings masked as in `prose`.
    pub(crate) fn raw_json(&self, json: Bytes) -> Bytes {
        if self.is_empty() {
            return json;
        }
        let Ok(text) = std::str::from_utf8(&json) else { return json };
        let hide_text = |text: &str| match self.prose(text) {
            Cow::Owned(shown) => Some(shown),
            Cow::Borrowed(_) => None,
        };
        let hide_number = |number: &str| self.hides(number).then(|| STARS.to_owned());
        match replace_literals(text, hide_text, hide_number) {
            Some(shown) => shown.into(),
            None => json,
        }
    }

    /// A JSON value with its strings and keys masked.
    pub(crate) fn json(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(key, value)| (self.text(&key).into_owned(), self.json(value)))
                    .collect(),
            ),
            Value::Number(number) => match self.hides(&number.to_string()) {
                true => STARS.into(),
                false => Value::Number(number),
            },
            plain => plain,
        }
    }

    /// Whether this is one of the values.
    fn hides(&self, value: &str) -> bool {
        self.all().any(|needles| needles.contains(value))
    }

    fn mask_text<'a>(
        &self,
        text: &'a str,
        certainty: Certainty,
        from: usize,
        cut: Cut,
    ) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(&text[from..]);
        }
        let found = self.ranges_to_hide(text, certainty, cut);
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
        let has_stars = self.all().any(|needles| needles.has_stars);
        if has_stars && !self.ranges_to_hide(&shown, certainty, cut).is_empty() {
            return Cow::Borrowed(STARS);
        }
        shown.into()
    }

    /// The ranges to hide: sorted, disjoint, at character boundaries.
    fn ranges_to_hide(&self, text: &str, certainty: Certainty, cut: Cut) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        each_view(text, |view| {
            for needles in self.all() {
                add_matches(needles, view, certainty, cut, &mut places);
            }
        });
        merged(text, places)
    }
}

/// Adds the ranges of the text in which these values occur.
fn add_matches(
    needles: &Needles,
    view: &View<'_>,
    certainty: Certainty,
    cut: Cut,
    places: &mut Vec<Range<usize>>,
) {
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
            add(place, places);
        }
    });
    if cut.start || cut.end {
        needles.find_cut(&view.bytes, cut, |place| add(view.source_range(place), places));
    }
}

/// The ranges, sorted, joined, and widened to character boundaries.
fn merged(text: &str, places: Vec<Range<usize>>) -> Vec<Range<usize>> {
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
