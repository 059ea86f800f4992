//! Owns what a log record is, and how it is read from an event of `tracing`.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use crate::time::now_ms;

/// One thing worth telling.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogRecord {
    /// How important it is.
    pub level: Level,
    /// The server concerned, where there is one.
    pub server: Option<String>,
    /// The part of mcpool that speaks.
    pub target: &'static str,
    /// What there is to tell.
    pub message: String,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
}

impl LogRecord {
    pub(super) fn new(level: Level, target: &'static str, message: String) -> Self {
        LogRecord { level, server: None, target, message, time_ms: now_ms() }
    }

    pub(super) fn read(event: &Event<'_>) -> Self {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields { server, mut message, others } = fields;
        message.push_str(&others);
        let metadata = event.metadata();
        let record = LogRecord::new(*metadata.level(), metadata.target(), message);
        LogRecord { server, ..record }
    }
}

#[derive(Default)]
struct Fields {
    server: Option<String>,
    message: String,
    others: String,
}

impl Visit for Fields {
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
