//! Owns reading a lower-case text word by word, in both directions, as far as one phrase goes.

/// What may stand between two words of one phrase, so many characters at most; some of it must be space.
const GAP: usize = 8;
/// No word that is looked for is as long.
const LONGEST: usize = 24;

/// A place in a text.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn from(text: &'a str, at: usize) -> Self {
        Words { text, at }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next word of the phrase. After the end of a sentence there is none.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let mut gap = rest.char_indices().take(GAP + 1);
        let (gap, _) = gap.find(|&(_, c)| is_of_word(c))?;
        if gap > 0 && !joins(&rest[..gap]) {
            return None;
        }
        let word = word_at(&rest[gap..])?;
        self.at += gap + word.len();
        Some(word)
    }

    /// The word before this place.
    pub(super) fn previous(&mut self) -> Option<&'a str> {
        let before = &self.text[..self.at];
        let mut gap = before.char_indices().rev().take(GAP + 1);
        let end = gap.find(|&(_, c)| is_of_word(c))?.0 + 1;
        if end < before.len() && !joins(&before[end..]) {
            return None;
        }
        let word = before[..end].char_indices().rev().take(LONGEST);
        let word = word.take_while(|&(_, c)| is_of_word(c) || c == '\'');
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

    /// Passes over any of these words.
    pub(super) fn skip(&mut self, words: &[&str]) -> Self {
        while self.next_of(words).is_some() {}
        *self
    }

    /// Whether a colon comes next, emphasis aside.
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

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn word_at(text: &str) -> Option<&str> {
    let mut letters = text.char_indices().take(LONGEST);
    let end = letters.find(|&(_, c)| !is_of_word(c) && c != '\'');
    let end = end.map_or_else(|| text.len().min(LONGEST), |(at, _)| at);
    // A letter that is not ours, or an underscore, goes on with it: that is another word.
    let goes_on = text[end..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_');
    (!goes_on).then(|| text[..end].trim_end_matches('\''))
}

fn joins(gap: &str) -> bool {
    const MARKS: &str = "*_~\"'`,-()<>#\\“”‘’–—";
    let mut lines = 0;
    gap.chars().count() <= GAP
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
        let mut words = Words::from(text, 0);
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
        let mut words = Words::from(text, text.len() - 4);
        assert_eq!((words.previous(), words.previous()), (Some("the"), Some("if")));
        assert_eq!(words.previous(), None);
        assert_eq!(Words::from("do. it", 4).previous(), None);
    }
}
