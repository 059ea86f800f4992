//! Owns what a product's setting for reconnecting means as our `restart`: how often, and how many seconds apart.

use serde_json::{Map, Value, json};

use super::entry::Entry;

const COUNTS: &[&str] =
    &["max_attempts", "max_retries", "attempts", "retries", "count", "maxAttempts", "maxRetries"];
const DELAYS: &[&str] = &["delay", "delay_seconds", "interval", "backoff", "wait"];
/// The waits of our own ladder, for a number without a wait; the last one repeats.
const LADDER_MS: &[u64] = &[0, 1000, 2000, 5000, 10_000, 30_000, 60_000];
const MOST: u64 = 64;
const LONGEST_S: f64 = 24.0 * 60.0 * 60.0;

/// Takes the settings under `words`; one that is not understood is a warning and has no effect.
pub(super) fn take_retry(entry: &mut Entry, words: &[&str], definition: &mut Map<String, Value>) {
    let Some(word) = words.iter().find(|word| entry.has(word)) else { return };
    let Some(written) = entry.first(words) else { return };
    if definition.contains_key("restart") {
        entry.warnings.push(format!("\"{word}\" has no effect beside \"restart\""));
        return;
    }
    match restart(&written) {
        Some(Value::Null) => {}
        Some(restart) => drop(definition.insert("restart".to_owned(), restart)),
        None => entry.warnings.push(format!(
            "\"{word}\" must be a number up to {MOST}, or an object with \"max_attempts\" and \"delay\" in seconds; it \
             has no effect"
        )),
    }
}

/// Our `restart`; null for the default.
fn restart(written: &Value) -> Option<Value> {
    match written {
        Value::Bool(false) => Some("never".into()),
        Value::Bool(true) => Some(Value::Null),
        Value::Number(_) => after(count(written)?, None),
        Value::Object(settings) => {
            let is_known = |key: &String| {
                key == "enabled" || COUNTS.contains(&&**key) || DELAYS.contains(&&**key)
            };
            if settings.get("enabled") == Some(&Value::Bool(false)) {
                return Some("never".into());
            }
            if !settings.keys().all(is_known) {
                return None;
            }
            let find = |words: &[&str]| words.iter().find_map(|word| settings.get(*word)).cloned();
            let delay = match find(DELAYS) {
                Some(delay) => {
                    let seconds = delay.as_f64().filter(|s| (0.0..=LONGEST_S).contains(s))?;
                    Some((seconds * 1000.0).round() as u64)
                }
                None => None,
            };
            match (find(COUNTS), delay) {
                (Some(times), delay) => after(count(&times)?, delay),
                (None, Some(delay)) => Some(json!({"delays": [delay], "forever": true})),
                (None, None) => Some(Value::Null),
            }
        }
        _ => None,
    }
}

fn count(written: &Value) -> Option<usize> {
    let count = written.as_u64().filter(|count| *count <= MOST)?;
    usize::try_from(count).ok()
}

fn after(count: usize, delay: Option<u64>) -> Option<Value> {
    if count == 0 {
        return Some("never".into());
    }
    let last = LADDER_MS[LADDER_MS.len() - 1];
    let wait = |at: usize| delay.unwrap_or_else(|| *LADDER_MS.get(at).unwrap_or(&last));
    Some(json!({"delays": (0..count).map(wait).collect::<Vec<_>>()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_become_restarts() {
        assert_eq!(restart(&json!(0)), Some(json!("never")));
        assert_eq!(restart(&json!(false)), Some(json!("never")));
        assert_eq!(restart(&json!(true)), Some(Value::Null));
        assert_eq!(restart(&json!(3)), Some(json!({"delays": [0, 1000, 2000]})));
        let eight = restart(&json!(8)).expect("a number");
        assert_eq!(eight["delays"][7], 60_000);
        let object = json!({"max_attempts": 2, "delay": 1.5});
        assert_eq!(restart(&object), Some(json!({"delays": [1500, 1500]})));
        let for_ever = json!({"interval": 5});
        assert_eq!(restart(&for_ever), Some(json!({"delays": [5000], "forever": true})));
        assert_eq!(restart(&json!({"enabled": false, "retries": 3})), Some(json!("never")));
    }

    #[test]
    fn a_warning_names_the_word_that_was_written() {
        let written = json!({"retries": 99});
        let mut entry = Entry::new(written.as_object().cloned().unwrap_or_default());
        take_retry(&mut entry, &["retry", "retries"], &mut Map::new());
        let [warning] = &entry.warnings[..] else { panic!("{:?}", entry.warnings) };
        assert!(warning.starts_with("\"retries\" must be a number"), "{warning}");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for odd in [
            json!("often"),
            json!(-1),
            json!(65),
            json!(1.5),
            json!([1]),
            json!({"jitter": true, "retries": 1}),
            json!({"retries": 1, "delay": 1e300}),
            json!({"retries": 1, "delay": -1}),
        ] {
            assert_eq!(restart(&odd), None, "{odd}");
        }
    }
}
