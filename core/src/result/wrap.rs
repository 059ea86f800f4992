//! Owns marking a text as the untrusted output of a tool, so that the text itself cannot end the mark.
//! Invariant: what a reader could take for one of our marks, however it is written, is not one when we are done.

use std::borrow::Cow;

use crate::scan::{TAG, wrapper_tags};

/// The text between marks that name where it comes from.
pub(super) fn wrap(server: &str, tool: &str, body: &str) -> String {
    let body = neutralised(body);
    let (server, tool) = (reduced(server), reduced(tool));
    format!("<{TAG} server=\"{server}\" tool=\"{tool}\" trust=\"untrusted\">\n{body}\n</{TAG}>")
}

/// A name that can do no harm inside quotes.
pub(super) fn reduced(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().filter(|&c| is_plain(c)).collect()
}

/// The body without anything that a model could take for one of our marks.
fn neutralised(body: &str) -> Cow<'_, str> {
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
