//! Owns terminal specifics: colour, width, and removal of control sequences.

use std::fmt::Display;
use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(super) use super::console::columns;
use super::console::{Console, understands_colour};

/// A text style; the number is its ANSI code.
#[derive(Clone, Copy)]
pub(super) enum Tint {
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Cyan = 36,
}

/// Whether text is coloured.
#[derive(Clone, Copy)]
pub(super) enum Paint {
    On,
    Off,
}

impl Paint {
    pub(super) fn for_stream(stream: &(impl IsTerminal + Console)) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let wanted = stream.is_terminal() && !refused && !is_dumb();
        if wanted && understands_colour(stream) { Paint::On } else { Paint::Off }
    }

    pub(super) fn paint(self, tint: Tint, text: impl Display) -> String {
        match (self, tint) {
            (Paint::Off, _) | (_, Tint::Plain) => text.to_string(),
            (Paint::On, tint) => format!("\x1b[{}m{text}\x1b[0m", tint as u8),
        }
    }
}

pub(super) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Replaces what would control a terminal or hide from its reader: control characters, except line ends and tabs,
/// changes of direction, other line ends, and characters that are invisible in every language.
pub(super) fn tame(text: &str) -> String {
    let steers = |c: char| {
        let is_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let is_hidden =
            matches!(c, '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        c.is_control() || is_direction || is_hidden || matches!(c, '\u{2028}' | '\u{2029}')
    };
    text.chars()
        .filter(|&c| c != '\r')
        .map(|c| if steers(c) && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// The number of terminal columns that the text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Shortens text to `room` columns; an ellipsis marks the cut.
pub(super) fn cut(text: &mut String, room: usize) {
    if width(text) <= room {
        return;
    }
    let mut taken = 0;
    let fits = |(_, c): &(usize, char)| {
        taken += c.width().unwrap_or(0);
        taken < room
    };
    let end = text.char_indices().take_while(fits).last().map_or(0, |(at, c)| at + c.len_utf8());
    text.truncate(end);
    text.truncate(text.trim_end().len());
    text.push('…');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_cannot_steer_the_terminal() {
        assert_eq!(tame("a\tb\r\nc"), "a\tb\nc");
        assert_eq!(
            tame("\u{1b}]0;x\u{7}\u{9b}2J\u{202e}"),
            "\u{fffd}]0;x\u{fffd}\u{fffd}2J\u{fffd}"
        );
    }

    #[test]
    fn text_from_elsewhere_cannot_hide_from_the_reader() {
        assert_eq!(
            tame("a\u{e0061}\u{2060}\u{feff}b\u{2028}"),
            "a\u{fffd}\u{fffd}\u{fffd}b\u{fffd}"
        );
        // Joiners and variation selectors belong to words and emoji.
        assert_eq!(tame("\u{2764}\u{fe0f}\u{200d}\u{1f525}"), "\u{2764}\u{fe0f}\u{200d}\u{1f525}");
    }

    #[test]
    fn text_is_cut_by_columns_not_by_characters() {
        let cut = |text: &str, room| {
            let mut text = text.to_owned();
            cut(&mut text, room);
            text
        };
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 0), "…");
    }
}
