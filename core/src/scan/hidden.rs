//! Owns characters that nobody sees: which they are, taking them out, and telling where they hide something.

use std::borrow::Cow;
use std::cell::LazyCell;

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

use super::beginnings::Beginnings;
use crate::fork::Computed;

/// So many of them in a row carry a message.
const RUN: usize = 4;

/// Whether a character is made not to be seen: Unicode's own property for that.
pub(crate) fn is_invisible(c: char) -> bool {
    const IGNORABLE: CodePointSetDataBorrowed<'static> =
        CodePointSetData::new::<DefaultIgnorableCodePoint>();
    !c.is_ascii() && IGNORABLE.contains(c)
}

/// Whether nothing of it stands on the line by itself: what is made not to be seen, spaces, controls, marks upon other
/// characters, and code points that are no characters.
pub(crate) fn is_unseen(c: char) -> bool {
    const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> =
        CodePointMapData::<GeneralCategory>::new();
    const UNSEEN: GeneralCategoryGroup = GeneralCategoryGroup::Mark
        .union(GeneralCategoryGroup::Separator)
        .union(GeneralCategoryGroup::Other);
    const BLANK_PATTERN: char = '\u{2800}';
    c == BLANK_PATTERN || UNSEEN.contains(CATEGORIES.get(c)) || is_invisible(c)
}

/// The text without what is at these places.
pub(super) fn removed<'a>(text: &'a str, places: &[usize]) -> Cow<'a, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for &at in places {
        out += &text[done..at];
        done = at + width(text, at);
    }
    out += &text[done..];
    out.into()
}

/// Where something is hidden: the place of the first character that has no business where it stands.
pub(super) fn suspicious(text: &str, places: &[usize]) -> Option<usize> {
    let mut run = (0, 0);
    let right_to_left = LazyCell::new(|| has_right_to_left(text));
    for (nth, &at) in places.iter().enumerate() {
        let c = text[at..].chars().next()?;
        let follows = nth > 0 && places[nth - 1] + width(text, places[nth - 1]) == at;
        run = if follows { (run.0, run.1 + 1) } else { (at, 1) };
        let odd = match c {
            '\u{202d}' | '\u{202e}' => true,
            '\u{202b}' => !*right_to_left,
            '\u{e0000}'..='\u{e007f}' => !is_flag(text, at),
            c if has_business_in_words(c) => false,
            _ => is_mid_word(text, at),
        };
        if odd || (run.1 >= RUN && !is_flag(text, at)) {
            return Some(run.0);
        }
    }
    None
}

/// The characters of `text`, those that nobody sees made visible; a message in tag characters is read out.
pub(super) fn visible(text: &str) -> String {
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

/// Every invisible character's place.
pub(super) fn places(text: &str) -> Vec<usize> {
    static IGNORABLE: Computed<Beginnings> = Computed::new(|| {
        let all = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        Beginnings::of(all.iter_ranges().flatten().filter_map(char::from_u32))
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

/// Whether Latin words may have it too: where a word can be parted, how letters are sorted, which direction or which form
/// is meant.
fn has_business_in_words(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202c}'
            | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Whether it stands between Latin letters or digits, where no script needs it.
fn is_mid_word(text: &str, at: usize) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    is_of_word(text[..at].chars().rev().find(|&c| !is_invisible(c)))
        && is_of_word(text[at..].chars().find(|&c| !is_invisible(c)))
}

/// Whether tag characters belong to the flag of a region: a black flag, letters, and the mark of their end.
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
            assert_eq!(suspicious(text, &places(text)), None, "{text:?}");
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
            assert_eq!(suspicious(text, &places(text)), Some(at), "{text:?}");
        }
    }

    #[test]
    fn they_can_be_taken_out_and_shown() {
        let text = "ig\u{200b}no\u{ad}re\u{fff0}";
        assert_eq!(removed(text, &places(text)), "ignore");
        assert!(places("日本語、中文，ﾃﾞ한국어").is_empty());
        assert_eq!(visible("a\u{200b}b\u{e0068}\u{e0069}"), "a<U+200B>bhi");
    }
}
