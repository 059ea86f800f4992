//! Owns what ends a line in a text that a model reads: not only a line feed.
//! Invariant: no position in the text changes.

use std::ops::Range;

use memchr::memchr3;

use super::leading_bytes::LeadingBytes;
use crate::fork::Computed;

const WIDE: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// The text with every end of a line as a line feed, after spaces where it was longer.
pub(super) fn as_line_feeds(text: String) -> String {
    static WIDE_ENDS: Computed<LeadingBytes> = Computed::new(|| LeadingBytes::new(WIDE));
    let mut wide = Vec::new();
    if !text.is_ascii() {
        wide.extend(WIDE_ENDS.find(&text).filter_map(|at| {
            let end = text[at..].chars().next().filter(|c| WIDE.contains(c))?;
            Some(at..at + end.len_utf8())
        }));
    }
    let narrow = |bytes: &[u8]| memchr3(b'\r', b'\x0b', b'\x0c', bytes);
    let first = narrow(text.as_bytes());
    if wide.is_empty() && first.is_none() {
        return text;
    }
    let mut bytes = text.into_bytes();
    for Range { start, end } in wide {
        bytes[start..end - 1].fill(b' ');
        bytes[end - 1] = b'\n';
    }
    let mut next = first;
    while let Some(at) = next {
        let is_half = bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
        bytes[at] = if is_half { b' ' } else { b'\n' };
        next = narrow(&bytes[at + 1..]).map(|further| at + 1 + further);
    }
    String::from_utf8(bytes).expect("whole characters were replaced by ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_becomes_a_line_feed_and_nothing_moves() {
        let text = "a\rb\r\nc\u{b}d\u{c}é\u{85}f\u{2028}g\u{2029}h\n–\u{ad}";
        let feeds = as_line_feeds(text.to_owned());
        assert_eq!(feeds, "a\nb \nc\nd\né \nf  \ng  \nh\n–\u{ad}");
        assert_eq!(feeds.len(), text.len());
    }
}
