//! Owns finding what a reader could take for the tag that wraps a tool's output, however it is written.

use memchr::memchr_iter;

use super::beginnings::Beginnings;
use super::hidden::is_unseen;
use crate::fork::Computed;

mod lookalikes;

/// The name of the tag.
pub(crate) const TAG: &str = "mcp_tool_output";
/// The same after [`lookalikes::reading`].
const READS: &str = "rncp_tool_output";
/// What opens a tag, or is the same sign written wide, small or struck through.
const SIGNS: &[char] = &['<', '\u{ff1c}', '\u{fe64}', '\u{226e}'];
/// What looks like it. Quotes and titles are written with these too, so only before a slash do they open a tag.
const ANGLES: &[char] = &[
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
/// So many signs may stand before a tag's name: a slash, two of them, one of a kind that we do not know.
const BEFORE_NAME: usize = 3;

/// Where something begins that looks like the wrapper's tag, opening or closing.
pub(crate) fn wrapper_tags(text: &str) -> impl Iterator<Item = usize> {
    static WIDE: Computed<Beginnings> =
        Computed::new(|| Beginnings::of(SIGNS.iter().chain(ANGLES).copied()));
    let bytes = text.as_bytes();
    let is_open = |at: &usize| !is_other_tag(&bytes[at + 1..]) && is_mark(&text[*at..]);
    let plain = memchr_iter(b'<', bytes).filter(is_open);
    let text = if text.is_ascii() { "" } else { text };
    let wide = WIDE.find(text).filter(|&at| is_mark(&text[at..]));
    merged(plain, wide)
}

/// Both, in order.
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
fn is_mark(text: &str) -> bool {
    let mut rest = text.chars();
    let Some(sign) = rest.next() else { return false };
    let needs_slash = ANGLES.contains(&sign);
    if !needs_slash && !SIGNS.contains(&sign) {
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
        if before > BEFORE_NAME {
            return false;
        }
    }
}

/// Most tags are others, and seen to be at once.
fn is_other_tag(rest: &[u8]) -> bool {
    let first = rest.strip_prefix(b"/").unwrap_or(rest).first();
    first.is_none_or(|b| b.is_ascii_alphanumeric() && !matches!(b, b'm' | b'M' | b'r' | b'R'))
}

/// Whether a reader would take what comes next for our name. What nobody sees, spaces, and marks above, below or
/// through letters do not count.
fn reads_as_name(text: &str) -> bool {
    let mut wanted = READS;
    for c in text.chars() {
        let reading = lookalikes::reading(c);
        if let Some(rest) = reading.and_then(|reading| wanted.strip_prefix(reading)) {
            if rest.is_empty() {
                return true;
            }
            wanted = rest;
            continue;
        }
        let read = &READS[..READS.len() - wanted.len()];
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
