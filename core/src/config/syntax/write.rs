//! Owns writing texts of our syntax in a product's: the inverse of `translate`.
//! Invariant: what is written means the same when it is translated back; what cannot be is refused.

use serde_json::{Map, Value};

use super::{Braces, DEEPEST, FOLDERS, Syntax, is_like_a_command, texts_with_references};
use super::{translate, translate_value};
use crate::variable_name::name_length;

/// Why a product cannot say a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inexpressible {
    /// The product has no such reference.
    Reference,
    /// The product does not run commands.
    Command,
    /// The product would take something in it for a reference.
    Literal,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String, Fallback),
    /// `workspaceFolder` and its relatives, `file:path` and `input:id`, with the kind of the reference.
    Other(Syntax, String),
}

/// What stands for a variable that is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fallback {
    Nothing,
    Default(Vec<Part>),
    Message(String),
}

/// Writes every text of a definition that may contain references in `syntax`. The error has the field.
pub(crate) fn express_definition(
    definition: &mut Map<String, Value>,
    syntax: Syntax,
) -> Result<(), (&'static str, Inexpressible)> {
    let mut problem = None;
    texts_with_references(definition, syntax, |field, syntax, text| {
        let express = if field.is_by_name { express_value } else { express };
        match express(text, syntax) {
            Ok(written) => *text = written,
            Err(why) => problem = problem.or(Some((field.name, why))),
        }
    });
    problem.map_or(Ok(()), Err)
}

/// Brings every reference of a definition into one form, so that definitions of equal meaning are equal. In `syntax`, a
/// variable that is not set may be an error.
pub(crate) fn unify_references(definition: &mut Map<String, Value>, syntax: Syntax) {
    texts_with_references(definition, Syntax::OURS, |field, _, text| {
        if !(field.is_by_name && text.starts_with('!')) {
            *text = render(&in_meaning(parts(text), syntax), Syntax::OURS).unwrap_or_default();
        }
    });
}

/// The name of the variable, if `text` is a reference to it and nothing else.
pub(crate) fn only_variable(text: &str) -> Option<String> {
    match &parts(text)[..] {
        [Part::Variable(name, Fallback::Nothing)] => Some(name.clone()),
        _ => None,
    }
}

fn express(text: &str, syntax: Syntax) -> Result<String, Inexpressible> {
    let parts = parts(text);
    let written = render(&parts, syntax).ok_or(Inexpressible::Reference)?;
    let back = translate(&written, syntax);
    let is_same = in_meaning(self::parts(&back.text), syntax) == in_meaning(parts, syntax);
    if is_same && !back.not_run { Ok(written) } else { Err(Inexpressible::Literal) }
}

fn express_value(text: &str, syntax: Syntax) -> Result<String, Inexpressible> {
    if text.starts_with('!') {
        let is_run = syntax.contains(Syntax::COMMANDS);
        return if is_run { Ok(text.to_owned()) } else { Err(Inexpressible::Command) };
    }
    if !is_like_a_command(text) {
        return express(text, syntax);
    }
    let written = express(&text[1..], syntax)?;
    let is_same = translate_value(&written, syntax).text == text;
    if is_same { Ok(written) } else { Err(Inexpressible::Literal) }
}

fn parts(text: &str) -> Vec<Part> {
    let braces = Braces::find(text);
    span(text, &braces, 0, text.len(), 0)
}

fn span(text: &str, braces: &Braces, from: usize, to: usize, depth: usize) -> Vec<Part> {
    let (mut parts, mut literal, mut at) = (Vec::new(), String::new(), from);
    while let Some(offset) = memchr::memchr(b'$', &text.as_bytes()[at..to]) {
        literal.push_str(&text[at..at + offset]);
        at += offset;
        if text[at..to].starts_with("$${") {
            literal.push_str("${");
            at += 3;
        } else if let Some((part, next)) = reference(text, braces, at, to, depth) {
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(part);
            at = next;
        } else {
            literal.push('$');
            at += 1;
        }
    }
    literal.push_str(&text[at..to]);
    if !literal.is_empty() {
        parts.push(Part::Text(literal));
    }
    parts
}

