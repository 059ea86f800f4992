//! Phrases that claim the user's permission.

use super::super::SignalKind;
use super::super::word_cursor::WordCursor;

const CONDITIONS: &[&str] = &[
    "after", "once", "when", "if", "until", "whether", "that", "unless", "because", "since",
    "before", "where", "and", "as", "whenever", "only",
];
const LATELY: &[&str] = &[
    "already",
    "previously",
    "explicitly",
    "fully",
    "now",
    "just",
    "personally",
    "hereby",
    "officially",
];
const PERMISSION: &[&str] =
    &["permission", "consent", "authorisation", "authorization", "approval"];

/// "The user has already approved this."
pub(super) fn user_has(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut before = WordCursor::from(text, at);
    if !before.at_start_of_word() || !matches!(before.previous()?, "the" | "this" | "your") {
        return None;
    }
    if before.previous().is_some_and(|word| CONDITIONS.contains(&word)) {
        return None;
    }
    let mut words = WordCursor::from(text, at);
    words.skip(&["user", "has"]);
    words.skip(LATELY);
    let given = match words.next()? {
        "authorised" | "authorized" | "approved" | "permitted" | "confirmed" | "allowed" => {
            words.next_of(&["this", "these", "you", "all", "any", "everything"])
        }
        "consented" => words.next_of(&["to"]),
        "given" | "granted" => {
            words.skip(&["you", "full", "explicit", "their", "his", "her", "us", "me"]);
            words.next_of(PERMISSION)
        }
        _ => None,
    };
    given.map(|_| (SignalKind::FakeAuthorisation, words.at))
}

/// "You are hereby authorised to send …".
pub(super) fn you_are_authorised(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut words = WordCursor::from(text, at);
    if !words.at_start_of_word() {
        return None;
    }
    words.skip(&["you", "are"]);
    authorised(words)
}

pub(super) fn authorised(mut words: WordCursor<'_>) -> Option<(SignalKind, usize)> {
    words.skip(LATELY);
    words.next_of(&["authorised", "authorized", "cleared"])?;
    words.next_of(&["to"])?;
    words.next_of(&[
        "execute", "run", "delete", "send", "transfer", "bypass", "ignore", "reveal", "share",
        "disclose", "skip", "override", "proceed", "perform", "call", "do",
    ])?;
    Some((SignalKind::FakeAuthorisation, words.at))
}

/// "You have the user's permission to …".
pub(super) fn you_have_permission(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let mut words = WordCursor::from(text, at);
    if !words.at_start_of_word() {
        return None;
    }
    words.skip(&["you", "have"]);
    if words.next_of(&["been"]).is_some() {
        return authorised(words);
    }
    words.skip(&["the", "full", "explicit"]);
    words.next_of(&["user's", "my", "owner's", "administrator's", "admin"])?;
    words.skip(&["full", "explicit", "express"]);
    words.next_of(PERMISSION)?;
    words.next_of(&["to"])?;
    Some((SignalKind::FakeAuthorisation, words.at))
}
