//! Counts the outcomes of a connection's calls, over all its sessions. The sessions count, the status reads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Calls;
use crate::error::ErrorKind;

const STEPS_PER_OCTAVE: u64 = 8;

/// Counts the outcomes of calls, over all sessions of a connection. A histogram of microseconds with eight steps per
/// doubling gives quantiles within 9 %, in one kilobyte.
#[derive(Default)]
pub(crate) struct CallCounters {
    ok: AtomicU64,
    error: AtomicU64,
    timeout: AtomicU64,
    in_flight: AtomicU64,
    /// Allocated by the first answer, because most connections are idle.
    latency: OnceLock<Box<Latency>>,
}

type Latency = [AtomicU32; 256];

impl CallCounters {
    pub(crate) fn count_started(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A cancelled call is not counted.
    pub(crate) fn count_cancelled(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records the end of a call; `micros` is set if the server has answered.
    pub(crate) fn count_ended(&self, error: Option<ErrorKind>, micros: Option<u64>) {
        self.count_cancelled();
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
            queued: 0,
            p50_ms: self.quantile(0.50),
            p99_ms: self.quantile(0.99),
        }
    }

    /// The upper bound of the bucket that contains the quantile, in milliseconds.
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
    fn quantiles_are_within_nine_percent() {
        let counters = CallCounters::default();
        assert_eq!(counters.calls().p50_ms, None);
        for micros in 1..=10_000 {
            counters.count_started();
            counters.count_ended(None, Some(micros));
        }
        let Calls { ok, in_flight, p50_ms, p99_ms, .. } = counters.calls();
        assert_eq!((ok, in_flight), (10_000, 0));
        assert!((4.6..=5.7).contains(&p50_ms.unwrap()), "{p50_ms:?}");
        assert!((9.0..=11.3).contains(&p99_ms.unwrap()), "{p99_ms:?}");
        counters.count_started();
        counters.count_ended(None, Some(u64::MAX / 2));
    }
}
