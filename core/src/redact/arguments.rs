//! Owns the form in which a call's arguments are told: in events and logs, never to the server or to who approves a call.
//! Invariant: what may be secret by its name or its looks is stars, and the whole is bounded whatever was sent.

use serde_json::{Map, Value};

use super::STARS;
use super::mask::Mask;
use super::names::is_secret_key;
use super::shown::{starred, text};

/// From this many characters on a text is cut.
const TEXT: usize = 200;
/// A longer text is not even looked through.
const LOOKED_THROUGH: usize = 64 << 10;
/// Nor are arguments of more bytes.
const READ: usize = 1 << 20;
/// How many entries of a list or an object are told.
const ENTRIES: usize = 50;
/// How many values are told in all.
const VALUES: usize = 1000;

/// A call's arguments, fit to be told; `mask` hides the values that their server was given.
pub(crate) fn arguments(json: &[u8], mask: &Mask) -> Value {
    if json.len() > READ {
        return format!("… ({} bytes)", json.len()).into();
    }
    match serde_json::from_slice(json) {
        Ok(value) => told(mask.json(value), &mut { VALUES }),
        // Nested deeper than is read.
        Err(_) => STARS.into(),
    }
}

fn told(value: Value, room: &mut usize) -> Value {
    *room = room.saturating_sub(1);
    if *room == 0 {
        return "…".into();
    }
    match value {
        Value::String(written) => told_text(&written).into(),
        Value::Array(items) => {
            let left_out = items.len().saturating_sub(ENTRIES);
            let mut told: Vec<Value> =
                items.into_iter().take(ENTRIES).map(|item| told(item, room)).collect();
            if left_out > 0 {
                told.push(format!("… ({left_out} more)").into());
            }
            told.into()
        }
        Value::Object(fields) => {
            let left_out = fields.len().saturating_sub(ENTRIES);
            let mut told: Map<String, Value> =
                fields.into_iter().take(ENTRIES).map(|entry| told_entry(entry, room)).collect();
            if left_out > 0 {
                told.insert("…".to_owned(), format!("({left_out} more)").into());
            }
            told.into()
        }
        plain => plain,
    }
}

fn told_entry((key, value): (String, Value), room: &mut usize) -> (String, Value) {
    let secret = is_secret_key(&key) && !value.is_boolean();
    let value = if secret { told(starred(value), room) } else { told(value, room) };
    (told_text(&key), value)
}

fn told_text(written: &str) -> String {
    if written.len() > LOOKED_THROUGH {
        return format!("… ({} chars)", written.chars().count());
    }
    shortened(&text(written), TEXT)
}

/// The text, cut at so many characters.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} chars)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: Value) -> Value {
        arguments(value.to_string().as_bytes(), &Mask::default())
    }

    #[test]
    fn what_may_be_secret_is_stars_at_any_depth() {
        let value = json!({
            "path": "/tmp/a", "api_key": "k", "password": 7, "auth": true,
            "headers": [{"Authorization": "Bearer abcdefgh", "Accept": "json"}],
            "credentials": {"user": "u", "nested": ["x"]},
            "note": "use ghp_0123456789abcdef, or --token hunter22",
            "url": "https://u:p@example.com/?key=abc",
        });
        let told = json!({
            "path": "/tmp/a", "api_key": "***", "password": "***", "auth": true,
            "headers": [{"Authorization": "***", "Accept": "json"}],
            "credentials": {"user": "***", "nested": ["***"]},
            "note": "use ***, or --token ***",
            "url": "https://***@example.com/?key=***",
        });
        assert_eq!(shown(value), told);
    }

    #[test]
    fn what_is_long_is_cut_after_its_secrets_are_gone() {
        let text = format!("{}ghp_0123456789abcdefghij {}", "x ".repeat(95), "y".repeat(500));
        let told = shown(json!({ "t": text }));
        let told = told["t"].as_str().unwrap();
        assert!(told.contains("*** yyy") && !told.contains("ghp"), "{told}");
        assert!(told.chars().count() < 230, "{told}");
        let huge = "ä".repeat(LOOKED_THROUGH);
        assert_eq!(shown(json!([huge])), json!([format!("… ({LOOKED_THROUGH} chars)")]));
    }

    #[test]
    fn the_whole_is_bounded() {
        let list: Vec<Value> = (0..200).map(|n| json!(vec![n; 200])).collect();
        let told = shown(json!({ "list": list })).to_string();
        assert!(told.len() < 20_000, "{}", told.len());
        assert!(told.contains("… (150 more)"));
        let huge = vec!["x"; READ];
        assert_eq!(shown(json!({ "h": huge })), json!(format!("… ({} bytes)", 4 * READ + 7)));
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(arguments(deep.as_bytes(), &Mask::default()), json!("***"));
    }

    #[test]
    fn what_the_server_was_given_is_hidden_before_it_is_cut() {
        let mut given = crate::redact::Given::default();
        given.value("correct horse battery");
        let text = format!("{}correct horse battery", "x".repeat(TEXT - 10));
        let json = json!({ "t": text, "u": ["correct horse battery"] }).to_string();
        let told = arguments(json.as_bytes(), &given.mask());
        assert!(!told.to_string().contains("correct"), "{told}");
        assert_eq!(told["u"], json!(["***"]));
    }

    #[test]
    fn a_key_is_text_too() {
        let told = shown(json!({"ghp_0123456789abcdef": 1}));
        assert!(!told.to_string().contains("ghp_"), "{told}");
    }
}
