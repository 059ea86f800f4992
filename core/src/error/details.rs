//! Owns the parts of an error that are their own types: the stage, whether the tool ran, the server's answer, the state
//! of the restart, and the cause.
//! Invariant: the names of [`Stage`] and [`Executed`] are stable and the same in Rust, Python and Node.

use std::fmt;

use serde::Serialize;

use super::Error;

/// The stage that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// Resolving the values of the definition.
    Resolve,
    /// Finding and starting the program.
    Spawn,
    /// Reaching the server over the network.
    Dial,
    /// `initialize`.
    Handshake,
    /// The first tool list.
    ListTools,
    /// A tool call.
    Call,
}

impl Stage {
    /// The stable name: `resolve`, `spawn`, `dial`, `handshake`, `list_tools` or `call`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Resolve => "resolve",
            Stage::Spawn => "spawn",
            Stage::Dial => "dial",
            Stage::Handshake => "handshake",
            Stage::ListTools => "list_tools",
            Stage::Call => "call",
        }
    }
}

/// Whether the tool ran, as far as can be known when a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Executed {
    /// It provably was never sent, or never read.
    No,
    /// The server answered.
    Yes,
    /// It was sent, and the outcome is unknown.
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
#[non_exhaustive]
pub struct RpcError {
    /// JSON-RPC error code.
    pub code: i64,
    /// The server's message.
    pub message: String,
    /// Other data from the server; data over the `textBytes` limit becomes the beginning of its JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

/// The state of a restart, for a call that comes while its server is down.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Restart {
    /// The number of attempts since the server was last stable.
    pub attempt: u32,
    /// When the next attempt is due, in milliseconds from now; absent while one is running.
    pub next_retry_ms: Option<u64>,
    /// How the last attempt failed.
    pub last_error: Option<Error>,
}

/// The cause of an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Cause {
    /// Another mcpool error: the server's failure behind the error of a call.
    Error(Error),
    /// An error of the system or of a library.
    Foreign(ForeignError),
}

/// An error of the system or of a library, without the values that the server was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ForeignError {
    /// Its message.
    pub message: String,
    /// Its errno.
    pub errno: Option<i32>,
}

impl Cause {
    /// As the source of an error.
    pub(super) fn as_std(&self) -> &(dyn std::error::Error + 'static) {
        match self {
            Cause::Error(error) => error,
            Cause::Foreign(error) => error,
        }
    }
}

impl From<Error> for Cause {
    fn from(error: Error) -> Self {
        Cause::Error(error)
    }
}

impl From<ForeignError> for Cause {
    fn from(error: ForeignError) -> Self {
        Cause::Foreign(error)
    }
}

/// The message of an I/O error contains no value of a definition; other errors are masked before they become a
/// [`ForeignError`].
impl From<&std::io::Error> for Cause {
    fn from(error: &std::io::Error) -> Self {
        Cause::Foreign(ForeignError { message: error.to_string(), errno: error.raw_os_error() })
    }
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ForeignError {}
