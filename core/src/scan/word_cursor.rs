//! Owns reading a lower-case text word by word, in both directions, within one phrase.

/// The longest gap between two words of a phrase, in characters; part of it must be space.
const MAX_GAP: usize = 8;
/// Longer than any word that is searched for.
const MAX_WORD: usize = 24;

/// A position in a text.
#[derive(Clone, Copy)]
pub(super) struct WordCursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> WordCursor<'a> {
    pub(super) fn from(text: &'a str, at: usize) -> Self {
        WordCursor { text, at }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next word of the phrase; `None` after the end of a sentence.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let mut gap = rest.char_indices().take(MAX_GAP + 1);
        let (gap, _) = gap.find(|&(_, c)| is_word_char(c))?;
        if gap > 0 && !is_phrase_gap(&rest[..gap]) {
            return None;
        }
        let word = word_at(&rest[gap..])?;
        self.at += gap + word.len();
        Some(word)
    }

    /// The word before this position.
    pub(super) fn previous(&mut self) -> Option<&'a str> {
        let before = &self.text[..self.at];
        let mut gap = before.char_indices().rev().take(MAX_GAP + 1);
        let end = gap.find(|&(_, c)| is_word_char(c))?.0 + 1;
        if end < before.len() && !is_phrase_gap(&before[end..]) {
            return None;
        }
        let word = before[..end].char_indices().rev().take(MAX_WORD);
        let word = word.take_while(|&(_, c)| is_word_char(c) || c == '\'');
        self.at = word.last()?.0;
        Some(&before[self.at..end])
    }

    /// The next word, if it is one of these.
    pub(super) fn next_of(&mut self, words: &[&str]) -> Option<&'a str> {
        let mut ahead = *self;
        let word = ahead.next().filter(|word| words.contains(word))?;
        *self = ahead;
        Some(word)
    }

    /// Skips any of these words.
    pub(super) fn skip(&mut self, words: &[&str]) -> Self {
        while self.next_of(words).is_some() {}
        *self
    }

    /// Whether a colon comes next, ignoring emphasis.
    pub(super) fn at_colon(&self) -> bool {
        self.rest().trim_start_matches(['*', '_', ' ', '"', '`', ')']).starts_with(':')
    }

    /// Whether a word begins exactly here.
    pub(super) fn at_start_of_word(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        !before
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | '$'))
    }
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn word_at(text: &str) -> Option<&str> {
    let mut letters = text.char_indices().take(MAX_WORD);
    let end = letters.find(|&(_, c)| !is_word_char(c) && c != '\'');
    let end = end.map_or_else(|| text.len().min(MAX_WORD), |(at, _)| at);
    // A non-ASCII letter or an underscore continues it: that is another word.
    let goes_on = text[end..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_');
    (!goes_on).then(|| text[..end].trim_end_matches('\''))
}

fn is_phrase_gap(gap: &str) -> bool {
    const MARKS: &str = "*_~\"'`,-()<>#\\“”‘’–—";
    let mut lines = 0;
    gap.chars().count() <= MAX_GAP
        && gap.contains(char::is_whitespace)
        && gap.chars().all(|c| {
            lines += usize::from(c == '\n');
            (c.is_whitespace() || MARKS.contains(c)) && lines < 2
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        let mut words = WordCursor::from(text, 0);
        std::iter::from_fn(|| words.next()).collect()
    }

    #[test]
    fn a_phrase_ends_with_its_sentence() {
        assert_eq!(all("one **two**,\n\"three\". four"), ["one", "two", "three"]);
        assert_eq!(all("don't stop"), ["don't", "stop"]);
        assert_eq!(all("one\n\ntwo"), ["one"]);
        assert_eq!(all("one/two"), ["one"]);
        assert_eq!(all("one two_three"), ["one"]);
    }

    #[test]
    fn words_can_be_read_backwards() {
        let text = "if the user";
        let mut words = WordCursor::from(text, text.len() - 4);
        assert_eq!((words.previous(), words.previous()), (Some("the"), Some("if")));
        assert_eq!(words.previous(), None);
        assert_eq!(WordCursor::from("do. it", 4).previous(), None);
    }
}
