//! Tells what follows a role marker: an order to the reader, a sentence, or the value of a record (`System: Linux 6.1`).
//! A marker with an order is an attack. One with a sentence is one too, because nobody but a system speaks that way. A
//! value, a log line or a key is not.

mod words;

use words::{
    CLEAR_VERBS, FUNCTION_WORDS, LEAD_INS, MODELS, NOUN_LIKE_VERBS, OBJECT_WORDS, OPENINGS,
    PRIVATE, REPORTS, STATES, TOPICS, YOU_ARE, YOU_HAVE, YOU_MUST, YOU_WILL,
};

/// How much of a body is read, in characters.
const MAX_BODY: usize = 200;
/// A shorter text is a value or a short report.
const LEAST_WORDS: usize = 6;
/// The same for scripts without spaces, in characters.
const LEAST_CHARACTERS: usize = 10;
/// How many words may stand before the verb.
const MAX_LEAD_IN: usize = 5;

/// What a body is to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Order,
    Sentence,
    Record,
}

/// The first line of the text after a marker, in lower case.
pub(super) struct Body<'a>(&'a str);

impl<'a> Body<'a> {
    /// The line after a marker; if that is empty, the next one.
    pub(super) fn after(text: &'a str) -> Body<'a> {
        let text = text.trim_start_matches(|c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    '*' | ':' | '"' | '-' | '>' | '|' | '=' | '~' | '`' | '_' | '\'' | '“'
                )
        });
        let end = text.char_indices().nth(MAX_BODY).map_or(text.len(), |(end, _)| end);
        Body(text[..end].split('\n').next().unwrap_or_default())
    }

    /// The text of an element, up to its first child or its end.
    pub(super) fn of_element(text: &'a str) -> Body<'a> {
        let Body(line) = Body::after(text);
        Body(line.split('<').next().unwrap_or_default())
    }

    pub(super) fn reading(&self) -> Reading {
        if self.is_measure() || self.is_courtesy() {
            Reading::Record
        } else if self.is_order() {
            Reading::Order
        } else if self.is_sentence() || self.names_what_only_models_are_told() {
            Reading::Sentence
        } else {
            Reading::Record
        }
    }

    fn words(&self) -> impl Iterator<Item = &'a str> + Clone {
        self.0.split_whitespace().map(|word| {
            word.trim_matches(|c: char| {
                !c.is_alphanumeric() && !matches!(c, '/' | '~' | '.' | '=' | ':')
            })
            .trim_end_matches(['.', ','])
        })
    }

    /// Whether it tells its reader to do something.
    pub(super) fn is_order(&self) -> bool {
        if OPENINGS.open(self.0) {
            return true;
        }
        let mut words = self.words().filter(|word| !word.is_empty()).peekable();
        for _ in 0..MAX_LEAD_IN {
            let Some(word) = words.peek().map(|word| word.trim_end_matches(':')) else { break };
            // `Claude, …` speaks to a model.
            if MODELS.contains(word) {
                return words.nth(1).is_some();
            }
            if !LEAD_INS.contains(word) {
                break;
            }
            words.next();
        }
        let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
        let third = words.next().unwrap_or_default();
        match first {
            "do" | "don't" | "dont" | "never" | "always" => !STATES.contains(second),
            "you" if YOU_MUST.contains(second) => true,
            "you" => match second {
                "are" => YOU_ARE.contains(third),
                "will" | "can" | "may" => YOU_WILL.contains(third) || is_verb(third),
                "have" => YOU_HAVE.contains(third),
                _ => is_verb(second),
            },
            _ if CLEAR_VERBS.contains(first) => !STATES.contains(second),
            _ if NOUN_LIKE_VERBS.contains(first) => {
                OBJECT_WORDS.contains(second) || is_name_of_thing(second)
            }
            _ => false,
        }
    }

    /// `You must …`, and not the `You are a …` with which prompts in documents begin.
    pub(super) fn commands_its_reader(&self) -> bool {
        let mut words = self.words().filter(|word| !word.is_empty());
        let mut first = words.next();
        while first.is_some_and(|word| LEAD_INS.contains(word.trim_end_matches(':'))) {
            first = words.next();
        }
        first == Some("you") && words.next().is_some_and(|second| YOU_MUST.contains(second))
    }

    /// Whether it is nothing but one verb.
    pub(super) fn is_one_verb(&self) -> bool {
        let mut words = self.words();
        words.next().is_some_and(|word| CLEAR_VERBS.contains(word)) && words.next().is_none()
    }

    pub(super) fn names_what_is_private(&self) -> bool {
        PRIVATE.are_in(self.0)
    }

    /// `Delete operations per second: 5`.
    fn is_measure(&self) -> bool {
        let Some((name, value)) = self.0.trim_end().rsplit_once(": ") else { return false };
        let is_value = value.starts_with(|c: char| c.is_ascii_digit()) && !value.contains(' ');
        let is_name = |word: &str| !OBJECT_WORDS.contains(word) && !is_name_of_thing(word);
        is_value && Body(name).words().all(is_name)
    }

    /// `Please wait while we process your order.`, and nothing more.
    fn is_courtesy(&self) -> bool {
        let Some(rest) = self.0.strip_prefix("please wait") else { return false };
        let rest = rest.trim_end().trim_end_matches(['.', '…', '!']);
        let goes_on = rest.contains(['.', ',', ';', ':', '!', '?', '-', '–', '—', '…', '('])
            || Body(rest)
                .words()
                .any(|word| matches!(word, "and" | "then" | "you" | "or" | "after"));
        !goes_on && !TOPICS.are_in(rest)
    }

    pub(super) fn speaks_to_its_reader(&self) -> bool {
        self.words().any(|word| matches!(word, "you" | "your")) || TOPICS.are_in(self.0)
    }

    fn names_what_only_models_are_told(&self) -> bool {
        TOPICS.are_in(self.0) && self.words().nth(2).is_some()
    }

    /// Whether it is a sentence rather than a value, a report or a definition.
    fn is_sentence(&self) -> bool {
        if self.0.chars().any(|c| c.is_ascii_digit() || matches!(c, '=' | '{' | '}' | ';')) {
            return false;
        }
        let wide = self.0.chars().filter(|c| is_wide(*c)).count();
        if wide > 0 {
            return wide >= LEAST_CHARACTERS;
        }
        let mut words = self.words();
        let is_report = |first: &str| first.ends_with("ed") || first.ends_with("ing");
        let is_definition = |first: &str| matches!(first, "a" | "an") || first.ends_with(':');
        if words.clone().next().is_none_or(|first| is_report(first) || is_definition(first)) {
            return false;
        }
        let is_long = words.clone().nth(LEAST_WORDS - 1).is_some();
        let is_told = REPORTS.are_in(self.0);
        is_long && !is_told && words.any(|word| FUNCTION_WORDS.contains(word) || !word.is_ascii())
    }
}

fn is_verb(word: &str) -> bool {
    CLEAR_VERBS.contains(word) || NOUN_LIKE_VERBS.contains(word)
}

/// A path, an address, or the name of a tool or file.
fn is_name_of_thing(word: &str) -> bool {
    let inner = word.trim_matches(['.', ':']);
    inner.contains(['/', '_', '~', '@']) || inner.contains('.') && !inner.ends_with('.')
}

/// Of a script that is written without spaces.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}
