//! Owns every way in which mcpool can fail: one list of kinds, one error type.
//! Kinds (their codes and what they promise) are contract; messages and hints are for people and may change.
//! Invariant: no message holds a secret; whoever builds one passes URLs through [`crate::redact`]. An error knows whether
//! it repeats words of others; whoever puts them into one says so with [`Error::quoting`].

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

macro_rules! kinds {
    ($($kind:ident $code:literal $retryable:literal $doc:literal,)*) => {
        /// What went wrong. The code is stable and the same in Rust, Python and Node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = $doc] $kind,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the list.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// The stable code.
            pub fn code(self) -> &'static str {
                match self { $(ErrorKind::$kind => $code,)* }
            }

            /// The kind of a stable code.
            pub fn from_code(code: &str) -> Option<ErrorKind> {
                ErrorKind::ALL.iter().copied().find(|kind| kind.code() == code)
            }

            /// Whether the same request may succeed later without any change.
            pub fn retryable(self) -> bool {
                match self { $(ErrorKind::$kind => $retryable,)* }
            }

            /// One sentence about the kind.
            pub fn about(self) -> &'static str {
                match self { $(ErrorKind::$kind => $doc,)* }
            }
        }
    };
}

kinds! {
    ConfigInvalid "CONFIG_INVALID" false "A server definition or an option cannot be used as written.",
    ConfigConflict "CONFIG_CONFLICT" false "Another manager holds a server of this name with a different definition.",
    ConfigIo "CONFIG_IO" false "A config file cannot be read or written.",
    DiscoveryFailed "DISCOVERY_FAILED" false "Looking for config files failed as a whole.",
    Untrusted "UNTRUSTED" false "A project's server is not started or dialled before its source is trusted.",
    ServerDisabled "SERVER_DISABLED" false "The server is switched off in its config.",
    ServerNotFound "SERVER_NOT_FOUND" false "The manager has no server of this name.",
    ConnectFailed "CONNECT_FAILED" true "The server could not be started or reached.",
    ConnectTimeout "CONNECT_TIMEOUT" true "The server did not get ready within its timeout.",
    HandshakeFailed "HANDSHAKE_FAILED" true "The server answered, but not as an MCP server that we can speak with.",
    AuthRequired "AUTH_REQUIRED" false "The server wants a sign-in.",
    AuthFailed "AUTH_FAILED" false "The server refused the credentials.",
    ToolUnavailable "TOOL_UNAVAILABLE" true "The tool's server is not there to take the call, or takes none now.",
    ToolRejected "TOOL_REJECTED" false "The server has no such tool, or refuses the call.",
    ToolFailed "TOOL_FAILED" false "The server answered the call with a JSON-RPC error.",
    ToolTimeout "TOOL_TIMEOUT" true "The tool did not answer in time.",
    InvalidArguments "INVALID_ARGUMENTS" false "The arguments are not a JSON object.",
    NotApproved "NOT_APPROVED" false "The approval callback refused the call.",
    ConnectionLost "CONNECTION_LOST" true "The connection ended while the call was under way.",
    RestartInProgress "mcp_restart_in_progress" true "The server is being restarted.",
    RestartFailed "mcp_restart_failed" true "The last restart failed; the next one is due later.",
    ProtocolError "PROTOCOL_ERROR" false "The server sent an answer that cannot be read.",
    LimitExceeded "LIMIT_EXCEEDED" false "A message or a queue went over its limit.",
    Closed "CLOSED" false "The manager is closed.",
}

/// Whether the tool ran, as far as can be known when a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Executed {
    /// It provably never left, or was never read.
    No,
    /// The server answered.
    Yes,
    /// It left, and nobody knows what became of it.
    Unknown,
}

impl Executed {
    /// `no`, `yes` or `unknown`.
    pub fn from_name(name: &str) -> Option<Executed> {
        match name {
            "no" => Some(Executed::No),
            "yes" => Some(Executed::Yes),
            "unknown" => Some(Executed::Unknown),
            _ => None,
        }
    }
}

/// The error object of a JSON-RPC answer, as the server sent it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    /// JSON-RPC error code.
    pub code: i64,
    /// The server's words.
    pub message: String,
    /// Whatever else the server attached; what is over its `textBytes` limit as the text that the JSON begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

/// Where a restart stands, when a call comes while its server is down.
#[derive(Clone, Debug, Serialize)]
pub struct Restart {
    /// How many attempts there have been since the server was last stable.
    pub attempt: u32,
    /// When the next attempt is due, in milliseconds from now; absent while one is under way.
    pub next_retry_ms: Option<u64>,
    /// How the last attempt failed.
    pub last_error: Option<Error>,
}

/// The error of every verb: a kind, what happened, and what to do about it.
#[derive(Clone)]
pub struct Error(Box<Body>);

#[derive(Clone)]
struct Body {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    server: Option<String>,
    executed: Option<Executed>,
    rpc: Option<RpcError>,
    restart: Option<Restart>,
    retry_after_ms: Option<u64>,
    by_server: bool,
    incurable: bool,
}

/// The longest word that is shown as one of ours.
const PLAIN: usize = 32;

