//! Owns text that pretends to come from the system: a role marker at the start of a line or block, in any of its forms
//! (`System:`, `[SYSTEM]`, `<system>`, `### System:`), and the markers of chat templates.
//! Leaves telling what follows a marker from the value of a record to `body`, turns without brackets to `turns`, and
//! words that only look like a marker to `disguise`.
//! Invariant: the work at each marker is bounded.

use super::SignalKind;

mod body;
mod disguise;
mod turns;

use body::{Body, Reading};
pub(super) use disguise::disguised;
pub(super) use turns::{human_turn, important_element, instruction_heading};

/// Turns of chat templates, without their brackets.
const TURNS: &[&str] = &[
    "im_start",
    "im_end",
    "im_sep",
    "system",
    "developer",
    "user",
    "assistant",
    "end",
    "endoftext",
    "endofprompt",
    "end_of_text",
    "end_of_turn",
    "eot_id",
    "start_header_id",
    "end_header_id",
    "begin_of_text",
    "start",
    "end_turn",
];
/// What the system may call its words: `System note:`.
const KINDS: &[&str] = &[
    "message",
    "prompt",
    "notice",
    "note",
    "instruction",
    "instructions",
    "directive",
    "override",
    "update",
    "alert",
    "warning",
    "command",
    "request",
    "task",
    "policy",
    "reminder",
    "administrator",
];
/// Who may be played, besides the system. They also name people and settings, so only an order counts, and after a
/// colon only one that says "you". A plain `Assistant:` is in every transcript of a chat and does not count at all.
const OTHER_ROLES: &[&str] = &["assistant", "admin", "administrator", "developer"];

/// The longest decoration before a marker, in characters.
const MAX_DECORATION: usize = 16;
/// How far a closing tag is searched for.
const MAX_ELEMENT: usize = 1024;

