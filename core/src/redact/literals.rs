//! Owns replacing strings and numbers in JSON text.
//! Invariant: everything else stays byte for byte, so that unknown fields, order and unusual numbers survive.

use std::borrow::Cow;

/// Replaces each string by the result of `of_text` on its unescaped text, and each number by the string that
/// `of_number` returns. `None` if nothing changes.
pub(super) fn replace_literals(
    json: &str,
    of_text: impl Fn(&str) -> Option<String>,
    of_number: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut written = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let start = at + found;
        let rest = &json[start..];
        let (length, replaced) = match rest.starts_with('"') {
            true => {
                let length = string_length(rest);
                (length, text_of(&rest[..length]).and_then(|text| of_text(&text)))
            }
            false => {
                let is_number = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
                let length = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
                (length, of_number(&rest[..length]))
            }
        };
        at = start + length;
        if let Some(text) = replaced {
            written.push_str(&json[copied..start]);
            written.push_str(&serde_json::Value::from(text).to_string());
            copied = at;
        }
    }
    (copied > 0).then(|| written + &json[copied..])
}

fn text_of(literal: &str) -> Option<Cow<'_, str>> {
    match literal.contains('\\') {
        true => serde_json::from_str(literal).ok().map(Cow::Owned),
        false => literal.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed),
    }
}

/// The length of the string at the beginning of the text, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}
