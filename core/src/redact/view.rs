//! Owns the views of a text that are searched: as it is, with percent and backslash escapes decoded, and without the
//! blanks around line breaks.
//! Invariant: each byte of a view maps to its range in the text.

use std::borrow::Cow;
use std::ops::Range;

/// The nesting limit of escapes, such as JSON in a JSON string in a URL.
const MAX_DEPTH: usize = 3;

pub(super) struct View<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// The source range of each byte; `None` if the view is the text itself.
    places: Option<Vec<(u32, u32)>>,
    /// The positions in the text of the removed line breaks.
    breaks: Option<Vec<u32>>,
}

impl View<'_> {
    /// The range of the text that a part of the view comes from.
    pub(super) fn source_range(&self, part: Range<usize>) -> Range<usize> {
        match &self.places {
            Some(places) if part.is_empty() => {
                let at = places.get(part.start).map_or(0, |source_range| source_range.0 as usize);
                at..at
            }
            Some(places) => places[part.start].0 as usize..places[part.end - 1].1 as usize,
            None => part,
        }
    }

    /// Whether a match is new in this view: a match within one line was found in the view that keeps blanks.
    pub(super) fn is_new_match(&self, source_range: &Range<usize>) -> bool {
        let Some(breaks) = &self.breaks else { return true };
        let first = breaks.partition_point(|&at| (at as usize) <= source_range.start);
        breaks.get(first).is_some_and(|&at| (at as usize) < source_range.end)
    }

    fn source_range_of_byte(&self, at: usize) -> (u32, u32) {
        match &self.places {
            Some(places) => places[at],
            None => (at as u32, at as u32 + 1),
        }
    }

    fn has_lines(&self) -> bool {
        memchr::memchr2(b'\n', b'\r', &self.bytes).is_some()
    }

    /// The view with its escapes decoded, if it has any.
    fn unescaped(&self) -> Option<View<'static>> {
        let mut at = memchr::memchr2(b'%', b'\\', &self.bytes)?;
        let mut bytes = self.bytes[..at].to_vec();
        let mut places: Vec<_> = (0..at).map(|at| self.source_range_of_byte(at)).collect();
        let mut changed = false;
        while at < self.bytes.len() {
            let (decoded, length) = escape(&self.bytes[at..], true, true)
                .unwrap_or((Decoded::from_byte(self.bytes[at]), 1));
            changed |= length > 1;
            let source_range =
                (self.source_range_of_byte(at).0, self.source_range_of_byte(at + length - 1).1);
            bytes.extend_from_slice(decoded.bytes());
            places.resize(bytes.len(), source_range);
            at += length;
        }
        let breaks = self.breaks.clone();
        changed.then_some(View { bytes: bytes.into(), places: Some(places), breaks })
    }

    fn without_blanks(&self) -> View<'static> {
        let mut breaks = self.breaks.clone().unwrap_or_default();
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for (at, &byte) in self.bytes.iter().enumerate() {
            if !byte.is_ascii_whitespace() {
                bytes.push(byte);
                places.push(self.source_range_of_byte(at));
            } else if matches!(byte, b'\n' | b'\r') {
                breaks.push(self.source_range_of_byte(at).0);
            }
        }
        breaks.sort_unstable();
        View { bytes: bytes.into(), places: Some(places), breaks: Some(breaks) }
    }
}

/// Calls `look` with every view of the text.
pub(super) fn each_view(text: &str, mut look: impl FnMut(&View<'_>)) {
    // Positions have 32 bits; no message is longer.
    let bytes = &text.as_bytes()[..text.len().min(u32::MAX as usize)];
    let mut plain = Some(View { bytes: bytes.into(), places: None, breaks: None });
    let (mut joined, mut was_joined) = (None, false);
    for _ in 0..=MAX_DEPTH {
        if let Some(view) = &plain {
            look(view);
            if !was_joined && view.has_lines() {
                (joined, was_joined) = (Some(view.without_blanks()), true);
            }
        }
        if let Some(view) = &joined {
            look(view);
        }
        joined = joined.and_then(|view| Some(view.unescaped()?.without_blanks()));
        plain = plain.and_then(|view| view.unescaped());
    }
}

/// Decodes escapes; `percent` and `backslash` select the kinds.
pub(super) fn unescaped(text: &[u8], percent: bool, backslash: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match escape(&text[at..], percent, backslash) {
            Some((decoded, length)) => {
                bytes.extend_from_slice(decoded.bytes());
                at += length;
            }
            None => {
                bytes.push(text[at]);
                at += 1;
            }
        }
    }
    bytes
}

/// How many bytes at the end of a text may be an incomplete escape.
pub(super) fn unfinished_escape_length(text: &[u8]) -> usize {
    const LONGEST: usize = "\\ud83d\\udd1".len();
    let from = text.len().saturating_sub(LONGEST);
    let begins = |at: &usize| {
        let rest = &text[*at..];
        matches!(rest[0], b'%' | b'\\')
            && rest[1..].iter().all(|byte| byte.is_ascii_hexdigit() || b"ux{\\".contains(byte))
            && escape(rest, true, true).is_none()
    };
    (from..text.len()).find(begins).map_or(0, |at| text.len() - at)
}

/// The UTF-8 bytes of one character.
struct Decoded([u8; 4], usize);

impl Decoded {
    fn from_byte(byte: u8) -> Self {
        Decoded([byte, 0, 0, 0], 1)
    }

    fn from_char(c: char) -> Self {
        let mut bytes = [0; 4];
        let length = c.encode_utf8(&mut bytes).len();
        Decoded(bytes, length)
    }

    fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// The escape at the beginning of the text: its bytes and its length.
fn escape(text: &[u8], percent: bool, backslash: bool) -> Option<(Decoded, usize)> {
    match text {
        [b'%', digits @ ..] if percent => {
            Some((Decoded::from_byte(number(digits, 2)? as u8), "%XX".len()))
        }
        [b'\\', b'u', b'{', rest @ ..] if backslash => {
            let length = rest.iter().take(7).position(|&byte| byte == b'}')?;
            let c = char::from_u32(number(rest, length)?)?;
            Some((Decoded::from_char(c), "\\u{}".len() + length))
        }
        [b'\\', b'u', digits @ ..] if backslash => {
            let unit = number(digits, 4)?;
            let low = match digits.get(4..) {
                Some([b'\\', b'u', low @ ..]) if (0xd800..0xdc00).contains(&unit) => number(low, 4),
                _ => None,
            };
            match low.filter(|low| (0xdc00..0xe000).contains(low)) {
                Some(low) => {
                    let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    Some((Decoded::from_char(char::from_u32(code)?), "\\uXXXX\\uXXXX".len()))
                }
                None => Some((Decoded::from_char(char::from_u32(unit)?), "\\uXXXX".len())),
            }
        }
        [b'\\', b'x', digits @ ..] if backslash => {
            Some((Decoded::from_byte(number(digits, 2)? as u8), "\\xXX".len()))
        }
        [b'\\', byte, ..] if backslash => {
            let byte = match byte {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'f' => 12,
                sign if sign.is_ascii_punctuation() => *sign,
                _ => return None,
            };
            Some((Decoded::from_byte(byte), 2))
        }
        _ => None,
    }
}

fn number(digits: &[u8], length: usize) -> Option<u32> {
    let digits = digits.get(..length).filter(|digits| !digits.is_empty())?;
    let digit = |number: u32, &byte: &u8| Some(number << 4 | char::from(byte).to_digit(16)?);
    digits.iter().try_fold(0, digit)
}
