//! Owns asking a person at the terminal, one line at a time.
//! Invariant: an end of input is a refusal, and an answer is bounded.

use std::io::{self, BufRead, Read, Write};

/// How long an answer may be.
const LONGEST_ANSWER: u64 = 64 << 10;

/// Whether the answer is yes; an end of input is no.
pub(super) fn is_yes(question: &str, default: bool) -> bool {
    match answer(question).as_deref() {
        Some("") => default,
        Some("y" | "Y" | "yes" | "Yes") => true,
        _ => false,
    }
}

/// One line of the terminal; `None` at the end of input.
pub(super) fn answer(question: &str) -> Option<String> {
    let mut output = io::stderr();
    let _ = write!(output, "{question} ").and_then(|()| output.flush());
    let mut line = String::new();
    let read = io::stdin().lock().take(LONGEST_ANSWER).read_line(&mut line);
    if !read.is_ok_and(|bytes| bytes > 0) {
        let _ = writeln!(output);
        return None;
    }
    Some(line.trim().to_owned())
}
