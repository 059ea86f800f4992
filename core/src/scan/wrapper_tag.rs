//! Owns finding text that a reader could take for the tag that wraps a tool's output, in any spelling.

use memchr::memchr_iter;

use super::hidden::is_unseen;
use super::leading_bytes::LeadingBytes;
use crate::fork::Computed;

pub(super) mod lookalikes;

/// The tag's name.
pub(crate) const TAG: &str = "mcp_tool_output";
/// The name after [`lookalikes::reading`].
const NAME_READING: &str = "rncp_tool_output";
/// Characters that open a tag: `<`, and its wide, small and struck-through forms.
const TAG_OPENERS: &[char] = &['<', '\u{ff1c}', '\u{fe64}', '\u{226e}'];
/// Lookalikes that are also used for quotes and titles, so they open a tag only before a slash.
const ANGLE_LOOKALIKES: &[char] = &[
    '\u{ab}',
    '\u{2c2}',
    '\u{1438}',
    '\u{16b2}',
    '\u{2039}',
    '\u{226a}',
    '\u{227a}',
    '\u{2329}',
    '\u{276c}',
    '\u{276e}',
    '\u{2770}',
    '\u{27e8}',
    '\u{27ea}',
    '\u{29fc}',
    '\u{2d66}',
    '\u{3008}',
    '\u{300a}',
    '\u{1032d}',
    '\u{16aec}',
    '\u{1d236}',
];
const SLASHES: &[char] = &[
    '/', '\\', '\u{2044}', '\u{2215}', '\u{2216}', '\u{2571}', '\u{27cb}', '\u{29f5}', '\u{29f6}',
    '\u{29f8}', '\u{30ce}', '\u{4e3f}', '\u{fe68}', '\u{ff0f}', '\u{ff3c}', '\u{ff89}',
];
/// The most characters before a tag's name: one or two slashes, and an unknown one.
const MAX_BEFORE_NAME: usize = 3;

/// The positions of text that looks like the wrapper's tag, opening or closing.
pub(crate) fn wrapper_tags(text: &str) -> impl Iterator<Item = usize> {
    static WIDE: Computed<LeadingBytes> =
        Computed::new(|| LeadingBytes::new(TAG_OPENERS.iter().chain(ANGLE_LOOKALIKES).copied()));
    let bytes = text.as_bytes();
    let is_open = |at: &usize| !is_other_tag(&bytes[at + 1..]) && is_wrapper_tag(&text[*at..]);
    let plain = memchr_iter(b'<', bytes).filter(is_open);
    let text = if text.is_ascii() { "" } else { text };
    let wide = WIDE.find(text).filter(|&at| is_wrapper_tag(&text[at..]));
    merged(plain, wide)
}

/// Merges two sorted iterators.
fn merged(
    one: impl Iterator<Item = usize>,
    other: impl Iterator<Item = usize>,
) -> impl Iterator<Item = usize> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b < a => other.next(),
        (None, _) => other.next(),
        _ => one.next(),
    })
}

/// Whether the tag that may begin here has our name, after a slash or not.
fn is_wrapper_tag(text: &str) -> bool {
    let mut rest = text.chars();
    let Some(sign) = rest.next() else { return false };
    let needs_slash = ANGLE_LOOKALIKES.contains(&sign);
    if !needs_slash && !TAG_OPENERS.contains(&sign) {
        return false;
    }
    let mut before = 0;
    loop {
        if (before > 0 || !needs_slash) && reads_as_name(rest.as_str()) {
            return true;
        }
        match rest.next() {
            Some(c) if before == 0 && needs_slash && !is_blank(c) && !SLASHES.contains(&c) => {
                return false;
            }
            Some(c) if c.is_ascii_alphanumeric() || c == '<' => return false,
            Some(c) => before += usize::from(!is_blank(c)),
            None => return false,
        }
        if before > MAX_BEFORE_NAME {
            return false;
        }
    }
}

/// A quick check: most tags are others.
fn is_other_tag(rest: &[u8]) -> bool {
    let first = rest.strip_prefix(b"/").unwrap_or(rest).first();
    first.is_none_or(|b| b.is_ascii_alphanumeric() && !matches!(b, b'm' | b'M' | b'r' | b'R'))
}

/// Whether a reader would take the next characters for our name. Invisible characters, spaces and combining marks do
/// not count.
fn reads_as_name(text: &str) -> bool {
    let mut wanted = NAME_READING;
    for c in text.chars() {
        let reading = lookalikes::reading(c);
        if let Some(rest) = reading.and_then(|reading| wanted.strip_prefix(reading)) {
            if rest.is_empty() {
                return true;
            }
            wanted = rest;
            continue;
        }
        let read = &NAME_READING[..NAME_READING.len() - wanted.len()];
        let goes_on = is_blank(c) || (read.ends_with('_') && reading == Some("_"));
        if read.is_empty() || !goes_on {
            return false;
        }
    }
    false
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || !c.is_ascii() && is_unseen(c)
}
