//! Owns `MCPOOL_LOG`: its level, and one line on stderr for each record.
//! Invariant: nothing is written unless the variable is set, and a server's text cannot control the terminal.

use std::io::Write;

use tracing::level_filters::LevelFilter;

use super::record::LogRecord;
use super::visible::visible;
use crate::time::rfc3339_millis;

const VARIABLE: &str = "MCPOOL_LOG";
const LEVELS: [(&str, LevelFilter); 5] = [
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// The variable's value; `None` if it is empty.
pub(super) fn requested() -> Option<String> {
    let word = std::env::var_os(VARIABLE)?.to_string_lossy().into_owned();
    (!word.is_empty()).then_some(word)
}

/// The level that the variable names; warns about an unknown one.
pub(super) fn requested_level() -> LevelFilter {
    let Some(word) = requested() else { return LevelFilter::OFF };
    level_of(&word).unwrap_or_else(|| {
        let words = LEVELS.map(|(word, _)| word).join(", ");
        write_line(format!("{VARIABLE} is \"{}\"; it may be {words}", visible(&word)));
        LevelFilter::OFF
    })
}

fn level_of(word: &str) -> Option<LevelFilter> {
    LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|&(_, level)| level)
}

pub(super) fn write(record: &LogRecord) {
    write_line(line(record));
}

fn line(record: &LogRecord) -> String {
    let (time, level) = (rfc3339_millis(record.time_ms), record.level);
    let message = visible(&record.message);
    match &record.server {
        Some(server) => format!("{time} {level:5} {server}: {message}"),
        None => format!("{time} {level:5} {message}"),
    }
}

/// One write, so that lines of several processes on the same stderr stay whole.
fn write_line(mut line: String) {
    line.push('\n');
    // A closed stderr is ignored.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_record_is_one_line() {
        let mut record = LogRecord::new(Level::WARN, "mcpool", "first\nsecond \u{1b}[31m".into());
        record.time_ms = 1;
        assert_eq!(line(&record), "1970-01-01T00:00:00.001Z WARN  first\\nsecond \\u{1b}[31m");
        record.server = Some("time".into());
        assert_eq!(
            line(&record),
            "1970-01-01T00:00:00.001Z WARN  time: first\\nsecond \\u{1b}[31m"
        );
    }

    #[test]
    fn there_are_five_level_names() {
        assert_eq!(level_of("Debug"), Some(LevelFilter::DEBUG));
        assert_eq!(level_of("verbose"), None);
    }
}
