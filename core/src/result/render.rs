//! Owns turning content blocks into text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

const NOTHING: &str = "(no output)";
const BETWEEN: &str = "\n\n";

/// The text of a result that is nothing but text, as most are, found in one pass.
pub(super) fn plain_text(json: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct PlainText<'a> {
        #[serde(borrow)]
        content: Vec<TextBlock<'a>>,
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    let result: PlainText<'_> = serde_json::from_slice(json).ok()?;
    if result.is_error || result.content.iter().any(|block| block.kind != "text") {
        return None;
    }
    let mut blocks = result.content.into_iter();
    let mut text = blocks.next()?.text.into_owned();
    for block in blocks {
        text.push_str(BETWEEN);
        text.push_str(&block.text);
    }
    Some(text).filter(|text| !text.is_empty())
}

/// `content` and `structured` are the raw JSON of the result's fields.
pub(super) fn text(content: Option<&str>, structured: Option<&str>, is_error: bool) -> String {
    let blocks: Vec<&RawValue> =
        content.and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    let mut out = String::new();
    if is_error {
        out.push_str("Error: ");
    }
    let start = out.len();
    for raw in blocks {
        if out.len() > start {
            out.push_str(BETWEEN);
        }
        match serde_json::from_str::<TextBlock<'_>>(raw.get()) {
            Ok(TextBlock { kind, text }) if kind == "text" => out.push_str(&text),
            _ => render_block(raw.get(), &mut out),
        }
    }
    if out.len() == start {
        out.push_str(structured.unwrap_or(NOTHING));
    }
    out
}

/// The common block, without copies where the text has no escapes.
#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

fn render_block(raw: &str, out: &mut String) {
    let block: Value = serde_json::from_str(raw).unwrap_or_default();
    let field = |name: &str| block[name].as_str().unwrap_or("unknown");
    match block["type"].as_str() {
        Some("image") => *out += &format!("[Image: {}]", field("mimeType")),
        Some("audio") => *out += &format!("[Audio: {}]", field("mimeType")),
        Some("resource_link") => *out += &format!("[Link: {}]", field("uri")),
        Some("resource") => {
            let resource = &block["resource"];
            *out += &format!("[Resource: {}]", resource["uri"].as_str().unwrap_or("unknown"));
            if let Some(text) = resource["text"].as_str() {
                out.push('\n');
                out.push_str(text);
            }
        }
        // A kind that nobody here knows is shown as it came.
        _ => out.push_str(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ToolResult;

    fn shown(json: &'static str) -> String {
        ToolResult::from_json(json.into()).text()
    }

    #[test]
    fn blocks_are_shown_by_kind() {
        assert_eq!(
            shown(
                r#"{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":""},
                {"type":"audio","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"f://x","text":"body"}},
                {"type":"resource_link","uri":"f://y"},{"type":"new","x":1}]}"#
            ),
            "a\n\n[Image: image/png]\n\n[Audio: audio/wav]\n\n[Resource: f://x]\nbody\n\n[Link: f://y]\n\n{\"type\":\"new\",\"x\":1}"
        );
    }

    #[test]
    fn plain_text_is_the_same_by_both_ways() {
        let json =
            r#"{"content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c","x":1}]}"#;
        assert_eq!(super::plain_text(json.as_bytes()).unwrap(), "a\nb\n\nc");
        let parts: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(super::text(Some(&parts["content"].to_string()), None, false), "a\nb\n\nc");
        assert_eq!(shown(r#"{"content":[{"type":"text","text":""}]}"#), "(no output)");
    }

    #[test]
    fn empty_structured_and_failed_results_have_their_texts() {
        assert_eq!(shown(r#"{"content":[]}"#), "(no output)");
        assert_eq!(shown(r#"{"structuredContent":{"b":1,"a":2}}"#), r#"{"b":1,"a":2}"#);
        assert_eq!(shown(r#"{"content":[{"type":"text","text":"x"}],"isError":true}"#), "Error: x");
    }
}
