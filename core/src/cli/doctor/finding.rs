//! Owns the finding of a check: severity, description, advice.

use serde::Serialize;

use crate::cli::terminal::Tint;
use crate::error::Error;

/// How many of the last lines of a server's stderr are shown.
const LAST_LINES: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Ok,
    /// Not checked, for a reason.
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
    /// What the server printed in place of messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stdout: Vec<String>,
    /// The last lines of the server's stderr.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stderr: Vec<String>,
    /// The error's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'static str>,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let (stdout, stderr) = (Vec::new(), Vec::new());
        Finding { check, verdict, detail, advice: None, stdout, stderr, code: None }
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

    /// A finding from an error; the server's output is kept apart from the message.
    pub(super) fn error(check: &'static str, error: &Error) -> Self {
        let lines = |text: Option<&str>| -> Vec<String> {
            text.unwrap_or_default().lines().map(str::to_owned).collect()
        };
        let (stdout, mut stderr) = (lines(error.stdout()), lines(error.stderr()));
        stderr.drain(..stderr.len().saturating_sub(LAST_LINES));
        let code = Some(error.code());
        let advice = error.hint().map(str::to_owned);
        Finding { stdout, stderr, code, advice, ..Finding::broken(check, error.message()) }
    }

    /// Adds advice, unless the error has some.
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
    fn what_a_server_wrote_stands_apart() {
        let lines: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        let error = Error::new(ErrorKind::ConnectFailed, "The server exited with code 1")
            .with_stdout(Some("usage".into()))
            .with_stderr(Some(lines.join("\n")));
        let finding = Finding::error("connect", &error);
        assert_eq!(finding.detail, "The server exited with code 1");
        assert_eq!(finding.stdout, ["usage"]);
        assert_eq!(finding.stderr, lines[10..]);
        assert_eq!(finding.code, Some("CONNECT_FAILED"));
    }
}
