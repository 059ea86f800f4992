//! Phrases that tell a model to ignore what it was told before.

use super::super::SignalKind;
use super::super::word_cursor::WordCursor;

const FORMER: &[&str] = &[
    "previous",
    "prior",
    "above",
    "preceding",
    "earlier",
    "foregoing",
    "former",
    "initial",
    "original",
    "previously",
    "before",
];
const ORDERS: &[&str] = &[
    "instruction",
    "instructions",
    "direction",
    "directions",
    "directive",
    "directives",
    "prompt",
    "prompts",
    "rule",
    "rules",
    "guideline",
    "guidelines",
    "command",
    "commands",
    "context",
    "constraints",
    "restrictions",
    "programming",
    "training",
    "safeguards",
];
const OWN: &[&str] = &["your", "system", "developer", "developer's"];
const ALL: &[&str] = &["everything", "anything"];
const FILLERS: &[&str] = &[
    "all",
    "any",
    "of",
    "the",
    "these",
    "those",
    "this",
    "that",
    "my",
    "and",
    "or",
    "other",
    "such",
    "safety",
    "security",
    "current",
    "you",
    "were",
    "was",
    "have",
    "been",
    "i",
    "we",
    "they",
    "us",
    "me",
    "from",
    "in",
    "given",
    "told",
    "received",
    "about",
    "whatever",
    "what",
    "every",
    "completely",
    "user's",
    "hidden",
    "chat",
    "message",
    "content",
    "text",
];
const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "don't",
    "doesn't",
    "didn't",
    "won't",
    "cannot",
    "can't",
    "shouldn't",
    "wouldn't",
    "it",
    "they",
    "which",
    "that",
    "model",
    "models",
    "llm",
    "llms",
];
const MODALS: &[&str] = &["will", "would", "may", "might", "can", "could"];

/// "Ignore all previous instructions", "disregard the above".
pub(super) fn previous_orders(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut words = WordCursor::from(text, at);
    if !words.at_start_of_word() || speaks_of_others(words) {
        return None;
    }
    let verb = words.next()?;
    let kind = match verb {
        "disregard" => SignalKind::DisregardPrevious,
        "ignore" | "forget" | "override" => SignalKind::IgnorePrevious,
        _ => return None,
    };
    let (mut former, mut orders, mut own, mut all, mut told) = (false, false, false, false, false);
    let mut end = words.at;
    for _ in 0..9 {
        let Some(word) = words.next() else { break };
        former |= FORMER.contains(&word);
        orders |= ORDERS.contains(&word) && (word.ends_with('s') || stands_alone(words));
        own |= OWN.contains(&word);
        all |= ALL.contains(&word);
        told |= matches!(word, "told" | "given" | "taught");
        let known = [FORMER, ORDERS, OWN, ALL, FILLERS].iter().any(|list| list.contains(&word));
        if !known {
            break;
        }
        end = words.at;
    }
    let ends_there = WordCursor::from(text, end).next().is_none();
    let whole = (orders && (former || own || told)) || (all && (former || told));
    let bare = verb == "disregard" && former && ends_there;
    (whole || bare).then_some((kind, end))
}

/// `ignore_all_previous_instructions`: the same words, joined to one.
pub(super) fn joined_previous_orders(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    const LONGEST: usize = 64;
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let length = text.as_bytes()[at..].iter().take(LONGEST).take_while(|b| is_part(b)).count();
    let word = &text[at..at + length];
    let joins_nothing = !word.trim_end_matches(['_', '-']).contains(['_', '-']);
    if joins_nothing {
        return previous_orders(text, at);
    }
    if !WordCursor::from(text, at).at_start_of_word() {
        return None;
    }
    let words = word.replace(['_', '-'], " ");
    let (kind, _) = previous_orders(&words, 0)?;
    // `forget_system_prompt` is the name of a setting.
    let names_former = words.split(' ').any(|word| FORMER.contains(&word));
    // And so is what has a value.
    let has_value =
        text[at + length..].trim_start_matches(['"', '\'', '`', ' ']).starts_with([':', '=', '(']);
    (names_former && !has_value).then_some((kind, at + length))
}

/// "The previous context" is an instruction to forget, "the previous context menu" is not.
fn stands_alone(mut words: WordCursor<'_>) -> bool {
    const CONTINUES: &[&str] = &[
        "and",
        "or",
        "then",
        "but",
        "instead",
        "now",
        "in",
        "from",
        "to",
        "that",
        "you",
        "above",
        "below",
        "so",
        "given",
        "with",
        "for",
        "as",
        "immediately",
        "completely",
        "before",
    ];
    words.next().is_none_or(|word| CONTINUES.contains(&word))
}

/// "Never ignore …", "the model will ignore …".
fn speaks_of_others(mut words: WordCursor<'_>) -> bool {
    match words.previous() {
        Some(word) if MODALS.contains(&word) => words.previous() != Some("you"),
        Some(word) => NEGATIONS.contains(&word),
        None => false,
    }
}