fn reference(
    text: &str,
    braces: &Braces,
    at: usize,
    to: usize,
    depth: usize,
) -> Option<(Part, usize)> {
    let end = braces.end(at).filter(|&end| end < to && depth < DEEPEST)?;
    let body = &text[at + 2..end];
    let kinds = [("file:", Syntax::FILES), ("input:", Syntax::INPUTS)];
    let other =
        match kinds.iter().find(|(kind, _)| body.len() > kind.len() && body.starts_with(kind)) {
            Some((_, kind)) => Some(*kind),
            None => FOLDERS.contains(&body).then_some(Syntax::WORKSPACE),
        };
    if let Some(kind) = other {
        return Some((Part::Other(kind, body.to_owned()), end + 1));
    }
    let named = body.strip_prefix("env:").unwrap_or(body);
    let (name, rest) = named.split_at(name_length(named));
    let fallback = match rest.get(..2) {
        _ if name.is_empty() => return None,
        _ if rest.is_empty() => Fallback::Nothing,
        Some(":-") => Fallback::Default(span(text, braces, end - rest.len() + 2, end, depth + 1)),
        Some(":?") => Fallback::Message(rest[2..].to_owned()),
        _ => return None,
    };
    Some((Part::Variable(name.to_owned(), fallback), end + 1))
}

/// The parts in `syntax`; `None` if it has no such reference.
fn render(parts: &[Part], syntax: Syntax) -> Option<String> {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Text(text) if syntax == Syntax::LITERAL => out.push_str(text),
            Part::Text(text) => out.push_str(&text.replace("${", "$${")),
            Part::Variable(name, fallback) => out.push_str(&variable(name, fallback, syntax)?),
            Part::Other(kind, body) if syntax.contains(*kind) => {
                out.push_str(&format!("${{{body}}}"));
            }
            Part::Other(kind, body)
                if *kind == Syntax::FILES && syntax.contains(Syntax::CURLY_FILE) =>
            {
                out.push_str(&format!("{{{body}}}"));
            }
            Part::Other(..) => return None,
        }
    }
    Some(out)
}

fn variable(name: &str, fallback: &Fallback, syntax: Syntax) -> Option<String> {
    let has = |part| syntax.contains(part);
    let named = match () {
        () if has(Syntax::BRACES) => name.to_owned(),
        () if has(Syntax::ENV) => format!("env:{name}"),
        () => String::new(),
    };
    match fallback {
        Fallback::Default(default) if has(Syntax::DEFAULTS) && !named.is_empty() => {
            Some(format!("${{{named}:-{}}}", render(default, syntax)?))
        }
        Fallback::Message(message) if has(Syntax::MESSAGES) && !named.is_empty() => {
            Some(format!("${{{named}:?{message}}}"))
        }
        Fallback::Message(message) if has(Syntax::STRICT_BRACES) && *message == unset(name) => {
            Some(format!("${{{name}}}"))
        }
        Fallback::Nothing if !named.is_empty() => Some(format!("${{{named}}}")),
        Fallback::Nothing if has(Syntax::STRICT_BRACES) => Some(format!("${{{name}}}")),
        Fallback::Nothing if has(Syntax::CURLY_ENV) => Some(format!("{{env:{name}}}")),
        Fallback::Nothing if has(Syntax::SECRETS) => Some(format!("${{{{ secrets.{name} }}}}")),
        _ => None,
    }
}

/// The parts as `syntax` understands them: where an unset variable is an error, a plain reference says so.
fn in_meaning(parts: Vec<Part>, syntax: Syntax) -> Vec<Part> {
    if !syntax.contains(Syntax::STRICT_BRACES) {
        return parts;
    }
    let strict = |part| match part {
        Part::Variable(name, Fallback::Nothing) => {
            let message = Fallback::Message(unset(&name));
            Part::Variable(name, message)
        }
        part => part,
    };
    parts.into_iter().map(strict).collect()
}