/// Shorthand for the crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The manager was closed, or is gone.
    pub(crate) fn closed() -> Self {
        Error::new(ErrorKind::Closed, "The manager is closed").with_hint("create a new Manager")
    }

    /// An error of `kind`; `message` says what happened.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Body {
            kind,
            message: message.into(),
            hint: None,
            server: None,
            executed: None,
            rpc: None,
            restart: None,
            retry_after_ms: None,
            by_server: false,
            incurable: false,
        }))
    }

    /// Says what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Names the server concerned, unless one is named already.
    pub fn with_server(mut self, server: &str) -> Self {
        self.0.server.get_or_insert_with(|| server.to_owned());
        self
    }

    /// Says whether the tool ran.
    pub fn with_executed(mut self, executed: Executed) -> Self {
        self.0.executed = Some(executed);
        self
    }

    /// Attaches the server's JSON-RPC error.
    pub fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.0.rpc = Some(rpc);
        self.0.by_server = true;
        self
    }

    /// Says that message or hint repeat these words of somebody else: of a server, of whoever answers in its place, of
    /// a project's file. One short word of harmless characters, as names and addresses are, changes nothing.
    pub(crate) fn quoting(mut self, words: &str) -> Self {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/+:".contains(&b);
        self.0.by_server |= words.len() > PLAIN || !words.bytes().all(is_plain);
        self
    }

    /// Says that the message repeats that of another error.
    pub(crate) fn because_of(mut self, cause: &Error) -> Self {
        self.0.by_server |= cause.by_server();
        self
    }

    /// Says where the restart stands.
    pub(crate) fn with_restart(mut self, restart: Restart) -> Self {
        self.0.restart = Some(restart);
        self
    }

    /// Says when the server wants to be asked again.
    pub(crate) fn with_retry_after_ms(mut self, ms: u64) -> Self {
        self.0.retry_after_ms = Some(ms);
        self
    }

    /// Says that another attempt to connect is not likely to end otherwise.
    pub(crate) fn incurable(mut self) -> Self {
        self.0.incurable = true;
        self
    }

    pub(crate) fn is_incurable(&self) -> bool {
        self.0.incurable
    }

    /// The same words as the error of a failed connect, where no tool is in question.
    pub(crate) fn into_connect(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self.0.executed = None;
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
    /// The server concerned.
    pub fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }
    /// Whether the tool ran, where that matters.
    pub fn executed(&self) -> Option<Executed> {
        self.0.executed
    }
    /// The server's JSON-RPC error, for `TOOL_FAILED`, refused handshakes and what an HTTP status refused.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }
    /// Whether words of the server, or of whoever wrote its definition, stand in message or hint. A model should see them
    /// as little trusted as a result.
    pub fn by_server(&self) -> bool {
        self.0.by_server || self.0.kind == ErrorKind::ConfigInvalid
    }
    /// Where the restart stands, for `mcp_restart_in_progress` and `mcp_restart_failed`.
    pub fn restart(&self) -> Option<&Restart> {
        self.0.restart.as_ref()
    }
    /// When the server wants to be asked again, in milliseconds: the `Retry-After` of a 429 or 503.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.0.retry_after_ms
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.code())
    }
}

impl std::error::Error for Error {}

/// Where something cannot fail, there is no error to make.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let body = &self.0;
        let mut out = serializer.serialize_struct("Error", 10)?;
        out.serialize_field("code", self.code())?;
        out.serialize_field("message", &body.message)?;
        out.serialize_field("hint", &body.hint)?;
        out.serialize_field("server", &body.server)?;
        out.serialize_field("retryable", &self.retryable())?;
        out.serialize_field("executed", &body.executed)?;
        out.serialize_field("rpc", &body.rpc)?;
        out.serialize_field("restart", &body.restart)?;
        out.serialize_field("retry_after_ms", &body.retry_after_ms)?;
        out.serialize_field("by_server", &self.by_server())?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique() {
        let codes: std::collections::HashSet<_> =
            ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn words_of_others_are_known_unless_they_are_plain() {
        let quoting = |words: &str| Error::new(ErrorKind::ProtocolError, words).quoting(words);
        for plain in ["", "text/html", "2025-06-18", "read_file", "https://a.example:8080/mcp"] {
            assert!(!quoting(plain).by_server(), "{plain}");
        }
        let long = "x".repeat(PLAIN + 1);
        for words in ["call it", "a\nb", "<b>", "naïve", "\"", "a\u{200b}", "(x)", &long] {
            assert!(quoting(words).by_server(), "{words}");
            let told = Error::new(ErrorKind::ToolUnavailable, words).because_of(&quoting(words));
            assert!(told.with_executed(Executed::No).by_server(), "{words}");
        }
        assert!(!quoting("a").quoting("b").by_server());
        assert!(quoting("a b").quoting("c").by_server());
    }

    #[test]
    fn the_hint_stands_apart_from_the_message() {
        let error = Error::new(ErrorKind::Closed, "it is closed").with_hint("open another");
        assert_eq!(error.message(), "it is closed");
        assert_eq!(error.to_string(), "it is closed (open another)");
    }
}
