//! Owns how a trust question is displayed: everything that would be run or dialled, unredacted and uncut, with hidden
//! and control characters escaped.

use serde_json::Value;

use crate::cli::display::short_path;
use crate::cli::screen::Screen;
use crate::cli::terminal::Tint;
use crate::scan::is_unseen;
use crate::trust::TrustQuestion;

/// Fields that have their own lines.
const OWN_LINES: &[&str] = &["type", "command", "args", "url", "env", "headers"];

pub(super) fn print_question(question: &TrustQuestion, screen: &mut Screen) {
    for line in lines(question) {
        match line {
            Line::Title(name, path) => {
                let name = screen.paint(Tint::Bold, name);
                screen.say(format!("{name}  in {path}"));
            }
            Line::Fact(head, text) => {
                let head = screen.paint(Tint::Dim, format!("{head:>14}"));
                screen.say(format!("{head}  {text}"));
            }
        }
    }
    screen.say("");
}

enum Line {
    Title(String, String),
    Fact(String, String),
}

fn lines(question: &TrustQuestion) -> Vec<Line> {
    let name = if question.is_about_lists() { "lists of servers" } else { &question.server };
    let mut lines =
        vec![Line::Title(escape_hidden(name), escape_hidden(&short_path(&question.path)))];
    let mut fact = |head: &str, text: &str| {
        lines.push(Line::Fact(escape_hidden(head), escape_hidden(text)));
    };
    let definition = &question.definition;
    if definition["command"].is_string() {
        fact("would run", &command_line(definition));
    } else if let Some(url) = definition["url"].as_str() {
        fact("would reach", url);
    }
    for field in ["env", "headers"] {
        for (name, value) in definition[field].as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fact(field, &format!("{name}={value}"));
        }
    }
    let others = definition.as_object().into_iter().flatten();
    for (field, value) in others.filter(|(field, _)| !OWN_LINES.contains(&field.as_str())) {
        fact(field, &text_of(value));
    }
    for file in &question.files {
        let path = short_path(&file.path);
        match (&file.text, file.size) {
            (None, _) if file.outside => {
                fact("reads", &format!("{path} (outside the project; its content is not shown)"));
            }
            (None, Some(size)) => {
                let what = "with a private key; its content is not shown";
                fact("brings", &format!("{path} ({size} bytes, {what})"));
            }
            (None, None) => fact("brings", &format!("{path} (cannot be read)")),
            (Some(text), _) => {
                fact("brings", &path);
                text.lines().for_each(|line| fact("|", line));
            }
        }
    }
    for replaced in &question.replaces {
        let source = &replaced.source;
        let place = source.path.as_deref().map_or_else(|| source.provider.clone(), short_path);
        fact("instead of", &format!("\"{}\" of {place}", replaced.server));
    }
    fact("fingerprint", &question.fingerprint);
    lines
}

/// Quoted for a shell, with every character kept.
fn command_line(definition: &Value) -> String {
    let args = definition["args"].as_array().into_iter().flatten();
    let words = std::iter::once(&definition["command"]).chain(args).filter_map(Value::as_str);
    let quoted = words.map(|word| shlex::try_quote(word).unwrap_or(word.into()));
    quoted.collect::<Vec<_>>().join(" ")
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Escapes every character that is not plainly visible.
fn escape_hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' | '"' | '\\' => out.push(c),
            // Not as `\n`: an argument may contain those two characters.
            c if c != ' ' && is_unseen(c) => out.extend(c.escape_unicode()),
            c => out.extend(c.escape_debug()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_steers_is_written_out() {
        assert_eq!(escape_hidden("a'b\"c\\d é日"), "a'b\"c\\d é日");
        let hidden = "\u{1b}[2J\n\u{202e}\u{200b}\u{e0041}\u{115f}\u{3164}\u{2800}";
        assert_eq!(
            escape_hidden(hidden),
            r"\u{1b}[2J\u{a}\u{202e}\u{200b}\u{e0041}\u{115f}\u{3164}\u{2800}"
        );
    }
}
