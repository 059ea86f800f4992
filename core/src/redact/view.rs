//! Owns the readings of a text: as it stands, with its percent and backslash escapes undone, and without the blanks where
//! a line is broken.
//! Invariant: each byte of a view knows the place in the text that it stands for.

use std::borrow::Cow;
use std::ops::Range;

/// How often escapes are looked for inside of escapes: JSON in a JSON string in a URL.
const ROUNDS: usize = 3;

pub(super) struct View<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Where each byte comes from; none where the view is the text itself.
    places: Option<Vec<(u32, u32)>>,
    /// Where line breaks were left out of it, in the text.
    breaks: Option<Vec<u32>>,
}

impl View<'_> {
    /// The place in the text that a part of the view stands for.
    pub(super) fn place(&self, part: Range<usize>) -> Range<usize> {
        match &self.places {
            Some(places) if part.is_empty() => {
                let at = places.get(part.start).map_or(0, |place| place.0 as usize);
                at..at
            }
            Some(places) => places[part.start].0 as usize..places[part.end - 1].1 as usize,
            None => part,
        }
    }

    /// Whether a place in the text is news of this view: what is in one line is found in the view that has its blanks.
    pub(super) fn counts(&self, place: &Range<usize>) -> bool {
        let Some(breaks) = &self.breaks else { return true };
        let first = breaks.partition_point(|&at| (at as usize) <= place.start);
        breaks.get(first).is_some_and(|&at| (at as usize) < place.end)
    }

    fn place_of(&self, at: usize) -> (u32, u32) {
        match &self.places {
            Some(places) => places[at],
            None => (at as u32, at as u32 + 1),
        }
    }

    fn has_lines(&self) -> bool {
        memchr::memchr2(b'\n', b'\r', &self.bytes).is_some()
    }

    /// The view with its escapes undone, if it has any.
    fn unescaped(&self) -> Option<View<'static>> {
        let mut at = memchr::memchr2(b'%', b'\\', &self.bytes)?;
        let mut bytes = self.bytes[..at].to_vec();
        let mut places: Vec<_> = (0..at).map(|at| self.place_of(at)).collect();
        let mut changed = false;
        while at < self.bytes.len() {
            let (decoded, length) = escape(&self.bytes[at..], true, true)
                .unwrap_or((Decoded::from_byte(self.bytes[at]), 1));
            changed |= length > 1;
            let place = (self.place_of(at).0, self.place_of(at + length - 1).1);
            bytes.extend_from_slice(decoded.bytes());
            places.resize(bytes.len(), place);
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
                places.push(self.place_of(at));
            } else if matches!(byte, b'\n' | b'\r') {
                breaks.push(self.place_of(at).0);
            }
        }
        breaks.sort_unstable();
        View { bytes: bytes.into(), places: Some(places), breaks: Some(breaks) }
    }
}

/// Calls for every reading of the text.
pub(super) fn each_view(text: &str, mut look: impl FnMut(&View<'_>)) {
    // Places are kept in 32 bits; no message is as long.
    let bytes = &text.as_bytes()[..text.len().min(u32::MAX as usize)];
    let mut plain = Some(View { bytes: bytes.into(), places: None, breaks: None });
    let (mut joined, mut was_joined) = (None, false);
    for _ in 0..=ROUNDS {
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

/// The text that escapes stand for; `percent` and `backslash` are the kinds that are undone.
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

/// How many bytes at the end of a text may be an escape that goes on.
pub(super) fn unfinished(text: &[u8]) -> usize {
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

/// The bytes of one character.
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

/// The escape that the text begins with: what it stands for, and its length.
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
