//! Owns every failure of mcpool: one error type. The list of kinds is in `kinds`, the list of fields with their accessors
//! and the JSON in `fields`, the types of their values in `details`, the text for people in `display`.
//! Kinds (their codes and what they promise) are contract; messages and hints are for people and may change. Data for
//! programs is in fields, never only in the message.
//! Invariant: no field holds a secret; code that builds an error passes URLs through [`crate::redact`] and a server's
//! texts through its mask. An error knows whether it quotes text of others; code that adds such text calls
//! [`Error::quoting`].

mod details;
mod display;
mod fields;
#[cfg(test)]
mod generated;
mod kinds;

pub use details::{Cause, Executed, ForeignError, Restart, RpcError, Stage};
pub use kinds::ErrorKind;

use fields::Fields;

/// The error of every verb: a kind, what happened, and what to do about it.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Body>);

#[derive(Clone, PartialEq)]
struct Body {
    kind: ErrorKind,
    message: String,
    fields: Fields,
    /// Whether the message or hint quotes text of others; see [`Error::quoting`].
    quotes_others: bool,
    /// Whether another attempt to connect is unlikely to help.
    incurable: bool,
}

/// A longer word of others counts as text.
const LONGEST_PLAIN_WORD: usize = 32;

/// Shorthand for the crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The manager was closed or dropped.
    pub(crate) fn closed() -> Self {
        Error::new(ErrorKind::Closed, "The manager is closed").with_hint("create a new Manager")
    }

    /// No server has this name. For a call that is `ToolUnavailable`, otherwise `ServerNotFound`.
    pub(crate) fn no_such_server(kind: ErrorKind, name: &str) -> Self {
        Error::new(kind, format!("There is no server \"{name}\"")).with_server(name)
    }

    /// The server is disconnected without having failed.
    pub(crate) fn disconnected(server: &str) -> Self {
        let text = format!("Server \"{server}\" is disconnected");
        Error::new(ErrorKind::ToolUnavailable, text).with_server(server)
    }

    /// An error of `kind`; `message` says what happened.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Body {
            kind,
            message: message.into(),
            fields: Fields::default(),
            quotes_others: false,
            incurable: false,
        }))
    }

    /// Sets the hint: what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.fields.hint = Some(hint.into());
        self
    }

    /// Sets the server, unless one is set already.
    pub fn with_server(mut self, server: &str) -> Self {
        self.0.fields.server.get_or_insert_with(|| server.to_owned());
        self
    }

    /// Sets the stage that failed, unless a more exact one is set already.
    pub fn with_stage(mut self, stage: Stage) -> Self {
        self.0.fields.stage.get_or_insert(stage);
        self
    }

    /// Sets whether the tool ran, which makes this the error of a call.
    pub fn with_executed(mut self, executed: Executed) -> Self {
        self.0.fields.executed = Some(executed);
        self.with_stage(Stage::Call)
    }

    /// Sets how the server's process ended.
    pub(crate) fn with_exit(mut self, exit_code: Option<i32>, signal: Option<i32>) -> Self {
        (self.0.fields.exit_code, self.0.fields.signal) = (exit_code, signal);
        self
    }

    /// Attaches the last lines of the server's stderr, already masked, unless some are attached already.
    pub(crate) fn with_stderr(mut self, stderr: Option<String>) -> Self {
        self.0.fields.stderr = self.0.fields.stderr.or(stderr);
        self
    }

    /// Attaches the lines of stdout that are not messages, already masked, unless some are attached already.
    pub(crate) fn with_stdout(mut self, stdout: Option<String>) -> Self {
        self.0.fields.stdout = self.0.fields.stdout.or(stdout);
        self
    }

    /// Sets the HTTP status that refused the request.
    pub(crate) fn with_http_status(mut self, status: u16) -> Self {
        self.0.fields.http_status = Some(status);
        self
    }

    /// Sets the page to open in a browser.
    pub(crate) fn with_auth_url(mut self, url: String) -> Self {
        self.0.fields.auth_url = Some(url);
        self
    }

    /// Sets the scopes that a sign-in has to ask for.
    pub(crate) fn with_auth_scopes(mut self, scopes: &[String]) -> Self {
        self.0.fields.auth_scopes = Some(scopes.join(" "));
        self
    }

    /// Sets the server's JSON-RPC error, whose message this error quotes.
    pub fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.0.fields.rpc = Some(rpc);
        self.0.quotes_others = true;
        self
    }

    /// Sets the cause. The message may repeat the message of the cause, including text of others in it.
    pub(crate) fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        if let Cause::Error(error) = &cause {
            self.0.quotes_others |= error.by_server();
        }
        self.0.fields.cause = Some(cause);
        self
    }

    /// Records that the message or hint quotes this text of others: of a server, of a gateway in front of it, of a
    /// project's file. One short word of harmless characters, such as a name or an address, does not count.
    pub(crate) fn quoting(mut self, words: &str) -> Self {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/+:".contains(&b);
        self.0.quotes_others |= words.len() > LONGEST_PLAIN_WORD || !words.bytes().all(is_plain);
        self
    }

    /// Sets the state of the restart; the error of its last attempt becomes the cause.
    pub(crate) fn with_restart(mut self, restart: Restart) -> Self {
        self.0.fields.cause = restart.last_error.clone().map(Cause::Error);
        self.0.fields.restart = Some(restart);
        self
    }

    /// Sets when the server wants the retry.
    pub(crate) fn with_retry_after_ms(mut self, ms: u64) -> Self {
        self.0.fields.retry_after_ms = Some(ms);
        self
    }

    /// Marks that another attempt to connect is unlikely to help.
    pub(crate) fn incurable(mut self) -> Self {
        self.0.incurable = true;
        self
    }

    pub(crate) fn is_incurable(&self) -> bool {
        self.0.incurable
    }

    /// Turns the error of a request into the error of the connect that sent it: no tool was called.
    pub(crate) fn into_connect(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self.0.fields.executed = None;
        self.0.fields.stage = self.0.fields.stage.filter(|stage| *stage != Stage::Call);
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the server's program was not found.
    #[cfg(feature = "cli")]
    pub(crate) fn is_program_missing(&self) -> bool {
        let is_missing = |cause: &Cause| match cause {
            Cause::Foreign(foreign) => foreign.errno == Some(crate::file_system::NOT_FOUND),
            Cause::Error(_) => false,
        };
        self.0.fields.stage == Some(Stage::Spawn)
            && self.0.fields.cause.as_ref().is_some_and(is_missing)
    }
}

