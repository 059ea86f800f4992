//! Owns what the user sees: readable lines on stdout, or one JSON document there; troubles on stderr.
//! A command says both faces of its facts; the screen lets the one through that was asked for.
//! Invariant: nothing that a server wrote can steer the terminal, and a closed pipe is no failure.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;
use serde_json::json;

use super::FAILED;
use super::table::{Cell, Table};
use crate::error::Error;

/// A look of text; the number is the terminal's code for it.
#[derive(Clone, Copy)]
pub(super) enum Tint {
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Cyan = 36,
}

/// Puts colour on text, where colour is wanted.
#[derive(Clone, Copy)]
pub(super) enum Paint {
    On,
    Off,
}

impl Paint {
    fn for_stream(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stream.is_terminal() && !refused && !is_dumb() { Paint::On } else { Paint::Off }
    }

    pub(super) fn paint(self, tint: Tint, text: impl Display) -> String {
        match (self, tint) {
            (Paint::Off, _) | (_, Tint::Plain) => text.to_string(),
            (Paint::On, tint) => format!("\x1b[{}m{text}\x1b[0m", tint as u8),
        }
    }
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

pub(super) struct Screen {
    json: bool,
    out: Paint,
    err: Paint,
    /// The first write to stdout that failed; later ones are not tried.
    broken: Option<io::Error>,
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        let (out, err) = (Paint::for_stream(&io::stdout()), Paint::for_stream(&io::stderr()));
        Screen { json, out, err, broken: None }
    }

    pub(super) fn paint(&self, tint: Tint, text: impl Display) -> String {
        self.out.paint(tint, text)
    }

    /// A line for people.
    pub(super) fn say(&mut self, line: impl Display) {
        if !self.json {
            self.write(line);
        }
    }

    /// A tool's words: untouched for programs, without control characters for terminals.
    pub(super) fn say_foreign(&mut self, text: &str) {
        if io::stdout().is_terminal() { self.say(tame(text)) } else { self.say(text) }
    }

    pub(super) fn table(&mut self, indent: &str, heads: &[&str], rows: Vec<Vec<Cell>>) {
        for line in Table::new(indent, heads, rows).lines(columns(), self.out) {
            self.say(line);
        }
    }

    /// The same facts for programs.
    pub(super) fn document(&mut self, facts: &impl Serialize) {
        if self.json {
            let text = serde_json::to_string_pretty(facts);
            self.write(
                text.unwrap_or_else(|error| json!({"error": error.to_string()}).to_string()),
            );
        }
    }

    /// A remark beside the output; the JSON document has its own place for it.
    pub(super) fn note(&self, tint: Tint, head: &str, text: &str) {
        if !self.json {
            let head = self.err.paint(tint, tame(head));
            let text = tame(text).trim_end().replace('\n', "\n  ");
            let _ = writeln!(io::stderr().lock(), "{head} {text}");
        }
    }

    /// A trouble and what to do about it.
    pub(super) fn trouble(&self, head: &str, error: &Error) {
        self.note(Tint::Red, head, error.message());
        if let Some(hint) = error.hint() {
            self.note(Tint::Cyan, "Hint:", hint);
        }
    }

    /// The error that ends the command.
    pub(super) fn fail(&mut self, error: &Error) {
        self.trouble("Error:", error);
        self.document(&json!({ "error": error }));
    }

    /// Shows that we wait, where somebody watches; the next call with nothing wipes it off.
    pub(super) fn waiting_for(&self, what: &str) {
        if !self.json && io::stderr().is_terminal() && !is_dumb() {
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K{}", self.err.paint(Tint::Dim, tame(what)));
            let _ = err.flush();
        }
    }

    /// The exit code after all: output that was lost is a failure, unless the reader left on purpose.
    pub(super) fn close(mut self, code: i32) -> i32 {
        // A host language does not flush for us.
        let flushed = io::stdout().flush();
        match self.broken.take().or(flushed.err()) {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                let _ =
                    writeln!(io::stderr().lock(), "Error: The output cannot be written: {error}");
                code.max(FAILED)
            }
            _ => code,
        }
    }

    fn write(&mut self, line: impl Display) {
        if self.broken.is_none() {
            self.broken = writeln!(io::stdout().lock(), "{line}").err();
        }
    }
}

/// Without what would steer a terminal: control characters, but for line ends and tabs, and changes of direction.
pub(super) fn tame(text: &str) -> String {
    let steers =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .filter(|&c| c != '\r')
        .map(|c| if steers(c) && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// The width of the terminal that stdout is, if it is one.
fn columns() -> Option<usize> {
    // SAFETY: the struct is plain numbers, and the kernel writes nothing but it.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let told = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size);
        (told == 0).then_some(size)
    };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}
