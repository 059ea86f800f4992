//! Owns the word "system" at the start of a line in letters that only look like its own: `Sуstem` with a Cyrillic letter,
//! `Ｓｙｓｔｅｍ`.
//! Invariant: a text in ASCII costs nothing, any other a few letters per line.

use std::ops::Range;

use memchr::memchr_iter;

use super::super::SignalKind;
use super::super::wrapper_tag::lookalikes::{SYSTEM_READING, reading};
use super::{MAX_DECORATION, bracketed, system_role};

/// How much of a line is read, in characters: a marker, and what a body may have.
const MAX_LINE: usize = 300;

/// The lines that begin with such a word and give an order.
pub(in crate::scan) fn disguised(text: &str) -> impl Iterator<Item = (SignalKind, Range<usize>)> {
    let breaks = if text.is_ascii() { "" } else { text };
    let after_breaks = memchr_iter(b'\n', breaks.as_bytes()).map(|at| at + 1);
    let starts = (!breaks.is_empty()).then_some(0).into_iter().chain(after_breaks);
    starts.filter_map(|start| {
        let line = &text[start..];
        let mut marks = line.char_indices().take(MAX_DECORATION + 1);
        let (at, _) = marks.find(|(_, c)| c.is_alphanumeric() || *c == '\n')?;
        let word = &line[at..];
        let rest = &word[disguised_word(word)?..];
        let mut undisguised: String = line[..at].chars().map(narrow).collect();
        let marker = undisguised.len();
        undisguised += "system";
        undisguised.extend(rest.chars().take(MAX_LINE).map(narrow));
        let (kind, _) = match undisguised[..marker].strip_suffix('[') {
            Some(before) => bracketed(&undisguised, before.len())?,
            None => system_role(&undisguised, marker)?,
        };
        Some((kind, start + at..text.len() - rest.len()))
    })
}

/// The length of the word that begins here, if it reads as "system" and is not.
fn disguised_word(text: &str) -> Option<usize> {
    let mut wanted = SYSTEM_READING;
    for (at, c) in text.char_indices() {
        if wanted.is_empty() {
            let is_whole = !c.is_alphanumeric() && !text[..at].is_ascii();
            return is_whole.then_some(at);
        }
        if is_accented(c) {
            return None;
        }
        wanted = wanted.strip_prefix(reading(c)?)?;
    }
    None
}

/// A letter of its own: `Systém` is a Czech word.
fn is_accented(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// The ASCII character of a fullwidth form, in lower case.
fn narrow(c: char) -> char {
    const OFFSET: u32 = 0xfee0;
    match c {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(c as u32 - OFFSET).unwrap_or(c).to_ascii_lowercase()
        }
        '\u{3000}' => ' ',
        c => c,
    }
}
