//! Owns the time of day, as milliseconds and as text.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    unix_ms(SystemTime::now())
}

/// A time as milliseconds since the Unix epoch.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(any(feature = "cli", test))]
/// A Unix time in milliseconds as RFC 3339 in UTC, to the second.
pub(crate) fn rfc3339(time_ms: u64) -> String {
    format!("{}Z", date_and_time(time_ms / 1_000))
}

/// Like [`rfc3339`], to the millisecond.
pub(crate) fn rfc3339_millis(time_ms: u64) -> String {
    format!("{}.{:03}Z", date_and_time(time_ms / 1_000), time_ms % 1_000)
}

fn date_and_time(seconds: u64) -> String {
    let (days, rest) = (seconds / DAY, seconds % DAY);
    // With years that begin in March the leap day is the last; 719 468 days lie between 0000-03-01 and 1970-01-01.
    let day_of_era = (days + 719_468) % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    let year = (days + 719_468) / 146_097 * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_since_1970_becomes_a_date() {
        assert_eq!(date_and_time(0), "1970-01-01T00:00:00");
        assert_eq!(date_and_time(951_782_399), "2000-02-28T23:59:59");
        assert_eq!(date_and_time(951_782_400), "2000-02-29T00:00:00");
        assert_eq!(date_and_time(1_735_689_599), "2024-12-31T23:59:59");
        assert_eq!(date_and_time(4_107_542_400), "2100-03-01T00:00:00");
        assert_eq!(rfc3339(951_782_399_042), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339_millis(951_782_399_042), "2000-02-28T23:59:59.042Z");
    }
}
