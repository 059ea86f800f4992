//! Owns cutting a text that is too long for a model.

use unicode_segmentation::GraphemeCursor;

/// How many characters earlier a cut may be, so that no grapheme cluster is split.
const MAX_CLUSTER: usize = 64;

/// Returns a text of at most `limit` characters unchanged, and otherwise its beginning and a notice. `keep` gets the
/// full text and may return where it can be found.
pub(super) fn cut(text: String, limit: usize, keep: impl FnOnce(&str) -> Option<String>) -> String {
    // A character has at least one byte.
    if text.len() <= limit {
        return text;
    }
    let Some((at, _)) = text.char_indices().nth(limit) else {
        return text;
    };
    let total = limit + text[at..].chars().count();
    let (at, kept) = cluster_boundary(&text, at, limit);
    let place = keep(&text).map_or(String::new(), |path| format!("; the whole is in {path}"));
    let mut text = text;
    text.truncate(at);
    text += &format!("\n… (output truncated at {kept} chars, {total} total{place})");
    text
}

/// The last position up to `at` that splits no grapheme cluster, and the number of characters before it.
fn cluster_boundary(text: &str, at: usize, chars: usize) -> (usize, usize) {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if let Ok(true) = cursor.is_boundary(text, 0) {
        return (at, chars);
    }
    let Ok(Some(start)) = cursor.prev_boundary(text, 0) else { return (at, chars) };
    match text[start..at].chars().take(MAX_CLUSTER + 1).count() {
        // An overlong cluster is cut anywhere.
        torn if torn > MAX_CLUSTER || torn == chars => (at, chars),
        torn => (start, chars - torn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_plainly(text: &str, limit: usize) -> String {
        cut(text.to_owned(), limit, |_| None)
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(cut_plainly("abc", 3), "abc");
        // Characters are counted, not bytes.
        assert_eq!(cut_plainly("äöü", 3), "äöü");
    }

    #[test]
    fn what_does_not_fit_ends_with_the_numbers() {
        assert_eq!(cut_plainly("abcdef", 4), "abcd\n… (output truncated at 4 chars, 6 total)");
        assert_eq!(cut_plainly("äöüß", 3), "äöü\n… (output truncated at 3 chars, 4 total)");
    }

    #[test]
    fn nothing_is_torn_from_its_marks() {
        let accent = cut_plainly("abe\u{301}f", 3);
        assert!(accent.starts_with("ab\n… (output truncated at 2 chars, 5 total"), "{accent}");
        let family = cut_plainly("a👩\u{200d}👩\u{200d}👧b", 3);
        assert!(family.starts_with("a\n…"), "{family}");
        let flags = cut_plainly("🇩🇪🇫🇷", 3);
        assert!(flags.starts_with("🇩🇪\n…"), "{flags}");
    }

    #[test]
    fn an_endless_character_is_cut_all_the_same() {
        let heap = format!("e{}", "\u{301}".repeat(1000));
        let cut = cut_plainly(&heap, 500);
        assert!(cut.ends_with("(output truncated at 500 chars, 1001 total)"), "{cut}");
        assert!(cut_plainly(&"\u{301}".repeat(50), 20).ends_with("at 20 chars, 50 total)"));
    }

    #[test]
    fn the_notice_names_where_the_whole_is() {
        let cut = cut("abcdef".into(), 2, |whole| Some(format!("/{whole}")));
        assert_eq!(cut, "ab\n… (output truncated at 2 chars, 6 total; the whole is in /abcdef)");
    }
}