/// For conversions that cannot fail.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_known_unless_they_are_plain() {
        let quoting = |words: &str| Error::new(ErrorKind::ProtocolError, words).quoting(words);
        for plain in ["", "text/html", "2025-06-18", "read_file", "https://a.example:8080/mcp"] {
            assert!(!quoting(plain).by_server(), "{plain}");
        }
        let long = "x".repeat(LONGEST_PLAIN_WORD + 1);
        for words in ["call it", "a\nb", "<b>", "naïve", "\"", "a\u{200b}", "(x)", &long] {
            assert!(quoting(words).by_server(), "{words}");
            let told = Error::new(ErrorKind::ToolUnavailable, words).caused_by(quoting(words));
            assert!(told.with_executed(Executed::No).by_server(), "{words}");
        }
        assert!(!quoting("a").quoting("b").by_server());
        assert!(quoting("a b").quoting("c").by_server());
    }

    #[test]
    fn a_refused_request_of_a_connect_is_no_call() {
        let called = Error::new(ErrorKind::ToolFailed, "no").with_executed(Executed::Yes);
        assert_eq!(called.stage(), Some(Stage::Call));
        let connect = called.into_connect(ErrorKind::HandshakeFailed);
        assert_eq!((connect.stage(), connect.executed()), (None, None));
        let unreached = Error::new(ErrorKind::ConnectionLost, "no").with_stage(Stage::Dial);
        let connect = unreached.with_executed(Executed::No).into_connect(ErrorKind::ConnectFailed);
        assert_eq!(connect.with_stage(Stage::Handshake).stage(), Some(Stage::Dial));
    }
}
