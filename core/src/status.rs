//! Owns what can be said of a server without touching it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::Serialize;

use crate::error::{Error, ErrorKind};
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

const STEPS_PER_OCTAVE: u64 = 8;

/// Counts how calls end, over all sessions of a connection: a histogram of microseconds with eight steps per doubling
/// gives quantiles within 9 %, in one kilobyte.
#[derive(Default)]
pub(crate) struct CallCounters {
    ok: AtomicU64,
    error: AtomicU64,
    timeout: AtomicU64,
    in_flight: AtomicU64,
    /// Made by the first answer: most of many connections are idle.
    latency: OnceLock<Box<Latency>>,
}

type Latency = [AtomicU32; 256];

impl CallCounters {
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that nobody waits for any more counts as nothing.
    pub(crate) fn forget(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// The end of a call; `micros` when the server has answered.
    pub(crate) fn end(&self, error: Option<ErrorKind>, micros: Option<u64>) {
        self.forget();
        let count = match error {
            None => &self.ok,
            Some(ErrorKind::ToolTimeout) => &self.timeout,
            Some(_) => &self.error,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(micros) = micros {
            let latency = self.latency.get_or_init(|| Box::new([const { AtomicU32::new(0) }; 256]));
            latency[bucket(micros)].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn calls(&self) -> Calls {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Calls {
            ok: read(&self.ok),
            error: read(&self.error),
            timeout: read(&self.timeout),
            in_flight: read(&self.in_flight),
            p50_ms: self.quantile(0.50),
            p99_ms: self.quantile(0.99),
        }
    }

    /// The upper edge of the bucket in which the quantile lies, in milliseconds.
    fn quantile(&self, quantile: f64) -> Option<f64> {
        let latency = self.latency.get()?;
        let counts = || latency.iter().map(|count| u64::from(count.load(Ordering::Relaxed)));
        let wanted = (counts().sum::<u64>() as f64 * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = counts().position(|count| {
            seen += count;
            seen >= wanted
        })? as u64;
        let (octave, step) = (bucket / STEPS_PER_OCTAVE, bucket % STEPS_PER_OCTAVE);
        Some((((STEPS_PER_OCTAVE + step + 1) << octave) as f64) / 1000.0)
    }
}

fn bucket(micros: u64) -> usize {
    let micros = micros.max(STEPS_PER_OCTAVE);
    let octave = micros.ilog2() as u64;
    let step = (micros >> (octave - 3)) - STEPS_PER_OCTAVE;
    (((octave - 3) * STEPS_PER_OCTAVE + step) as usize).min(255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_close_to_the_truth() {
        let tally = CallCounters::default();
        assert_eq!(tally.calls().p50_ms, None);
        for micros in 1..=10_000 {
            tally.begin();
            tally.end(None, Some(micros));
        }
        let Calls { ok, in_flight, p50_ms, p99_ms, .. } = tally.calls();
        assert_eq!((ok, in_flight), (10_000, 0));
        assert!((4.6..=5.7).contains(&p50_ms.unwrap()), "{p50_ms:?}");
        assert!((9.0..=11.3).contains(&p99_ms.unwrap()), "{p99_ms:?}");
        tally.begin();
        tally.end(None, Some(u64::MAX / 2));
    }
}
