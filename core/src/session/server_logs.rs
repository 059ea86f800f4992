//! Owns a server's `notifications/message`: maps the level, and reports the text as an event and a log record.
//! Invariant: the text is bounded, contains none of the values that the server was given, and no terminal control
//! characters.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::Level;

use super::text::TextReader;

use crate::event::{EventKind, LogOrigin};
use crate::logs::visible;
use crate::redact::shortened;

const TARGET: &str = "mcpool::server";
/// How many characters a log record shows.
const RECORD: usize = 4 << 10;
/// How many bytes the names of a level and of a logger may have.
const NAME: usize = 200;

pub(super) struct ServerLog {
    level: String,
    logger: Option<String>,
    data: Value,
}

impl ServerLog {
    pub(super) fn read(params: &str, texts: &TextReader) -> Option<ServerLog> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            level: &'a RawValue,
            #[serde(borrow, default)]
            logger: Option<&'a RawValue>,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
        }
        let Params { level, logger, data } = serde_json::from_str(params).ok()?;
        let names = texts.within(NAME);
        Some(ServerLog {
            level: names.text(level)?,
            logger: logger.and_then(|logger| names.text(logger)),
            data: data.map(|data| texts.value(data)).unwrap_or_default(),
        })
    }

    /// Writes it to the log, if its level is enabled.
    pub(super) fn log(&self, server: &str) {
        // `tracing` needs a constant level at each call site.
        macro_rules! log {
            ($level:expr) => {
                if tracing::enabled!(target: TARGET, $level) {
                    tracing::event!(target: TARGET, $level, server, "{}", self.line());
                }
            };
        }
        match level_of(&self.level) {
            Level::ERROR => log!(Level::ERROR),
            Level::WARN => log!(Level::WARN),
            Level::INFO => log!(Level::INFO),
            _ => log!(Level::DEBUG),
        }
    }

    fn line(&self) -> String {
        let words = match &self.data {
            Value::String(text) => shortened(text, RECORD),
            data => shortened(&data.to_string(), RECORD),
        };
        let line = match &self.logger {
            Some(logger) => format!("{logger}: {words}"),
            None => words,
        };
        visible(&line).into_owned()
    }

    pub(super) fn into_event(self) -> EventKind {
        let ServerLog { level, logger, data } = self;
        EventKind::Log { origin: LogOrigin::Server, level, logger, data }
    }
}

/// Maps the eight syslog levels of the protocol to our five. An unknown level is shown as info.
fn level_of(name: &str) -> Level {
    match name {
        "debug" => Level::DEBUG,
        "warning" => Level::WARN,
        "error" | "critical" | "alert" | "emergency" => Level::ERROR,
        _ => Level::INFO,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::redact::{Mask, MaskBuilder};

    const LIMIT: usize = 10_000;

    fn read(params: &Value) -> ServerLog {
        let mut values = MaskBuilder::default();
        values.value("hunter2");
        ServerLog::read(&params.to_string(), &TextReader::new(values.build(), LIMIT)).unwrap()
    }

    #[test]
    fn every_level_of_the_protocol_is_mapped() {
        let levels =
            ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "?"];
        let names = levels.map(|name| level_of(name).as_str());
        assert_eq!(
            names,
            ["DEBUG", "INFO", "INFO", "WARN", "ERROR", "ERROR", "ERROR", "ERROR", "INFO"]
        );
    }

    #[test]
    fn control_characters_in_a_log_line_are_escaped() {
        let log = read(&json!({"level": "info", "logger": "db\n", "data": "hunter2 \u{1b}[2J"}));
        assert_eq!(log.line(), "db\\n: *** \\u{1b}[2J");
        let log = read(&json!({"level": "info", "data": {"b": 1, "a": ["hunter2"]}}));
        assert_eq!(log.line(), r#"{"b":1,"a":["***"]}"#);
    }

    #[test]
    fn a_long_log_message_is_cut() {
        let flood = "x".repeat(1 << 20);
        for data in [json!(flood), json!({ "deep": [flood] })] {
            let log = read(&json!({"level": flood, "logger": flood, "data": data}));
            assert!(log.line().len() < 5000);
            let told = serde_json::to_string(&log.into_event()).unwrap();
            assert!(told.len() < LIMIT + 1000, "{}", told.len());
        }
    }

    #[test]
    fn an_invalid_log_message_is_ignored() {
        for params in ["null", "[]", "{}", r#"{"level":1}"#] {
            let texts = TextReader::new(Mask::default(), LIMIT);
            assert!(ServerLog::read(params, &texts).is_none(), "{params}");
        }
    }
}
