//! Owns wrapping a text as the untrusted output of a tool, so that the text cannot close the wrapper.
//! Invariant: the wrapped text contains nothing that a reader could take for our tag.

use std::borrow::Cow;

use crate::scan::{TAG, wrapper_tags};

/// The text between tags that name its source.
pub(super) fn wrap(server: &str, tool: &str, body: &str) -> String {
    let body = neutralise(body);
    let (server, tool) = (reduced(server), reduced(tool));
    format!("<{TAG} server=\"{server}\" tool=\"{tool}\" trust=\"untrusted\">\n{body}\n</{TAG}>")
}

/// Removes what could close the quotes of an attribute.
pub(super) fn reduced(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().filter(|&c| is_plain(c)).collect()
}

/// The body without anything that a model could take for our tag.
fn neutralise(body: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for at in wrapper_tags(body) {
        out += &body[done..at];
        out += "&lt;";
        done = at + body[at..].chars().next().map_or(0, char::len_utf8);
    }
    if done == 0 {
        return Cow::Borrowed(body);
    }
    out += &body[done..];
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
