//! Owns every failure of mcpool: one error type. The list of kinds is in `kinds`, the parts of an error in `details`,
//! display and JSON in `shown`.
//! Kinds (their codes and what they promise) are contract; messages and hints are for people and may change. Data for
//! programs is in fields, never only in the message.
//! Invariant: no field holds a secret; code that builds an error passes URLs through [`crate::redact`] and a server's
//! texts through its mask. An error knows whether it quotes text of others; code that adds such text calls
//! [`Error::quoting`].

mod details;
mod kinds;
mod shown;

pub use details::{Cause, Executed, ForeignError, Restart, RpcError, Stage};
pub use kinds::ErrorKind;

/// The error of every verb: a kind, what happened, and what to do about it.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Body>);

#[derive(Clone, PartialEq)]
struct Body {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    server: Option<String>,
    stage: Option<Stage>,
    executed: Option<Executed>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    stderr: Option<String>,
    stdout: Option<String>,
    http_status: Option<u16>,
    rpc: Option<RpcError>,
    restart: Option<Restart>,
    retry_after_ms: Option<u64>,
    cause: Option<Cause>,
    by_server: bool,
    incurable: bool,
}

/// The longest word that counts as our own text.
const PLAIN: usize = 32;

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
            hint: None,
            server: None,
            stage: None,
            executed: None,
            exit_code: None,
            signal: None,
            stderr: None,
            stdout: None,
            http_status: None,
            rpc: None,
            restart: None,
            retry_after_ms: None,
            cause: None,
            by_server: false,
            incurable: false,
        }))
    }

    /// Sets the hint: what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the server, unless one is set already.
    pub fn with_server(mut self, server: &str) -> Self {
        self.0.server.get_or_insert_with(|| server.to_owned());
        self
    }

    /// Sets the stage that failed, unless a more exact one is set already.
    pub fn with_stage(mut self, stage: Stage) -> Self {
        self.0.stage.get_or_insert(stage);
        self
    }

    /// Sets whether the tool ran, which makes this the error of a call.
    pub fn with_executed(mut self, executed: Executed) -> Self {
        self.0.executed = Some(executed);
        self.with_stage(Stage::Call)
    }

    /// Sets how the server's process ended.
    pub(crate) fn with_exit(mut self, exit_code: Option<i32>, signal: Option<i32>) -> Self {
        (self.0.exit_code, self.0.signal) = (exit_code, signal);
        self
    }

    /// Attaches the last lines of the server's stderr, already masked, unless there are some.
    pub(crate) fn with_stderr(mut self, stderr: Option<String>) -> Self {
        self.0.stderr = self.0.stderr.or(stderr);
        self
    }

    /// Attaches the server's output that is not messages, already masked, unless there is some.
    pub(crate) fn with_stdout(mut self, stdout: Option<String>) -> Self {
        self.0.stdout = self.0.stdout.or(stdout);
        self
    }

    /// Attaches the HTTP status that refused the request.
    pub(crate) fn with_http_status(mut self, status: u16) -> Self {
        self.0.http_status = Some(status);
        self
    }

    /// Attaches the server's JSON-RPC error.
    pub fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.0.rpc = Some(rpc);
        self.0.by_server = true;
        self
    }

    /// Attaches the cause. The message may repeat the cause's, including text of others in it.
    pub(crate) fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        if let Cause::Error(error) = &cause {
            self.0.by_server |= error.by_server();
        }
        self.0.cause = Some(cause);
        self
    }

    /// Records that the message or hint quotes this text of others: of a server, of a gateway in front of it, of a
    /// project's file. One short word of harmless characters, such as a name or an address, does not count.
    pub(crate) fn quoting(mut self, words: &str) -> Self {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/+:".contains(&b);
        self.0.by_server |= words.len() > PLAIN || !words.bytes().all(is_plain);
        self
    }

    /// Attaches the state of the restart; the error of its last attempt becomes the cause.
    pub(crate) fn with_restart(mut self, restart: Restart) -> Self {
        self.0.cause = restart.last_error.clone().map(Cause::Error);
        self.0.restart = Some(restart);
        self
    }

    /// Attaches when the server wants the retry.
    pub(crate) fn with_retry_after_ms(mut self, ms: u64) -> Self {
        self.0.retry_after_ms = Some(ms);
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

    /// The same message as the error of a failed connect, without a tool.
    pub(crate) fn into_connect(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self.0.executed = None;
        self.0.stage = self.0.stage.filter(|stage| *stage != Stage::Call);
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// The kind's stable code.
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }
    /// Whether the same request may succeed later without any change.
    pub fn retryable(&self) -> bool {
        self.0.kind.retryable()
    }
    /// What happened.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// The server.
    pub fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }
    /// The stage that failed; `None` if a server was lost between calls, or if there is no server.
    pub fn stage(&self) -> Option<Stage> {
        self.0.stage
    }
    /// Whether the tool ran, if this is the error of a call.
    pub fn executed(&self) -> Option<Executed> {
        self.0.executed
    }
    /// The exit code of the server's process.
    pub fn exit_code(&self) -> Option<i32> {
        self.0.exit_code
    }
    /// The signal that ended the server's process.
    pub fn signal(&self) -> Option<i32> {
        self.0.signal
    }
    /// The last lines of the server's stderr, for failed starts and for processes that ended.
    pub fn stderr(&self) -> Option<&str> {
        self.0.stderr.as_deref()
    }
    /// The first lines of stdout that are not messages, for failed starts.
    pub fn stdout(&self) -> Option<&str> {
        self.0.stdout.as_deref()
    }
    /// The HTTP status that refused the request.
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }
    /// The server's JSON-RPC error, for `TOOL_FAILED`, refused handshakes and refusals by HTTP status.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }
    /// Whether the message or hint contains text of the server, or of the author of its definition. A model should
    /// trust it as little as a result.
    pub fn by_server(&self) -> bool {
        self.0.by_server || self.0.kind == ErrorKind::ConfigInvalid
    }
    /// The state of the restart, for `mcp_restart_in_progress` and `mcp_restart_failed`.
    pub fn restart(&self) -> Option<&Restart> {
        self.0.restart.as_ref()
    }
    /// When to retry, in milliseconds: the `Retry-After` of a 429 or 503.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.0.retry_after_ms
    }
    /// The cause: the server's failure behind the error of a call, or an error of the system or of a library.
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    /// Whether the server's program was not found.
    #[cfg(feature = "cli")]
    pub(crate) fn is_program_missing(&self) -> bool {
        let missing = rustix::io::Errno::NOENT.raw_os_error();
        let is_missing = |cause: &Cause| match cause {
            Cause::Foreign(foreign) => foreign.errno == Some(missing),
            Cause::Error(_) => false,
        };
        self.0.stage == Some(Stage::Spawn) && self.0.cause.as_ref().is_some_and(is_missing)
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
        let long = "x".repeat(PLAIN + 1);
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
