//! Owns log records for those who cannot subscribe to `tracing`: a host language, which reads them, and a user who sets
//! `MCPOOL_LOG`, who gets them on stderr. A Rust program uses its own subscriber instead.
//! Invariant: a record that nobody wants is never formatted, and logging never waits for a reader.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tracing::callsite::rebuild_interest_cache;
use tracing::subscriber::set_global_default;

mod queue;
mod record;
mod sinks;
mod stderr;
mod visible;

use queue::LogQueue;
pub use record::LogRecord;
use sinks::Sinks;
pub use tracing::Level;
pub use tracing::level_filters::LevelFilter;
pub(crate) use visible::visible;

use crate::fork::Computed;

static SINKS: Computed<Arc<Sinks>> =
    Computed::new(|| Arc::new(Sinks::new(stderr::requested_level())));

/// Installed on first use. A subscriber that the program installed before stays and gets the records.
fn sinks() -> &'static Arc<Sinks> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if !INSTALLED.swap(true, Ordering::Relaxed) {
        let _ = set_global_default(SINKS.clone());
    }
    &SINKS
}

/// Writes records to stderr from now on, if the environment variable `MCPOOL_LOG` is set.
pub fn to_stderr_if_asked() {
    if stderr::requested().is_some() {
        sinks();
    }
}

/// The host language's reader. Records wait here until they are read; a slow reader loses the oldest and learns how
/// many.
pub struct LogReader(Arc<LogQueue>);

impl LogReader {
    /// Only the first caller in this process gets the reader. It receives nothing before its level is set.
    pub fn claim() -> Option<LogReader> {
        static OWNER: AtomicU32 = AtomicU32::new(0);
        let us = process::id();
        if OWNER.swap(us, Ordering::Relaxed) == us {
            return None;
        }
        let queue = Arc::new(LogQueue::new(us));
        sinks().read_by(queue.clone());
        Some(LogReader(queue))
    }

    /// Records above this level are no longer created.
    pub fn set_level(&self, level: LevelFilter) {
        if self.0.set_level(level) {
            rebuild_interest_cache();
        }
    }

    /// Waits up to `limit` for records. `None` after the last record of a closed reader.
    pub fn next_batch(&self, limit: Duration) -> Option<Vec<LogRecord>> {
        self.0.take(limit)
    }

    /// Accepts no new records; waiting ones can still be read.
    pub fn close(&self) {
        self.0.close();
        rebuild_interest_cache();
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.close();
    }
}