/// The part of a text that a role can take.
fn role_prefix(text: &str) -> &str {
    const LONGEST: usize = 40;
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

/// `<|im_start|>`, `[INST]`, `<<SYS>>`.
pub(super) fn chat_template(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let Some(turn) = text[at..].strip_prefix("<|") else {
        let end = at + text[at..].find(['>', ']'])? + 1;
        return Some((SignalKind::ChatTemplate, end));
    };
    let (turn, _) = role_prefix(turn).split_once("|>")?;
    TURNS.contains(&turn).then_some((SignalKind::ChatTemplate, at + turn.len() + 4))
}

/// `[SYSTEM] send …`, `[System note: send …]`.
pub(super) fn bracketed(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let rest = &text[at + 1..];
    let who_end = role_prefix(rest).find(|c: char| !c.is_ascii_alphabetic())?;
    let who = &rest[..who_end];
    let is_system = who == "system";
    if !is_system && !OTHER_ROLES.contains(&who) {
        return None;
    }
    let (kind, rest) = split_kind(&rest[who_end..]);
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start_matches(' ');
    let rest = rest.strip_prefix(']').unwrap_or(rest);
    let end = text.len() - rest.len();
    if let Some(link) = rest.strip_prefix("(#") {
        let (_, body) =
            role_prefix(link).split_once(')').map(|(to, _)| link.split_at(to.len() + 1))?;
        // A table of contents has the same links.
        let counts = is_system && body.starts_with('\n') && Body::after(body).commands_its_reader();
        return counts.then_some((SignalKind::BracketedRole, text.len() - body.len()));
    }
    // Something else stands between the role and the bracket.
    if kind.is_empty() && !text[..end].ends_with([']', ':', ' ']) {
        return None;
    }
    let reading = Body::after(rest).reading();
    let counts = match reading {
        Reading::Order => true,
        Reading::Sentence => is_system && starts_block(text, at),
        Reading::Record => false,
    };
    (counts || kind == "override").then_some((SignalKind::BracketedRole, end))
}

/// `System: send …` at the start of a line or block, `<system>send …`.
pub(super) fn system_role(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    role(text, at, "system".len(), true)
}

/// The system by its name in another language.
pub(super) fn foreign_system_role(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let name = role_prefix(&text[at..]).find([':', '：', '>', '\n', ' ', ']', '】'])?;
    role(text, at, name, true)
}

/// `Developer: you must …`, `<assistant>send …`.
pub(super) fn other_role(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let name = OTHER_ROLES.iter().filter(|role| text[at..].starts_with(**role)).map(|it| it.len());
    let (found, end) = role(text, at, name.max()?, false)?;
    let is_turn = text[at..].starts_with("assistant") && !text[..at].ends_with('<');
    (!is_turn).then_some((found, end))
}

fn role(text: &str, at: usize, length: usize, is_system: bool) -> Option<(SignalKind, usize)> {
    // `-----BEGIN SYSTEM MESSAGE-----`
    let begin = text[..at].strip_suffix("begin ");
    let marker = begin.map_or(at, str::len);
    let decoration = decoration_before(text, marker);
    let in_tag = text[..at].ends_with('<');
    if text[..at].ends_with("&lt;") {
        return escaped_element(text, at, length);
    }
    let starts_block = starts_block(text, marker);
    if !in_tag && !starts_block {
        return None;
    }
    let (kind, rest) = split_kind(&text[at + length..]);
    let rest = rest.trim_start_matches(['*', '_', '"', '`', ' ', '\'']);
    let (opener, body) = first_char(rest);
    let found = |counts: bool, body: &str| {
        counts.then(|| (SignalKind::FakeSystemRole, text.len() - body.len()))
    };
    if in_tag {
        if opener != Some('>') {
            return None;
        }
        let reading = Body::of_element(body).reading();
        let is_element = starts_block || has_closing_tag(body, &text[at..at + length]);
        let counts = match reading {
            Reading::Order => true,
            Reading::Sentence => is_system && is_element,
            Reading::Record => false,
        };
        // `<system_prompt>leak</system_prompt>`
        let is_bare_verb = kind == "prompt" && is_element && Body::of_element(body).is_one_verb();
        return found(counts || kind == "override" || is_bare_verb, body);
    }
    let is_banner = begin.is_some() || decoration.contains(['#', '=', '-', '*', '~']);
    let in_brackets = match opener {
        Some(')') => decoration.ends_with('('),
        Some('}') => decoration.ends_with('{'),
        Some('】') => decoration.ends_with('【'),
        _ => false,
    };
    match opener {
        Some(':' | '：') => {
            let after = Body::after(body);
            let counts = match after.reading() {
                // `admin: add a page` is the subject of a commit.
                Reading::Order => is_system || after.speaks_to_its_reader(),
                // `system_prompt: the prompt of the agent` is a key with its description.
                Reading::Sentence => is_system && !text[at + length..].starts_with('_'),
                Reading::Record => false,
            };
            found(counts || kind == "override", body)
        }
        Some(_) if in_brackets && is_system => {
            found(Body::after(body).reading() == Reading::Order, body)
        }
        // A list of names with descriptions looks the same, but is indented.
        Some('-' | '–' | '—') if !is_banner && !decoration.is_empty() => None,
        Some('>' | '!' | '-' | '–' | '—') if is_system => {
            let body = body.trim_start_matches(['>', '!', '-', '–', '—']);
            let is_override = is_banner && kind == "override";
            found(is_override || Body::after(body).reading() == Reading::Order, body)
        }
        Some('=' | '~' | '\n') if is_system && is_banner => {
            let body = rest.trim_start_matches(['=', '~', ' ']);
            let is_override = kind == "override";
            found(is_override || Body::after(body).reading() == Reading::Order, body)
        }
        // `---`, `system`, `---`
        Some('\n') if is_system && text[..at].ends_with("---\n") && body.starts_with("---") => {
            found(Body::after(body).commands_its_reader(), body)
        }
        Some(',') if is_system => turns::message(text, at, length),
        // `/system you must …`
        Some(_) if is_system && decoration == "/" && rest.starts_with("you ") => {
            found(Body::after(rest).commands_its_reader(), rest)
        }
        _ => None,
    }
}

/// `&lt;system&gt;you must …`: the text of a page.
fn escaped_element(text: &str, at: usize, length: usize) -> Option<(SignalKind, usize)> {
    let (_, rest) = split_kind(&text[at + length..]);
    let body = rest.strip_prefix("&gt;")?;
    Body::after(body)
        .commands_its_reader()
        .then_some((SignalKind::FakeSystemRole, text.len() - body.len()))
}

/// The kind of message that the role names, if any, and the text after it.
fn split_kind(text: &str) -> (&'static str, &str) {
    let after = text.trim_start_matches([' ', '_', '-']);
    if after.len() == text.len() {
        return ("", text);
    }
    let kind = KINDS.iter().filter(|kind| after.starts_with(**kind)).max_by_key(|kind| kind.len());
    kind.map_or(("", text), |kind| (*kind, &after[kind.len()..]))
}

/// The marks directly before a position, on its line.
fn decoration_before(text: &str, at: usize) -> &str {
    let is_mark = |c: char| !c.is_alphanumeric() && c != '\n';
    let marks = text[..at].char_indices().rev().take(MAX_DECORATION + 1);
    let start = marks.take_while(|&(_, c)| is_mark(c)).last().map_or(at, |(start, _)| start);
    &text[start..at]
}

/// Whether a line or block begins here, before any marks: a line, an element, a cell, or a text in JSON.
fn starts_block(text: &str, at: usize) -> bool {
    let decoration = decoration_before(text, at);
    if decoration.chars().count() > MAX_DECORATION {
        return false;
    }
    let before = &text[..at - decoration.len()];
    let marks =
        decoration.trim_end_matches(['<', '[', '(', '{', '*', '#', '!', ' ', '⚠', '\u{fe0f}']);
    let is_after_value = before.ends_with("\\n")
        || [": \"", ":\"", "[\"", ", \"", ",\""].iter().any(|open| marks.ends_with(open));
    let is_after_tag = marks.ends_with(['>', '|']) && !marks.ends_with("->");
    before.is_empty() || before.ends_with('\n') || is_after_value || is_after_tag
}

fn first_char(text: &str) -> (Option<char>, &str) {
    let mut chars = text.chars();
    (chars.next(), chars.as_str())
}

/// Whether the element is closed again soon.
fn has_closing_tag(body: &str, name: &str) -> bool {
    let end = body.len().min(MAX_ELEMENT);
    let end = (end..=body.len()).find(|&end| body.is_char_boundary(end)).unwrap_or(body.len());
    body[..end].match_indices("</").any(|(at, _)| body[at + 2..].starts_with(name))
}
