//! Owns the status of a server, which is read without contacting the server.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::source::Source;
use crate::time::{rfc3339_millis, unix_ms};

mod call_counters;

pub(crate) use call_counters::CallCounters;

/// The state of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Not connected yet, or idle until a call needs it.
    #[default]
    Idle,
    /// An attempt to connect is running.
    Connecting,
    /// Up.
    Connected,
    /// Connected, but a call timed out or an answer was invalid; a probe checks whether the server is alive.
    Degraded,
    /// The connection is lost or was never made; the next attempt is running or due.
    Reconnecting,
    /// Not connected; no more attempts are made until one is requested.
    Failed,
    /// Disabled in the config.
    Disabled,
    /// Not started or dialled because its source is not trusted.
    Blocked,
    /// The server needs a sign-in.
    NeedsAuth,
    /// Closed by us.
    Disconnected,
}

/// Why an attempt to connect was made or is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The first connect.
    Startup,
    /// The process ended, or the server is no longer reachable.
    TransportExit,
    /// The server runs but does not answer.
    ProbeFailure,
    /// The server forgot our session.
    SessionExpired,
    /// A reconnect was requested, or the definition was replaced.
    Manual,
}

impl Reason {
    /// The name in logs and events.
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
#[non_exhaustive]
pub struct ServerStatus {
    /// The name in the config.
    pub name: String,
    /// Its state.
    pub state: State,
    /// The transport; absent if the definition is invalid.
    pub transport: Option<&'static str>,
    /// The number of tools in the catalog.
    pub tool_count: usize,
    /// Why it is not connected, if there is an error.
    pub error: Option<Error>,
    /// When it connected; in JSON as text in UTC.
    #[serde(serialize_with = "as_text")]
    pub connected_since: Option<SystemTime>,
    /// How long it has been connected, in milliseconds.
    pub uptime_ms: Option<u64>,
    /// The number of attempts to connect since it was last stable.
    pub attempt: u32,
    /// The reason of the current, next or last attempt; absent while it is connected.
    pub reason: Option<Reason>,
    /// When the next automatic attempt is due, in milliseconds from now.
    pub next_retry_ms: Option<u64>,
    /// How many times it reconnected.
    pub restarts: u64,
    /// The number of managers that hold this connection.
    pub refs: usize,
    /// The id of the child process.
    pub pid: Option<u32>,
    /// The negotiated protocol version.
    pub protocol_version: Option<String>,
    /// The server's name for itself.
    pub server_name: Option<String>,
    /// The server's own version.
    pub server_version: Option<String>,
    /// The server's instructions to the model.
    pub instructions: Option<String>,
    /// Where its definition comes from.
    pub source: Source,
    /// The connections that calls for other identities have, and their states.
    pub identities: BTreeMap<String, State>,
    /// Statistics of its calls, over all restarts.
    pub calls: Calls,
}

fn as_text<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| rfc3339_millis(unix_ms(time))).serialize(to)
}

/// How calls ended. A result with `isError` counts as `ok`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Calls {
    /// Answered.
    pub ok: u64,
    /// Ended in an error other than a timeout.
    pub error: u64,
    /// Not answered in time.
    pub timeout: u64,
    /// In flight.
    pub in_flight: u64,
    /// Waiting for their turn, because of `maxConcurrency`.
    pub queued: u64,
    /// The median latency of the answers.
    pub p50_ms: Option<f64>,
    /// The 99th percentile of the latency of the answers.
    pub p99_ms: Option<f64>,
}
