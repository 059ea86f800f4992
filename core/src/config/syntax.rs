//! Owns translating other products' references into our syntax, so that `resolve` knows only one: `${NAME}` with
//! `:-default` or `:?message`, `${env:NAME}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`,
//! `${file:path}`, `${input:id}`. `$${` is a literal `${`, and an extra `$` before a variable or header that begins
//! with `!` makes it literal. Nothing is resolved here.
//! Invariant: what is literal in the product that wrote the text stays literal, and every text takes linear time.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::server::fields_with_references;
use super::shape::ValueShape;
use crate::variable_name::name_length;

#[cfg(test)]
mod tests;
mod write;

pub(crate) use write::{Inexpressible, express_definition, only_variable, unify_references};

/// The depth from which a default inside a default is literal text.
const DEEPEST: usize = 16;
const FOLDERS: &[&str] = &["workspaceFolder", "workspaceFolderBasename", "userHome"];

bitflags::bitflags! {
    /// The references that a product supports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Syntax: u32 {
        /// `${NAME}`
        const BRACES = 1 << 0;
        /// `${NAME}`, which is an error if the variable is not set.
        const STRICT_BRACES = 1 << 1;
        /// `${NAME:-default}`
        const DEFAULTS = 1 << 2;
        /// `${NAME:?message}`
        const MESSAGES = 1 << 3;
        /// `${env:NAME}`
        const ENV = 1 << 4;
        /// `${workspaceFolder}` and its relatives.
        const WORKSPACE = 1 << 5;
        /// `${file:path}`
        const FILES = 1 << 6;
        /// `${input:id}`
        const INPUTS = 1 << 7;
        /// `$NAME`
        const DOLLAR = 1 << 8;
        /// `%NAME%`
        const PERCENT = 1 << 9;
        /// `{env:NAME}`
        const CURLY_ENV = 1 << 10;
        /// `{file:path}`
        const CURLY_FILE = 1 << 11;
        /// `${{ secrets.NAME }}`
        const SECRETS = 1 << 12;
        /// `!command` as the whole value of a variable or header.
        const COMMANDS = 1 << 13;
        /// `$(command)`, which we do not run.
        const SUBSTITUTION = 1 << 14;
        /// References are allowed in headers only; everything else is literal.
        const HEADERS_ONLY = 1 << 15;
        /// The text is in our syntax already: what is not a reference stays unchanged.
        const CANONICAL = 1 << 16;
    }
}

impl Syntax {
    /// Every text is literal.
    pub(crate) const LITERAL: Syntax = Syntax::empty();

    /// The syntax of our own documents.
    pub(crate) const OURS: Syntax = Syntax::CANONICAL
        .union(Syntax::BRACES)
        .union(Syntax::DEFAULTS)
        .union(Syntax::MESSAGES)
        .union(Syntax::ENV)
        .union(Syntax::WORKSPACE)
        .union(Syntax::FILES)
        .union(Syntax::INPUTS)
        .union(Syntax::CURLY_ENV)
        .union(Syntax::COMMANDS);
}

/// A text in our syntax.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translated<'t> {
    pub(crate) text: Cow<'t, str>,
    /// Whether it contains a `$(command)` that its product would run and we do not.
    pub(crate) not_run: bool,
}

/// Translates `text`, written in `syntax`, to ours.
pub(crate) fn translate(text: &str, syntax: Syntax) -> Translated<'_> {
    let marks = [
        (true, b'$'),
        (syntax.intersects(Syntax::CURLY_ENV.union(Syntax::CURLY_FILE)), b'{'),
        (syntax.contains(Syntax::PERCENT), b'%'),
    ];
    if !marks
        .iter()
        .any(|&(counts, mark)| counts && memchr::memchr(mark, text.as_bytes()).is_some())
    {
        return Translated { text: Cow::Borrowed(text), not_run: false };
    }
    let out = String::with_capacity(text.len() + 8);
    let braces = Braces::find(text);
    let mut walk = Walk { text, syntax, braces, out, not_run: false, unclosed: false };
    walk.span(0, text.len(), 0);
    Translated { text: Cow::Owned(walk.out), not_run: walk.not_run }
}

/// Translates the value of a variable or header to ours.
pub(crate) fn translate_value(text: &str, syntax: Syntax) -> Translated<'_> {
    // The shell interprets the command.
    if text.starts_with('!') && syntax.contains(Syntax::COMMANDS) {
        return Translated { text: Cow::Borrowed(text), not_run: false };
    }
    if !is_like_a_command(text) || syntax.contains(Syntax::CANONICAL) {
        return translate(text, syntax);
    }
    let literal = translate(text, syntax);
    Translated { text: Cow::Owned(format!("${}", literal.text)), not_run: literal.not_run }
}

