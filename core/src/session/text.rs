//! Owns reading a server's texts other than results: each is cut at a limit, and the values that the server was given
//! are masked.
//! Invariant: text beyond the limit is not unescaped, parsed or masked, so no text costs more than its limit.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_string::unescape;
use crate::redact::{Cut, Mask};

/// Reads the texts of one server.
#[derive(Clone)]
pub(super) struct TextReader {
    mask: Mask,
    limit: usize,
}

impl TextReader {
    pub(super) fn new(mask: Mask, limit: usize) -> Self {
        TextReader { mask, limit }
    }

    /// Reads with a lower limit.
    pub(super) fn within(&self, limit: usize) -> Self {
        TextReader { mask: self.mask.clone(), limit: self.limit.min(limit) }
    }

    /// Reads a JSON string; `None` if it is not one.
    pub(super) fn text(&self, json: &RawValue) -> Option<String> {
        let prefix = Prefix::of_string(json.get(), self.limit)?;
        Some(match prefix.is_cut() {
            true => self.with_notice(&prefix),
            false => self.mask.text(&prefix.text).into_owned(),
        })
    }

    /// Reads a JSON string that the server offers to agents: see [`Mask::prose`].
    pub(super) fn prose(&self, json: &RawValue) -> Option<String> {
        let prefix = Prefix::of_string(json.get(), self.limit)?;
        Some(match prefix.is_cut() {
            true => self.with_notice(&prefix),
            false => self.mask.prose(&prefix.text).into_owned(),
        })
    }

    /// Reads a text that is not JSON, such as a parser's message.
    pub(super) fn plain(&self, text: &str) -> String {
        let prefix = Prefix::of_plain(text, self.limit);
        match prefix.is_cut() {
            true => self.with_notice(&prefix),
            false => self.mask.text(text).into_owned(),
        }
    }

    /// Reads any JSON. A value that is over the limit or too deep becomes the beginning of its text.
    pub(super) fn value(&self, json: &RawValue) -> Value {
        let json = json.get();
        if json.len() > self.limit {
            return match Prefix::of_string(json, self.limit) {
                Some(prefix) => self.with_notice(&prefix).into(),
                None => self.plain(json).into(),
            };
        }
        match serde_json::from_str(json) {
            Ok(value) => self.mask.json(value),
            Err(_) => self.plain(json).into(),
        }
    }

    fn with_notice(&self, Prefix { text, whole }: &Prefix<'_>) -> String {
        let mut shown = self.mask.part(text, 0, Cut { start: false, end: true });
        if let Some(whole) = whole {
            shown += &format!("… (cut at {} of {whole} bytes)", self.limit);
        }
        shown
    }
}

/// The beginning of a text.
struct Prefix<'a> {
    text: Cow<'a, str>,
    /// The length of the whole text, if it was cut.
    whole: Option<usize>,
}

impl<'a> Prefix<'a> {
    fn of_plain(text: &'a str, limit: usize) -> Self {
        if text.len() <= limit {
            return Prefix { text: text.into(), whole: None };
        }
        let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        Prefix { text: text[..end].into(), whole: Some(text.len()) }
    }

    fn of_string(json: &'a str, limit: usize) -> Option<Self> {
        let body = json.strip_prefix('"')?.strip_suffix('"')?;
        if body.len() <= limit {
            return Some(Prefix { text: unescape(json)?, whole: None });
        }
        let Prefix { text, whole } = Prefix::of_plain(body, limit);
        let end = whole_escapes(&text);
        let text = unescape(&format!("\"{}\"", &text[..end]))?.into_owned().into();
        Some(Prefix { text, whole })
    }

    fn is_cut(&self) -> bool {
        self.whole.is_some()
    }
}

/// How much of a JSON string's content is readable when it is cut anywhere.
fn whole_escapes(body: &str) -> usize {
    let (bytes, mut at) = (body.as_bytes(), 0);
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let start = at + found;
        at = start + if bytes.get(start + 1) == Some(&b'u') { 6 } else { 2 };
        if at > bytes.len() {
            return start;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::MaskBuilder;

    fn texts(limit: usize) -> TextReader {
        let mut values = MaskBuilder::default();
        values.value("hunter2-hunter2");
        TextReader::new(values.build(), limit)
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_text_within_the_limit_is_kept_except_for_secrets() {
        let text = |json| texts(30).text(&raw(json));
        assert_eq!(text(r#""a \"b\" hunter2-hunter2""#).unwrap(), "a \"b\" ***");
        assert_eq!(text(r#""\ud800""#).unwrap().chars().count(), 3);
        assert_eq!(text("7"), None);
        assert_eq!(text("null"), None);
    }

    #[test]
    fn a_longer_text_is_cut_at_any_position() {
        for piece in ["ab", "é", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\\\", "\\\""] {
            let json = raw(&format!("\"x{}\"", piece.repeat(100)));
            let whole: String = serde_json::from_str(json.get()).unwrap();
            for limit in 1..40 {
                let text = texts(limit).text(&json).unwrap();
                let (beginning, notice) = text.split_once('…').unwrap();
                // A split surrogate pair may leave a replacement character.
                let beginning = beginning.trim_end_matches('\u{fffd}');
                assert!(whole.starts_with(beginning), "{piece} at {limit}: {text}");
                assert!(beginning.len() <= limit && beginning.len() + 12 > limit / 6, "{text}");
                assert!(notice.contains("bytes"), "{notice}");
            }
        }
    }

    #[test]
    fn a_secret_that_is_cut_is_hidden() {
        let text = texts(20).text(&raw("\"0123456789hunter2-hunter2 and more\"")).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        let json = raw("[\"0123456789hunter2-hunter2\",\"and more\"]");
        let Value::String(text) = texts(20).value(&json) else { panic!() };
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn json_is_kept_below_the_limit_and_a_text_above() {
        let value = |limit, json| texts(limit).value(&raw(json));
        assert_eq!(value(30, r#"{"a":["hunter2-hunter2"]}"#), serde_json::json!({"a": ["***"]}));
        assert_eq!(value(8, "[1,2,3,4,5]"), "[1,2,3,4… (cut at 8 of 11 bytes)");
        assert_eq!(value(4, r#""abcdefgh""#), "abcd… (cut at 4 of 8 bytes)");
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(value(1000, &deep), deep);
    }
}