/// The message of a reference in a product where an unset variable is an error.
pub(super) fn unset(name: &str) -> String {
    format!("{name} is not set")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRACES_AND_DEFAULTS: Syntax = Syntax::BRACES.union(Syntax::DEFAULTS);

    #[test]
    fn a_reference_is_written_as_the_product_writes_it() {
        let written = |text, syntax| express(text, syntax).expect("a text that can be said");
        assert_eq!(written("a ${X} b", Syntax::ENV), "a ${env:X} b");
        assert_eq!(written("${X}", Syntax::CURLY_ENV), "{env:X}");
        assert_eq!(written("${env:X}", Syntax::BRACES), "${X}");
        assert_eq!(written("${X}", Syntax::SECRETS), "${{ secrets.X }}");
        assert_eq!(written("${X}", Syntax::STRICT_BRACES), "${X}");
        assert_eq!(written("${X:?X is not set}", Syntax::STRICT_BRACES), "${X}");
        assert_eq!(written("${X:-${Y}/z}", BRACES_AND_DEFAULTS), "${X:-${Y}/z}");
        assert_eq!(written("${file:/a}", Syntax::CURLY_FILE), "{file:/a}");
        assert_eq!(written("${workspaceFolder}/a", Syntax::WORKSPACE), "${workspaceFolder}/a");
        assert_eq!(written("$${X} costs $5", Syntax::LITERAL), "${X} costs $5");
        assert_eq!(written("$${X}", Syntax::BRACES), "$${X}");
    }

    #[test]
    fn what_a_product_cannot_say_is_refused() {
        use Inexpressible::{Command, Literal, Reference};
        let why = |text, syntax| express(text, syntax).expect_err("a text that cannot be said");
        assert_eq!(why("${X}", Syntax::LITERAL), Reference);
        assert_eq!(why("${X:-d}", Syntax::BRACES), Reference);
        assert_eq!(why("${X:?m}", BRACES_AND_DEFAULTS), Reference);
        assert_eq!(why("${workspaceFolder}", Syntax::BRACES), Reference);
        assert_eq!(why("$HOME", Syntax::BRACES.union(Syntax::DOLLAR)), Literal);
        assert_eq!(why("%PATH%", Syntax::BRACES.union(Syntax::PERCENT)), Literal);
        assert_eq!(why("{env:X} $", Syntax::CURLY_ENV), Literal);
        assert_eq!(why("$(id)", Syntax::BRACES.union(Syntax::SUBSTITUTION)), Literal);
        assert_eq!(express_value("!pass", Syntax::BRACES), Err(Command));
        assert_eq!(express_value("$!pass", Syntax::COMMANDS), Err(Literal));
        assert_eq!(express_value("!pass", Syntax::COMMANDS), Ok("!pass".to_owned()));
        assert_eq!(express_value("$!pass", Syntax::ENV), Ok("!pass".to_owned()));
    }

    #[test]
    fn any_text_that_is_written_is_read_back_with_the_same_meaning() {
        let pieces = [
            "a",
            "$",
            "${",
            "}",
            "X",
            "${X}",
            "${X:-",
            "${env:X}",
            "$${",
            "{env:X}",
            "%X%",
            "$X",
            "!",
            ":?m}",
            "${{ secrets.X }}",
            "${workspaceFolder}",
            "${file:a}",
            "$(x)",
            "é",
        ];
        let syntaxes = [
            Syntax::LITERAL,
            Syntax::OURS,
            Syntax::ENV,
            BRACES_AND_DEFAULTS,
            Syntax::STRICT_BRACES,
            Syntax::BRACES.union(Syntax::DOLLAR).union(Syntax::PERCENT),
            Syntax::CURLY_ENV.union(Syntax::CURLY_FILE),
            Syntax::SECRETS,
            BRACES_AND_DEFAULTS.union(Syntax::COMMANDS),
            BRACES_AND_DEFAULTS.union(Syntax::SUBSTITUTION),
        ];
        let mut rng = fastrand::Rng::with_seed(7);
        let mut written = 0;
        for _ in 0..20_000 {
            let ours: String = (0..rng.usize(0..6)).map(|_| rng.choice(pieces).unwrap()).collect();
            let ours = translate_value(&ours, Syntax::OURS).text.into_owned();
            let syntax = rng.choice(syntaxes).unwrap();
            if let Ok(text) = express_value(&ours, syntax) {
                let back = translate_value(&text, syntax).text.into_owned();
                let meaning = |text| in_meaning(parts(text), syntax);
                assert_eq!(meaning(&back), meaning(&ours), "{ours} → {text} in {syntax:?}");
                assert_eq!(back.starts_with('!'), ours.starts_with('!'), "{ours} → {text}");
                written += 1;
            }
        }
        assert!(written > 5_000, "{written}");
    }
}