/// The value of a variable or header in our syntax, escaped so that its beginning is not taken for a command.
pub(crate) fn no_command(value: String) -> String {
    if is_like_a_command(&value) { format!("${value}") } else { value }
}

fn is_like_a_command(value: &str) -> bool {
    value.trim_start_matches('$').starts_with('!')
}

/// Translates every text of a definition that may contain references; returns the fields with a `$(command)`.
pub(crate) fn translate_definition(
    definition: &mut Map<String, Value>,
    syntax: Syntax,
) -> Vec<&'static str> {
    let mut not_run = Vec::new();
    texts_with_references(definition, syntax, |field, syntax, text| {
        let translate = if field.is_by_name { translate_value } else { translate };
        let translated = translate(text, syntax);
        if translated.not_run && !not_run.contains(&field.name) {
            not_run.push(field.name);
        }
        if let Cow::Owned(translated) = translated.text {
            *text = translated;
        }
    });
    not_run
}

/// A field with texts that may contain references.
struct TextField {
    name: &'static str,
    /// Whether it has values by name, which may be commands.
    is_by_name: bool,
}

/// Visits every text of a definition that may contain references, with its field and the part of `syntax` that holds
/// there.
fn texts_with_references(
    definition: &mut Map<String, Value>,
    syntax: Syntax,
    mut visit: impl FnMut(&TextField, Syntax, &mut String),
) {
    let elsewhere = if syntax.contains(Syntax::HEADERS_ONLY) { Syntax::LITERAL } else { syntax };
    for field in fields_with_references() {
        let syntax = if field.name == "headers" { syntax } else { elsewhere };
        let texts: &mut dyn Iterator<Item = &mut Value> = match definition.get_mut(field.name) {
            Some(Value::Object(entries)) => &mut entries.values_mut(),
            Some(Value::Array(items)) => &mut items.iter_mut(),
            Some(text) => &mut std::iter::once(text),
            None => continue,
        };
        let is_by_name = matches!(field.shape, ValueShape::ByName(_));
        let field = TextField { name: field.name, is_by_name };
        for text in texts {
            if let Value::String(text) = text {
                visit(&field, syntax, text);
            }
        }
    }
}

/// Where each `${` ends, found in one pass so that unclosed ones cost nothing.
struct Braces {
    starts: Vec<usize>,
    ends: Vec<Option<usize>>,
}

impl Braces {
    fn find(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut braces = Braces { starts: Vec::new(), ends: Vec::new() };
        let mut open = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'$' && bytes.get(at + 1) == Some(&b'{') {
                open.push(braces.starts.len());
                braces.starts.push(at);
                braces.ends.push(None);
            } else if *byte == b'}'
                && let Some(start) = open.pop()
            {
                braces.ends[start] = Some(at);
            }
        }
        braces
    }

    fn end(&self, start: usize) -> Option<usize> {
        self.starts.binary_search(&start).ok().and_then(|at| self.ends[at])
    }
}

struct Walk<'t> {
    text: &'t str,
    syntax: Syntax,
    braces: Braces,
    out: String,
    not_run: bool,
    /// No `)` follows any more, so the search is not repeated.
    unclosed: bool,
}

