//! Owns the turns that programs write for models without any brackets: `### Instruction:`, `Human:`, a message of a chat
//! in JSON, and an element that calls itself important.
//! They also stand in documents and transcripts, so only an order to the reader counts.

use super::super::SignalKind;
use super::body::Body;

/// `### Instruction:`, and an order below it.
pub(in crate::scan) fn instruction_heading(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    const HEADING: &str = "### instruction:";
    let starts_line = text[..at].is_empty() || text[..at].ends_with('\n');
    let body = &text[at + HEADING.len()..];
    (starts_line && Body::after(body).commands_its_reader())
        .then_some((SignalKind::ChatTemplate, at + HEADING.len()))
}

/// `Human: you must …` after an empty line, or at the start.
pub(in crate::scan) fn human_turn(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    const TURN: &str = "human:";
    let before = text[..at].trim_end_matches([' ', '\t']);
    let above = before.strip_suffix('\n').map(|before| before.trim_end_matches([' ', '\t']));
    let stands_alone =
        before.is_empty() || above.is_some_and(|above| above.is_empty() || above.ends_with('\n'));
    (stands_alone && Body::after(&text[at + TURN.len()..]).commands_its_reader())
        .then_some((SignalKind::ChatTemplate, at + TURN.len()))
}

/// `{"role":"system","content":"You must …"}`, where `at` is that of the role. Documents show such messages too, but in
/// lists and indented.
pub(super) fn message(text: &str, at: usize, length: usize) -> Option<(SignalKind, usize)> {
    let opener = text[..at].strip_suffix('"')?.trim_end_matches(' ').strip_suffix(':')?;
    let before = opener.trim_end_matches(' ').strip_suffix("\"role\"")?;
    let before = before.trim_end_matches(' ').strip_suffix('{')?;
    let rest = text[at + length..].strip_prefix('"')?.trim_start_matches(' ').strip_prefix(',')?;
    let rest = rest.trim_start_matches(' ').strip_prefix("\"content\"")?;
    let body = rest.trim_start_matches(' ').strip_prefix(':')?;
    let starts_line = before.is_empty() || before.ends_with('\n');
    (starts_line && Body::after(body).commands_its_reader())
        .then_some((SignalKind::FakeSystemRole, text.len() - body.len()))
}

/// `<IMPORTANT>`, and an order about what is private. Documents stress their advice the same way.
pub(in crate::scan) fn important_element(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    const TAG: &str = "<important>";
    let body = Body::of_element(&text[at + TAG.len()..]);
    (body.is_order() && body.names_what_is_private())
        .then_some((SignalKind::NewInstructions, at + TAG.len()))
}
