//! Owns text that pretends to come from the system: by a heading, a tag or chat template markers.

use super::SignalKind;

/// Turns of chat templates, without their brackets.
const TURNS: &[&str] = &[
    "im_start",
    "im_end",
    "im_sep",
    "system",
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
const KINDS: &[&str] = &[
    "message",
    "prompt",
    "notice",
    "note",
    "instruction",
    "instructions",
    "override",
    "update",
    "alert",
    "command",
    "reminder",
    "administrator",
];
/// The first words of instructions to a model.
const ORDERS: &[&str] = &[
    "you are a ",
    "you are an ",
    "you are now in ",
    "you are no longer",
    "you are the ",
    "you are to ",
    "you are not ",
    "you must ",
    "you shall ",
    "you should ",
    "you will now ",
    "you will ignore",
    "you will obey",
    "you will follow",
    "ignore all",
    "ignore the",
    "ignore any",
    "ignore prev",
    "ignore every",
    "ignore your",
    "disregard ",
    "forget ",
    "override all",
    "override your",
    "override the",
    "from now on",
    "new instruction",
    "always respond",
    "always answer",
    "never reveal",
    "never mention",
    "do not reveal",
    "do not tell",
    "do not mention",
    "do not follow",
    "do not refuse",
    "don't tell",
    "don't mention",
    "respond only",
    "respond with",
    "respond to",
    "reply with",
    "reply only",
    "reveal ",
    "obey ",
    "act as ",
    "pretend ",
    "the assistant ",
    "assistant must",
    "the user has ",
    "the above ",
    "all previous ",
    "previous instructions",
];

/// The longest indent before a heading.
const INDENT: usize = 16;

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

/// `[SYSTEM] you must …`.
pub(super) fn bracketed(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let rest = &text[at + 1..];
    let role = role_prefix(rest).split_once(']')?.0;
    let (who, what) = role.split_once([' ', ':', '_', '-']).unwrap_or((role, ""));
    let what = what.trim();
    let known = matches!(who, "system" | "assistant" | "admin" | "administrator")
        && (what.is_empty() || KINDS.contains(&what));
    let end = at + role.len() + 2;
    (known && (what == "override" || is_order(&text[end..])))
        .then_some((SignalKind::BracketedRole, end))
}

/// `System: you must …` at the start of a line, `<system>you are …`.
pub(super) fn system_role(text: &str, at: usize) -> Option<(SignalKind, usize)> {
    let in_tag = text[..at].ends_with('<');
    let is_markup = |c: &char| matches!(c, ' ' | '\t' | '#' | '*' | '>' | '"' | '-' | '!');
    let markup: String = text[..at].chars().rev().take(INDENT).take_while(is_markup).collect();
    let before = text[..at - markup.len()].chars().next_back();
    if !in_tag && before.is_some_and(|c| c != '\n') {
        return None;
    }
    let mut rest = &text[at + "system".len()..];
    let mut what = "";
    let after = rest.trim_start_matches([' ', '_', '-']);
    if after.len() < rest.len()
        && let Some(kind) =
            KINDS.iter().filter(|kind| after.starts_with(**kind)).max_by_key(|kind| kind.len())
    {
        (what, rest) = (kind, &after[kind.len()..]);
    }
    let rest = rest.trim_start_matches(['*', ' ']);
    let is_heading = markup.contains('#') && rest.starts_with('\n');
    let opened = if in_tag { rest.starts_with('>') } else { rest.starts_with(':') || is_heading };
    let body = rest.get(1..).unwrap_or_default();
    let end = text.len() - body.len();
    (opened && (what == "override" || is_order(body))).then_some((SignalKind::FakeSystemRole, end))
}

/// Whether the text begins with an instruction to its reader.
fn is_order(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | ':' | '"' | '-' | '>' | '|')
    });
    ORDERS.iter().any(|order| text.starts_with(order))
}