impl Walk<'_> {
    /// Translates `from..to`. A marker that starts no reference is text.
    fn span(&mut self, from: usize, to: usize, depth: usize) {
        let (mut at, mut plain) = (from, from);
        while at < to {
            let mark = self.text.as_bytes()[at];
            if !matches!(mark, b'$' | b'{' | b'%') {
                at += 1;
                continue;
            }
            self.out.push_str(&self.text[plain..at]);
            let taken = match mark {
                b'$' => self.dollar(at, to, depth),
                b'{' => self.curly(at, to),
                _ => self.percent(at, to),
            };
            let taken = taken.unwrap_or_else(|| {
                self.out.push(char::from(mark));
                at + 1
            });
            (at, plain) = (taken, taken);
        }
        self.out.push_str(&self.text[plain..to]);
    }

    fn dollar(&mut self, at: usize, to: usize, depth: usize) -> Option<usize> {
        let rest = &self.text[at..to];
        // With `${…}` support, `$${` is an escaped `${`; otherwise it is a dollar and the rest.
        if rest.starts_with("$${") && self.syntax != Syntax::LITERAL {
            self.out.push_str("$${");
            return Some(at + 3);
        }
        if rest.starts_with("${") {
            let taken = self.secret(at, rest).or_else(|| self.braced(at, to, depth));
            return taken.or_else(|| {
                let literal = if self.syntax.contains(Syntax::CANONICAL) { "${" } else { "$${" };
                self.out.push_str(literal);
                Some(at + 2)
            });
        }
        if self.syntax.contains(Syntax::SUBSTITUTION) && rest.starts_with("$(") {
            return self.substitution(at, to);
        }
        let length = name_length(&rest[1..]);
        if self.syntax.contains(Syntax::DOLLAR) && length > 0 {
            return Some(self.variable(&rest[1..=length], at + 1 + length));
        }
        None
    }

    /// `$(command)`, whose content is neither translated nor run.
    fn substitution(&mut self, at: usize, to: usize) -> Option<usize> {
        self.not_run = true;
        let end = match self.unclosed {
            true => None,
            false => memchr::memchr(b')', &self.text.as_bytes()[at..to]),
        };
        let Some(end) = end else {
            self.unclosed = true;
            return None;
        };
        self.out.push_str(&self.text[at..=at + end].replace("${", "$${"));
        Some(at + end + 1)
    }

    fn variable(&mut self, name: &str, next: usize) -> usize {
        self.out.push_str("${");
        self.out.push_str(name);
        self.out.push('}');
        next
    }

    /// `${{ secrets.NAME }}`
    fn secret(&mut self, at: usize, rest: &str) -> Option<usize> {
        let inner = rest.strip_prefix("${{").filter(|_| self.syntax.contains(Syntax::SECRETS))?;
        let spaces = |text: &str| text.bytes().take_while(|byte| *byte == b' ').count();
        let mut length = spaces(inner);
        let name = inner[length..].strip_prefix("secrets.")?;
        let name = &name[..name_length(name)];
        length += "secrets.".len() + name.len();
        length += spaces(&inner[length..]);
        if name.is_empty() || !inner[length..].starts_with("}}") {
            return None;
        }
        Some(self.variable(name, at + "${{".len() + length + "}}".len()))
    }

    fn braced(&mut self, at: usize, to: usize, depth: usize) -> Option<usize> {
        let end = self.braces.end(at).filter(|&end| end < to && depth < DEEPEST)?;
        let body = &self.text[at + 2..end];
        let has = |part| self.syntax.contains(part);
        let folder = has(Syntax::WORKSPACE) && FOLDERS.contains(&body);
        let file = has(Syntax::FILES) && body.len() > 5 && body.starts_with("file:");
        let input = has(Syntax::INPUTS) && body.len() > 6 && body.starts_with("input:");
        if folder || file || input {
            self.out.push_str(&self.text[at..=end]);
            return Some(end + 1);
        }
        let (kind, named) = match body.strip_prefix("env:") {
            Some(named) => ("env:", named),
            None => ("", body),
        };
        let known = if kind.is_empty() { Syntax::BRACES } else { Syntax::ENV };
        let (name, rest) = named.split_at(name_length(named));
        let strict = kind.is_empty() && has(Syntax::STRICT_BRACES);
        let defaults = rest.starts_with(":-") && has(Syntax::DEFAULTS);
        let message = rest.starts_with(":?") && has(Syntax::MESSAGES);
        if name.is_empty() || !(has(known) || strict) || !(rest.is_empty() || defaults || message) {
            return None;
        }
        self.out.push_str("${");
        self.out.push_str(kind);
        self.out.push_str(name);
        if strict && rest.is_empty() {
            self.out.push_str(":?");
            self.out.push_str(&write::unset(name));
        } else if defaults {
            self.out.push_str(":-");
            self.span(end - rest.len() + 2, end, depth + 1);
        } else {
            self.out.push_str(rest);
        }
        self.out.push('}');
        Some(end + 1)
    }

    /// `{env:NAME}` and `{file:path}`
    fn curly(&mut self, at: usize, to: usize) -> Option<usize> {
        let rest = &self.text[at..to];
        if let Some(named) = rest.strip_prefix("{env:")
            && self.syntax.contains(Syntax::CURLY_ENV)
        {
            let length = name_length(named);
            let closed = length > 0 && named[length..].starts_with('}');
            return closed.then(|| self.variable(&named[..length], at + 5 + length + 1));
        }
        let path =
            rest.strip_prefix("{file:").filter(|_| self.syntax.contains(Syntax::CURLY_FILE))?;
        let length = path.bytes().take_while(|byte| !matches!(byte, b'{' | b'}' | b'\n')).count();
        if length == 0 || !path[length..].starts_with('}') {
            return None;
        }
        self.out.push_str("${file:");
        self.out.push_str(&path[..=length]);
        Some(at + "{file:".len() + length + 1)
    }

    /// `%NAME%`
    fn percent(&mut self, at: usize, to: usize) -> Option<usize> {
        let named = &self.text[at + 1..to];
        let length = name_length(named);
        let closed =
            self.syntax.contains(Syntax::PERCENT) && length > 0 && named[length..].starts_with('%');
        closed.then(|| self.variable(&named[..length], at + 1 + length + 1))
    }
}
