//! Owns `MCPOOL_LOG`: which level it asks for, and the lines on stderr, one for each record.
//! Invariant: nothing is written unless the user asked for it, and what a server says cannot steer the terminal.

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

/// What the variable says; nothing when it is empty.
pub(super) fn asked() -> Option<String> {
    let word = std::env::var_os(VARIABLE)?.to_string_lossy().into_owned();
    (!word.is_empty()).then_some(word)
}

/// The level that the variable asks for; tells when it asks for something else.
pub(super) fn asked_level() -> LevelFilter {
    let Some(word) = asked() else { return LevelFilter::OFF };
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

/// In one piece, so that lines of several processes on one stderr stay whole.
fn write_line(mut line: String) {
    line.push('\n');
    // A stderr that is gone is nobody's trouble.
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
    fn the_words_are_five() {
        assert_eq!(level_of("Debug"), Some(LevelFilter::DEBUG));
        assert_eq!(level_of("verbose"), None);
    }
}
