//! Owns why a sign-in fails, until it becomes the error of a server.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Message};
use crate::shell;

/// How much of a server's own text is shown.
const SHOWN: usize = 300;

/// Why a step of a sign-in failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub(super) kind: ProblemKind,
    text: String,
    /// Whether the text names the server.
    names_server: bool,
    hint: Option<String>,
    /// Whether text of others is part of the message.
    quotes_others: bool,
    /// The scopes to ask for, if a sign-in helps.
    scopes: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ProblemKind {
    /// A server cannot be reached; another attempt may help.
    Unreachable,
    /// A server got a request, perhaps, and did not answer it.
    Unanswered,
    /// What a server says cannot be used, or is not allowed.
    Refused,
    /// There is nothing to sign in with: the user has to do something.
    Missing,
    /// Same: nothing says where to sign in.
    Undiscovered,
    /// Nobody signed in.
    TimedOut,
    /// The authorisation server refused, with this code.
    ByCode(String),
}

impl Problem {
    fn new(kind: ProblemKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Problem { kind, text, names_server: false, hint: None, quotes_others: false, scopes: None }
    }

    pub(super) fn unreachable(text: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Unreachable, text)
    }

    pub(super) fn unanswered(text: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Unanswered, text)
    }

    /// Whether a server may have done what it was asked for.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.kind == ProblemKind::Unanswered
    }

    pub(super) fn refused(text: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Refused, text)
    }

    pub(super) fn missing(text: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Missing, text)
    }

    pub(super) fn undiscovered() -> Self {
        Problem::new(ProblemKind::Undiscovered, "OAuth endpoints could not be discovered")
    }

    /// Nobody signed in.
    pub(super) fn timed_out() -> Self {
        Problem::new(ProblemKind::TimedOut, "OAuth flow timed out. Please try again.")
            .with_hint("if the page shows an error, forget the old client: mcpool reauth NAME")
    }

    /// A person has to sign in, for these scopes if a token lacks them.
    pub(super) fn sign_in(server: &str, scopes: &[String]) -> Self {
        let options = match scopes {
            [] => String::new(),
            scopes => format!("--scope {}", shell::quote(&scopes.join(" "))),
        };
        let hint = format!("run: {}", shell::mcpool("auth", server, &options));
        let problem = Problem::missing(format!("sign in to \"{server}\"")).with_hint(hint);
        Problem { names_server: true, scopes: Some(scopes.to_vec()), ..problem }
    }

    /// A refusal of an authorisation server: its code, and what it says about it.
    pub(super) fn by_code(what: &str, code: &str, description: Option<&str>) -> Self {
        let code = shown(code);
        let said = match description {
            Some(description) => format!("{code}: {}", shown(description)),
            None => code.clone(),
        };
        let problem = Problem::new(ProblemKind::ByCode(code), format!("{what}: {said}"));
        Problem { quotes_others: is_text(&said), ..problem }
    }

    pub(super) fn from_error(error: Error) -> Self {
        Problem { quotes_others: error.by_server(), ..Problem::refused(error.message()) }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The failure of a sign-in that a person has taken part in: another attempt would ask them again.
    pub(super) fn after_person(mut self, server: &str) -> Self {
        if matches!(self.kind, ProblemKind::Unreachable | ProblemKind::Unanswered) {
            self.kind = ProblemKind::Refused;
            let again = shell::mcpool("auth", server, "");
            self.hint.get_or_insert_with(|| format!("to sign in again, run: {again}"));
        }
        self
    }

    /// Adds a text of others to the message.
    pub(super) fn quoting(mut self, words: &str) -> Self {
        let words = shown(words);
        if !self.text.contains(&words) {
            self.text = format!("{} ({words})", self.text);
        }
        self.quotes_others |= is_text(&words);
        self
    }

    /// Whether the authorisation server refused with this code.
    pub(super) fn is_code(&self, code: &str) -> bool {
        matches!(&self.kind, ProblemKind::ByCode(of) if of == code)
    }

    /// Whether the authorisation server does not know the client, or not any more. The Python SDK 1.x calls that unauthorized.
    pub(super) fn is_about_client(&self) -> bool {
        self.is_code("invalid_client") || self.is_code("unauthorized_client")
    }

    /// Whether another attempt may help.
    pub(super) fn is_passing(&self) -> bool {
        let passing = ["temporarily_unavailable", "server_error", "slow_down"];
        let is_silent = matches!(self.kind, ProblemKind::Unreachable | ProblemKind::Unanswered);
        is_silent || passing.iter().any(|code| self.is_code(code))
    }

    /// Whether the authorisation server said that it will not accept what it was sent.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.kind, ProblemKind::ByCode(_)) && !self.is_passing()
    }

    /// Whether nothing says where to sign in.
    pub(super) fn is_undiscovered(&self) -> bool {
        self.kind == ProblemKind::Undiscovered
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The error of a sign-in that failed.
    pub(crate) fn into_error(self, server: &str) -> Error {
        let kind = match self.kind {
            ProblemKind::Missing | ProblemKind::Undiscovered | ProblemKind::TimedOut => {
                ErrorKind::AuthRequired
            }
            ProblemKind::Unreachable | ProblemKind::Unanswered => ErrorKind::ConnectFailed,
            ProblemKind::Refused | ProblemKind::ByCode(_) => ErrorKind::AuthFailed,
        };
        // The step names addresses of the sign-in, which are not for a model.
        let step = format!(": {}", self.text);
        let mut text = match kind {
            _ if self.kind == ProblemKind::TimedOut => self.text.into(),
            ErrorKind::AuthRequired => Message::new("Authentication required").detail(&step),
            _ => Message::new("OAuth authentication failed").detail(&step),
        };
        if self.quotes_others {
            text.quoting_others();
        }
        let mut error = match self.names_server {
            true => Error::new(kind, text).naming_server(server),
            false => Error::new(kind, text).with_server(server),
        };
        if kind == ErrorKind::AuthFailed {
            // Whoever signs in has to do something else.
            error = error.incurable();
        }
        if let Some(hint) = self.hint {
            error = error.with_hint(hint);
        }
        if let Some(scopes) = &self.scopes {
            error = error.with_auth_scopes(scopes);
        }
        error
    }
}

/// Whether these words of others are more than one plain word.
fn is_text(words: &str) -> bool {
    Message::default().quoting(words).quotes_others()
}

/// The beginning of a server's text, on one line.
fn shown(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = plain.take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
