//! Owns passing the core's log records to Python: a Python thread waits here and passes them to `logging`.

use std::time::Duration;

use mcpool::host::logs::{self, Level, LevelFilter, LogRecord};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The levels of `logging`; the first is below all named ones.
const LEVELS: [(i32, LevelFilter); 5] = [
    (5, LevelFilter::TRACE),
    (10, LevelFilter::DEBUG),
    (20, LevelFilter::INFO),
    (30, LevelFilter::WARN),
    (40, LevelFilter::ERROR),
];

fn number_of(level: Level) -> i32 {
    LEVELS.iter().find(|(_, filter)| *filter == level).map_or(0, |(number, _)| *number)
}

/// Sets the core's log level from Python's loggers; the first call in a process starts listening.
pub(crate) fn follow(py: Python<'_>) -> PyResult<()> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("mcpool._logs").map(Bound::unbind))?;
    module.bind(py).call_method0(intern!(py, "follow")).map(drop)
}

/// The records of this process; there is one reader.
#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct LogReader(logs::LogReader);

/// Level, server, target, message, milliseconds since the Unix epoch.
type Row = (i32, Option<String>, &'static str, String, u64);

fn row(record: LogRecord) -> Row {
    let LogRecord { level, server, target, message, time_ms, .. } = record;
    (number_of(level), server, target, message, time_ms)
}

#[pymethods]
impl LogReader {
    /// The first caller in this process gets the reader, no other does.
    #[staticmethod]
    fn claim() -> Option<LogReader> {
        logs::LogReader::claim().map(LogReader)
    }

    /// Records below this level of `logging` are no longer made.
    fn set_level(&self, level: i32) {
        let wanted = LEVELS.iter().find(|(number, _)| *number >= level);
        self.0.set_level(wanted.map_or(LevelFilter::OFF, |(_, filter)| *filter));
    }

    /// Blocks until there are records, or for this many seconds; None after the last one.
    fn next_batch(&self, py: Python<'_>, seconds: f64) -> Option<Vec<Row>> {
        // Available records are taken without releasing the interpreter, which might be gone on return.
        let batch = match self.0.next_batch(Duration::ZERO) {
            Some(batch) if batch.is_empty() => {
                py.detach(|| self.0.next_batch(Duration::from_secs_f64(seconds)))
            }
            batch => batch,
        };
        batch.map(|batch| batch.into_iter().map(row).collect())
    }

    /// No new records arrive; queued ones can still be read.
    fn close(&self) {
        self.0.close();
    }
}
