//! Owns log records, and reading them from `tracing` events.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use crate::time::now_ms;

/// One log record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogRecord {
    /// Its severity.
    pub level: Level,
    /// The server it is about, if any.
    pub server: Option<String>,
    /// The module that logged it.
    pub target: &'static str,
    /// The text.
    pub message: String,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
}

impl LogRecord {
    pub(super) fn new(level: Level, target: &'static str, message: String) -> Self {
        LogRecord { level, server: None, target, message, time_ms: now_ms() }
    }

    pub(super) fn read(event: &Event<'_>) -> Self {
        let mut fields = FieldVisitor::default();
        event.record(&mut fields);
        let FieldVisitor { server, mut message, others } = fields;
        message.push_str(&others);
        let metadata = event.metadata();
        let record = LogRecord::new(*metadata.level(), metadata.target(), message);
        LogRecord { server, ..record }
    }
}

#[derive(Default)]
struct FieldVisitor {
    server: Option<String>,
    message: String,
    others: String,
}

impl Visit for FieldVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "server" => self.server = Some(value.to_owned()),
            "message" => self.message.push_str(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "server" => write!(self.server.insert(String::new()), "{value:?}"),
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.others, " {name}={value:?}"),
        };
    }
}
