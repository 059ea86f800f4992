//! Owns what a check found: how bad it is, what it is, what to do about it.

use serde::Serialize;

use crate::cli::terminal::Tint;
use crate::error::Error;

/// So many last lines of a server's stderr are shown.
const LAST_LINES: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Ok,
    /// Not looked at, for a good reason.
    Off,
    Warning,
    Broken,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Off => "off",
            Verdict::Warning => "warning",
            Verdict::Broken => "broken",
        }
    }

    pub(super) fn tint(self) -> Tint {
        match self {
            Verdict::Ok => Tint::Green,
            Verdict::Off => Tint::Dim,
            Verdict::Warning => Tint::Yellow,
            Verdict::Broken => Tint::Red,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) verdict: Verdict,
    pub(super) detail: String,
    pub(super) advice: Option<String>,
    /// The server's last words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stderr: Vec<String>,
    /// The error's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'static str>,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Finding { check, verdict, detail, advice: None, stderr: Vec::new(), code: None }
    }

    pub(super) fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Finding::new(check, Verdict::Ok, detail)
    }

    pub(super) fn off(check: &'static str, detail: impl Into<String>) -> Self {
        Finding::new(check, Verdict::Off, detail)
    }

    pub(super) fn warning(check: &'static str, detail: impl Into<String>) -> Self {
        Finding::new(check, Verdict::Warning, detail)
    }

    pub(super) fn broken(check: &'static str, detail: impl Into<String>) -> Self {
        Finding::new(check, Verdict::Broken, detail)
    }

    /// An error, with the server's last words apart from what happened.
    pub(super) fn error(check: &'static str, error: &Error) -> Self {
        let (detail, words) = match error.message().split_once("; stderr:\n") {
            Some((detail, words)) => (detail, words.lines().map(str::to_owned).collect()),
            None => (error.message(), Vec::new()),
        };
        let stderr = words.split_at(words.len().saturating_sub(LAST_LINES)).1.to_vec();
        let code = Some(error.code());
        let advice = error.hint().map(str::to_owned);
        Finding { stderr, code, advice, ..Finding::broken(check, detail) }
    }

    /// Advice, where the error brings none.
    pub(super) fn or_advice(mut self, advice: String) -> Self {
        self.advice.get_or_insert(advice);
        self
    }

    pub(super) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_last_words_of_a_server_stand_apart() {
        let words: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        let text = format!("The server exited with code 1; stderr:\n{}", words.join("\n"));
        let finding = Finding::error("connect", &Error::new(ErrorKind::ConnectFailed, text));
        assert_eq!(finding.detail, "The server exited with code 1");
        assert_eq!(finding.stderr, words[10..]);
        assert_eq!(finding.code, Some("CONNECT_FAILED"));
    }
}
