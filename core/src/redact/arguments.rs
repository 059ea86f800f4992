//! Owns how a call's arguments appear in events and logs. The server and the approver get them unredacted.
//! Invariant: values that may be secret by name or by looks are stars, and the output is bounded.

use serde_json::{Map, Value};

use super::STARS;
use super::definition::{starred, text};
use super::mask::Mask;
use super::names::is_secret_key;

/// A longer text is cut to this many characters.
const MAX_TEXT: usize = 200;
/// A longer text is not searched: only its length is shown.
const MAX_SEARCHED: usize = 64 << 10;
/// Arguments of more bytes are not parsed.
const MAX_BYTES: usize = 1 << 20;
/// The most entries shown of a list or an object.
const MAX_ENTRIES: usize = 50;
/// The most values shown in all.
const MAX_VALUES: usize = 1000;

/// A call's arguments, redacted; `mask` hides the values that their server was given.
pub(crate) fn arguments(json: &[u8], mask: &Mask) -> Value {
    if json.len() > MAX_BYTES {
        return format!("… ({} bytes)", json.len()).into();
    }
    match serde_json::from_slice(json) {
        Ok(value) => redact_value(mask.json(value), &mut { MAX_VALUES }),
        // Nested too deeply to be parsed.
        Err(_) => STARS.into(),
    }
}

fn redact_value(value: Value, room: &mut usize) -> Value {
    *room = room.saturating_sub(1);
    if *room == 0 {
        return "…".into();
    }
    match value {
        Value::String(written) => redact_text(&written).into(),
        Value::Array(items) => {
            let left_out = items.len().saturating_sub(MAX_ENTRIES);
            let mut redacted: Vec<Value> =
                items.into_iter().take(MAX_ENTRIES).map(|item| redact_value(item, room)).collect();
            if left_out > 0 {
                redacted.push(format!("… ({left_out} more)").into());
            }
            redacted.into()
        }
        Value::Object(fields) => {
            let left_out = fields.len().saturating_sub(MAX_ENTRIES);
            let mut redacted: Map<String, Value> = fields
                .into_iter()
                .take(MAX_ENTRIES)
                .map(|entry| redact_entry(entry, room))
                .collect();
            if left_out > 0 {
                redacted.insert("…".to_owned(), format!("({left_out} more)").into());
            }
            redacted.into()
        }
        plain => plain,
    }
}

fn redact_entry((key, value): (String, Value), room: &mut usize) -> (String, Value) {
    let secret = is_secret_key(&key) && !value.is_boolean();
    let value = if secret { redact_value(starred(value), room) } else { redact_value(value, room) };
    (redact_text(&key), value)
}

fn redact_text(written: &str) -> String {
    if written.len() > MAX_SEARCHED {
        return format!("… ({} chars)", written.chars().count());
    }
    shortened(&text(written), MAX_TEXT)
}

/// The text, cut to `limit` characters.
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
        let redacted = json!({
            "path": "/tmp/a", "api_key": "***", "password": "***", "auth": true,
            "headers": [{"Authorization": "***", "Accept": "json"}],
            "credentials": {"user": "***", "nested": ["***"]},
            "note": "use ***, or --token ***",
            "url": "https://***@example.com/?key=***",
        });
        assert_eq!(shown(value), redacted);
    }

    #[test]
    fn what_is_long_is_cut_after_its_secrets_are_gone() {
        let text = format!("{}ghp_0123456789abcdefghij {}", "x ".repeat(95), "y".repeat(500));
        let redacted = shown(json!({ "t": text }));
        let redacted = redacted["t"].as_str().unwrap();
        assert!(redacted.contains("*** yyy") && !redacted.contains("ghp"), "{redacted}");
        assert!(redacted.chars().count() < 230, "{redacted}");
        let huge = "ä".repeat(MAX_SEARCHED);
        assert_eq!(shown(json!([huge])), json!([format!("… ({MAX_SEARCHED} chars)")]));
    }

    #[test]
    fn the_whole_is_bounded() {
        let list: Vec<Value> = (0..200).map(|n| json!(vec![n; 200])).collect();
        let redacted = shown(json!({ "list": list })).to_string();
        assert!(redacted.len() < 20_000, "{}", redacted.len());
        assert!(redacted.contains("… (150 more)"));
        let huge = vec!["x"; MAX_BYTES];
        assert_eq!(shown(json!({ "h": huge })), json!(format!("… ({} bytes)", 4 * MAX_BYTES + 7)));
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(arguments(deep.as_bytes(), &Mask::default()), json!("***"));
    }

    #[test]
    fn what_the_server_was_given_is_hidden_before_it_is_cut() {
        let mut values = crate::redact::MaskBuilder::default();
        values.value("correct horse battery");
        let text = format!("{}correct horse battery", "x".repeat(MAX_TEXT - 10));
        let json = json!({ "t": text, "u": ["correct horse battery"] }).to_string();
        let redacted = arguments(json.as_bytes(), &values.build());
        assert!(!redacted.to_string().contains("correct"), "{redacted}");
        assert_eq!(redacted["u"], json!(["***"]));
    }

    #[test]
    fn a_key_is_text_too() {
        let redacted = shown(json!({"ghp_0123456789abcdef": 1}));
        assert!(!redacted.to_string().contains("ghp_"), "{redacted}");
    }
}
