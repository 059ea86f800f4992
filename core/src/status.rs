//! Owns what can be said of a server without touching it.

use serde::Serialize;

use crate::error::Error;

/// Where a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Never asked to connect.
    Idle,
    /// An attempt is under way.
    Connecting,
    /// Up.
    Connected,
    /// The last attempt failed, or the connection was lost.
    Failed,
    /// Switched off in the config.
    Disabled,
    /// Closed by us.
    Disconnected,
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
    /// How many attempts to connect there have been.
    pub attempt: u64,
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
    /// Statistics of the calls on the current connection.
    pub calls: Calls,
}

/// Where a definition comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The product whose config it was, or `code`.
    pub provider: String,
    /// The file.
    pub path: Option<String>,
    /// `explicit`, `user` or `project`.
    pub level: &'static str,
}

impl Source {
    /// A definition that was handed over in code.
    pub(crate) fn code() -> Self {
        Source { provider: "code".to_owned(), path: None, level: "explicit" }
    }
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

/// A histogram of microseconds with eight steps per doubling: quantiles within 9 %, in one kilobyte.
pub(crate) struct Latency {
    counts: Box<[u32; 256]>,
    total: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { counts: Box::new([0; 256]), total: 0 }
    }
}

impl Latency {
    pub(crate) fn record(&mut self, micros: u64) {
        self.counts[Self::bucket(micros)] += 1;
        self.total += 1;
    }

    fn bucket(micros: u64) -> usize {
        let micros = micros.max(STEPS_PER_OCTAVE);
        let octave = micros.ilog2() as u64;
        let step = (micros >> (octave - 3)) - STEPS_PER_OCTAVE;
        (((octave - 3) * STEPS_PER_OCTAVE + step) as usize).min(255)
    }

    /// The upper edge of the bucket in which the quantile lies, in milliseconds.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<f64> {
        let wanted = (self.total as f64 * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= wanted
        })? as u64;
        let (octave, step) = (bucket / STEPS_PER_OCTAVE, bucket % STEPS_PER_OCTAVE);
        Some((((STEPS_PER_OCTAVE + step + 1) << octave) as f64) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_close_to_the_truth() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), None);
        for micros in 1..=10_000 {
            latency.record(micros);
        }
        let p50 = latency.quantile(0.50).unwrap();
        let p99 = latency.quantile(0.99).unwrap();
        assert!((4.6..=5.7).contains(&p50), "{p50}");
        assert!((9.0..=11.3).contains(&p99), "{p99}");
        latency.record(u64::MAX / 2);
    }
}
