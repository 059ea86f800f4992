//! Owns what the user sees: readable lines on stdout, or one JSON document there; troubles on stderr.
//! A command says both faces of its facts; the screen lets the one through that was asked for.
//! Invariant: nothing that a server wrote can steer the terminal, and a closed pipe is no failure.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;
use serde_json::json;

use super::FAILED;
use super::table::{Cell, Table};
use super::terminal::{Paint, Tint, columns, cut, is_dumb, tame};
use crate::error::Error;

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

    /// Whether one JSON document was asked for.
    pub(super) fn is_for_programs(&self) -> bool {
        self.json
    }

    /// Whether somebody watches while we wait.
    pub(super) fn is_watched(&self) -> bool {
        !self.json && io::stderr().is_terminal() && !is_dumb()
    }

    /// A line for people.
    pub(super) fn say(&mut self, line: impl Display) {
        if !self.json {
            self.write(line);
        }
    }

    /// The words of a server.
    pub(super) fn say_foreign(&mut self, text: &str) {
        if !self.json {
            self.write_foreign(text);
        }
    }

    /// Bytes for the program that reads them.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = io::stdout().lock().write_all(bytes).err();
        }
    }

    /// Whether stdout goes to a terminal.
    pub(super) fn is_at_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// A text on one line behind `head`, which takes `width` columns; cut to the terminal.
    pub(super) fn say_fitting(&mut self, head: &str, width: usize, text: &str) {
        let mut text = tame(text).replace('\n', " ");
        if let Some(columns) = columns(&io::stdout()) {
            cut(&mut text, columns.saturating_sub(width));
        }
        self.say(format!("{head}{text}").trim_end());
    }

    pub(super) fn table(&mut self, indent: &str, heads: &[&str], rows: Vec<Vec<Cell>>) {
        for line in Table::new(indent, heads, rows).lines(columns(&io::stdout()), self.out) {
            self.say(line);
        }
    }

    /// The same facts for programs.
    pub(super) fn document(&mut self, facts: &impl Serialize) {
        if self.json {
            self.data(facts);
        }
    }

    /// One of several documents for programs, which read along: each on its own line.
    pub(super) fn record(&mut self, facts: &impl Serialize) {
        if self.json {
            let text = serde_json::to_string(facts).expect("every fact has a JSON form");
            self.write_foreign(&text);
        }
    }

    /// What is JSON for people too.
    pub(super) fn data(&mut self, facts: &impl Serialize) {
        let text = serde_json::to_string_pretty(facts).expect("every fact has a JSON form");
        self.write_foreign(&text);
    }

    /// A remark beside the output; the JSON document has its own place for it.
    pub(super) fn note(&self, tint: Tint, head: &str, text: &str) {
        if !self.json {
            let head = self.err.paint(tint, tame(head));
            let text = tame(text).trim_end().replace('\n', "\n  ");
            let _ = writeln!(io::stderr().lock(), "{head} {text}");
        }
    }

    pub(super) fn warnings(&self, warnings: &[String]) {
        warnings.iter().for_each(|warning| self.note(Tint::Yellow, "Warning:", warning));
    }

    /// A trouble and what to do about it.
    pub(super) fn trouble(&self, head: &str, error: &Error) {
        self.note(Tint::Red, head, &error.message_with_output());
        self.hint(error);
    }

    /// What to do about it.
    pub(super) fn hint(&self, error: &Error) {
        if let Some(hint) = error.hint() {
            self.note(Tint::Cyan, "Hint:", hint);
        }
    }

    /// The error that ends the command.
    pub(super) fn fail(&mut self, error: &Error) {
        self.fail_with("Error:", error);
    }

    pub(super) fn fail_with(&mut self, head: &str, error: &Error) {
        self.trouble(head, error);
        self.document(&json!({ "error": error }));
    }

    /// Wrong usage, for programs.
    pub(super) fn misuse(&mut self, message: &str, usage: &str) {
        let error = json!({"code": "USAGE", "message": message, "hint": usage});
        self.document(&json!({ "error": error }));
    }

    /// Shows that we wait, where somebody watches; the next call with nothing wipes it off.
    pub(super) fn waiting_for(&self, what: &str) {
        if self.is_watched() {
            let mut what = tame(what);
            let room = columns(&io::stderr()).unwrap_or(80).saturating_sub(1);
            cut(&mut what, room);
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K{}", self.err.paint(Tint::Dim, what));
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

    /// Untouched for programs, harmless for terminals.
    fn write_foreign(&mut self, text: &str) {
        if io::stdout().is_terminal() { self.write(tame(text)) } else { self.write(text) }
    }

    fn write(&mut self, line: impl Display) {
        if self.broken.is_none() {
            self.broken = writeln!(io::stdout().lock(), "{line}").err();
        }
    }
}
