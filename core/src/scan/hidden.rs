//! Owns invisible characters: which they are, removing them, and detecting suspicious ones.

use std::borrow::Cow;
use std::cell::LazyCell;

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

use super::leading_bytes::LeadingBytes;
use crate::fork::Computed;

/// This many in a row carry a message.
const MESSAGE_RUN: usize = 4;

/// Whether a character is invisible by design: Unicode's Default_Ignorable_Code_Point.
pub(crate) fn is_invisible(c: char) -> bool {
    const IGNORABLE: CodePointSetDataBorrowed<'static> =
        CodePointSetData::new::<DefaultIgnorableCodePoint>();
    !c.is_ascii() && IGNORABLE.contains(c)
}

/// Whether a character shows nothing by itself: invisible characters, spaces, controls, combining marks, and code
/// points that are not characters.
pub(crate) fn is_unseen(c: char) -> bool {
    const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> =
        CodePointMapData::<GeneralCategory>::new();
    const UNSEEN: GeneralCategoryGroup = GeneralCategoryGroup::Mark
        .union(GeneralCategoryGroup::Separator)
        .union(GeneralCategoryGroup::Other);
    const BLANK_PATTERN: char = '\u{2800}';
    c == BLANK_PATTERN || UNSEEN.contains(CATEGORIES.get(c)) || is_invisible(c)
}

/// The text without the characters at these positions.
pub(super) fn remove_at<'a>(text: &'a str, positions: &[usize]) -> Cow<'a, str> {
    if positions.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for &at in positions {
        out += &text[done..at];
        done = at + width(text, at);
    }
    out += &text[done..];
    out.into()
}

/// The position of the first invisible character that has no legitimate use there.
pub(super) fn first_suspicious(text: &str, positions: &[usize]) -> Option<usize> {
    let mut run = (0, 0);
    let right_to_left = LazyCell::new(|| has_right_to_left(text));
    for (nth, &at) in positions.iter().enumerate() {
        let c = text[at..].chars().next()?;
        let follows = nth > 0 && positions[nth - 1] + width(text, positions[nth - 1]) == at;
        run = if follows { (run.0, run.1 + 1) } else { (at, 1) };
        let odd = match c {
            '\u{202d}' | '\u{202e}' => true,
            '\u{202b}' => !*right_to_left,
            '\u{e0000}'..='\u{e007f}' => !is_flag(text, at),
            c if has_business_in_words(c) => false,
            _ => is_mid_word(text, at),
        };
        if odd || (run.1 >= MESSAGE_RUN && !is_flag(text, at)) {
            return Some(run.0);
        }
    }
    None
}

/// The text with invisible characters escaped; a message in tag characters is decoded.
pub(super) fn make_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{e0020}'..='\u{e007e}' => out.push(char::from((c as u32 - 0xe0000) as u8)),
            c if is_invisible(c) => out += &format!("<U+{:04X}>", c as u32),
            c => out.push(c),
        }
    }
    out
}

/// The positions of all invisible characters.
pub(super) fn positions(text: &str) -> Vec<usize> {
    static IGNORABLE: Computed<LeadingBytes> = Computed::new(|| {
        let all = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        LeadingBytes::new(all.iter_ranges().flatten().filter_map(char::from_u32))
    });
    if text.is_ascii() {
        return Vec::new();
    }
    let is_hidden = |at: &usize| text[*at..].chars().next().is_some_and(is_invisible);
    IGNORABLE.find(text).filter(is_hidden).collect()
}

fn width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// Whether Latin words may contain it: soft hyphens, joiners for sorting, direction marks and variation selectors.
fn has_business_in_words(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202c}'
            | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Whether it is between Latin letters or digits, where no script needs it.
fn is_mid_word(text: &str, at: usize) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    is_of_word(text[..at].chars().rev().find(|&c| !is_invisible(c)))
        && is_of_word(text[at..].chars().find(|&c| !is_invisible(c)))
}

/// Whether tag characters form a regional flag: a black flag, letters, and the end tag.
fn is_flag(text: &str, at: usize) -> bool {
    const LONGEST: usize = 8;
    let is_tag = |c: &char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let before = text[..at].chars().rev().take(LONGEST).find(|c| !is_tag(c));
    let mut after = text[at..].chars().take(LONGEST).skip_while(is_tag);
    before == Some('🏴') && after.next() == Some('\u{e007f}')
}

fn has_right_to_left(text: &str) -> bool {
    let is_letter =
        |c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    text.chars().any(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_and_emoji_need_is_not_suspicious() {
        for text in [
            "plain",
            "\u{feff}a file with its mark",
            "👩\u{200d}👩\u{200d}👧 family, 🏳\u{fe0f}\u{200d}🌈 rainbow",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} England",
            "می\u{200c}خواهم and क्\u{200d}ष",
            "\u{202b}שלום\u{202c}",
            "java.\u{200b}lang.\u{200b}Object",
            "a hy\u{ad}phen that may be needed",
            "\u{2068}name\u{2069} joined",
            "葛\u{e0100}城市",
        ] {
            assert_eq!(first_suspicious(text, &positions(text)), None, "{text:?}");
        }
    }

    #[test]
    fn what_hides_is() {
        for (text, at) in [
            ("ig\u{200b}nore", 2),
            ("a\u{e0069}\u{e0067}", 1),
            ("🏴 \u{e0067}\u{e007f}", 5),
            ("x \u{202e}txt.exe", 2),
            ("pa\u{2060}ss", 2),
            ("so\u{fe00}\u{fe01}\u{fe02}\u{fe03}", 2),
            ("é \u{200b}\u{200c}\u{200b}\u{200c} ", 3),
        ] {
            assert_eq!(first_suspicious(text, &positions(text)), Some(at), "{text:?}");
        }
    }

    #[test]
    fn they_can_be_taken_out_and_shown() {
        let text = "ig\u{200b}no\u{ad}re\u{fff0}";
        assert_eq!(remove_at(text, &positions(text)), "ignore");
        assert!(positions("日本語、中文，ﾃﾞ한국어").is_empty());
        assert_eq!(make_visible("a\u{200b}b\u{e0068}\u{e0069}"), "a<U+200B>bhi");
    }
}
