//! Phrases that give a model new instructions.

use super::super::SignalKind;
use super::super::word_cursor::WordCursor;

/// "New instructions: …", "your new instructions are …".
pub(super) fn new_instructions(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut before = WordCursor::from(text, at);
    if !matches!(before.previous()?, "new" | "real" | "actual" | "true") {
        return None;
    }
    let addressed = match before.previous() {
        None => true,
        Some(word) => matches!(word, "your" | "my" | "are" | "important" | "with" | "follow"),
    };
    let mut after = WordCursor::from(text, at);
    after.next()?;
    let told = after.at_colon()
        || (before.text[before.at..].starts_with("your") && after.next_of(&["are"]).is_some());
    (addressed && told).then_some((SignalKind::NewInstructions, after.at))
}

/// "Your new task is to …".
pub(super) fn new_task(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut words = WordCursor::from(text, at);
    words.skip(&["your", "new"]);
    words.next_of(&["task", "goal", "objective", "mission", "directive", "identity"])?;
    let told =
        words.at_colon() || (words.next_of(&["is"]).is_some() && words.next_of(&["to"]).is_some());
    told.then_some((SignalKind::NewInstructions, words.at))
}

/// "From now on you must …".
pub(super) fn from_now_on(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut words = WordCursor::from(text, at);
    words.skip(&["from", "now", "on"]);
    words.next_of(&["you"])?;
    words.next_of(&["must", "will", "shall", "should", "are"])?;
    words.next_of(&[
        "only", "never", "always", "ignore", "respond", "reply", "answer", "act", "obey", "follow",
        "refuse", "output", "speak", "pretend", "behave", "a", "an", "in", "not", "to",
    ])?;
    Some((SignalKind::NewInstructions, words.at))
}

/// "Do not mention this to the user", "don't tell the user about this".
pub(super) fn concealment(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut words = WordCursor::from(text, at);
    words.skip(&["not", "never", "n't", "t"]);
    if words.next_of(&["mention"]).is_some() {
        words.skip(&[
            "this", "it", "that", "any", "anything", "of", "these", "steps", "step", "about",
        ]);
        words.next_of(&["to"])?;
        words.skip(&["the"]);
        words.next_of(&["user"])?;
        return Some((SignalKind::NewInstructions, words.at));
    }
    words.skip(&["tell", "the", "user"]);
    words.next_of(&["about", "that", "anything", "what"])?;
    words.next_of(&["this", "these", "you", "you're", "about"])?;
    Some((SignalKind::NewInstructions, words.at))
}
