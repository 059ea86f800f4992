//! Owns what can be said of a server without touching it.

use serde::Serialize;

use crate::error::Error;
use crate::source::Source;

/// Where a server stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Not asked to connect, or asleep until a call needs it.
    #[default]
    Idle,
    /// An attempt is under way.
    Connecting,
    /// Up.
    Connected,
    /// Up, but a call timed out or an answer was odd; a probe is finding out whether the server lives.
    Degraded,
    /// Lost, or never reached so far; the next attempt is under way or due.
    Reconnecting,
    /// Not up, and nothing more is tried until somebody asks.
    Failed,
    /// Switched off in the config.
    Disabled,
    /// Not started, or not dialled, because its source is not trusted.
    Blocked,
    /// The server wants a sign-in.
    NeedsAuth,
    /// Closed by us.
    Disconnected,
}

/// Why an attempt to connect was made or is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// It was asked for the first time.
    Startup,
    /// The process ended, or the server cannot be reached any more.
    TransportExit,
    /// The server runs and does not answer.
    ProbeFailure,
    /// The server forgot our session.
    SessionExpired,
    /// Somebody asked again, or the definition was replaced.
    Manual,
}

impl Reason {
    /// The word used in logs and events.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Startup => "startup",
            Reason::TransportExit => "transport-exit",
            Reason::ProbeFailure => "probe-failure",
            Reason::SessionExpired => "session-expired",
            Reason::Manual => "manual",
        }
    }
}

/// One server's status.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStatus {
    /// The name in the config.
    pub name: String,
    /// Where it stands.
    pub state: State,
    /// How it is reached; absent when its definition is invalid.
    pub transport: Option<&'static str>,
    /// Tools in the catalog.
    pub tool_count: usize,
    /// Why it is not up, where there is a reason.
    pub error: Option<Error>,
    /// When it came up, in milliseconds since the Unix epoch.
    pub connected_since_ms: Option<u64>,
    /// How many attempts to connect there have been since it was last stable.
    pub attempt: u32,
    /// Why an attempt is under way or due, or was the last one; absent while it is up.
    pub reason: Option<Reason>,
    /// When the next attempt is due by itself, in milliseconds from now.
    pub next_retry_ms: Option<u64>,
    /// How often it came up again after the first time.
    pub restarts: u64,
    /// How many managers hold this connection.
    pub refs: usize,
    /// The child process.
    pub pid: Option<u32>,
    /// The protocol version agreed on.
    pub protocol_version: Option<String>,
    /// The server's name for itself.
    pub server_name: Option<String>,
    /// The server's own version.
    pub server_version: Option<String>,
    /// The server's words to the model.
    pub instructions: Option<String>,
    /// Where its definition comes from.
    pub source: Source,
    /// Statistics of the calls, restarts included.
    pub calls: Calls,
}

/// How calls ended. A tool that says `isError` has answered: that is `ok`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Calls {
    /// Answered.
    pub ok: u64,
    /// Ended in an error other than a timeout.
    pub error: u64,
    /// Not answered in time.
    pub timeout: u64,
    /// Under way.
    pub in_flight: u64,
    /// Half of the answers came within this time.
    pub p50_ms: Option<f64>,
    /// Ninety-nine in a hundred answers came within this time.
    pub p99_ms: Option<f64>,
}
