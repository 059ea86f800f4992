//! Owns a call's result: the server's JSON as it came, and views of it that are made when asked for.
//! Invariant: nothing is parsed before somebody looks, and what came is what [`ToolResult::json`] shows.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

mod render;

/// What a tool answered.
#[derive(Clone, Debug)]
pub struct ToolResult {
    json: Bytes,
}

/// The parts of a result, still raw.
#[derive(Deserialize, Default)]
struct Parts<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: Option<Value>,
}

impl ToolResult {
    /// # Safety
    /// `json` is UTF-8.
    pub(crate) unsafe fn from_utf8_unchecked(json: Bytes) -> Self {
        ToolResult { json }
    }

    /// A result from what [`ToolResult::json`] gave, for hosts that keep the text.
    pub fn from_json(json: String) -> Self {
        ToolResult { json: json.into() }
    }

    /// The whole result as the server wrote it.
    pub fn json(&self) -> &str {
        // SAFETY: both constructors see to it.
        unsafe { std::str::from_utf8_unchecked(&self.json) }
    }

    fn parts(&self) -> Parts<'_> {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The content blocks, parsed; empty when there are none.
    pub fn content(&self) -> Vec<Value> {
        self.parts()
            .content
            .and_then(|content| serde_json::from_str(content.get()).ok())
            .unwrap_or_default()
    }

    /// The structured content, parsed.
    pub fn structured(&self) -> Option<Value> {
        serde_json::from_str(self.parts().structured?.get()).ok()
    }

    /// Whether the tool says that it failed.
    pub fn is_error(&self) -> bool {
        self.parts().is_error == Some(Value::Bool(true))
    }

    /// The result as text: text blocks as they are, others by kind, structured-only results as JSON.
    pub fn text(&self) -> String {
        if let Some(text) = render::plain_text(&self.json) {
            return text;
        }
        let parts = self.parts();
        render::text(
            parts.content.map(RawValue::get),
            parts.structured.map(RawValue::get),
            parts.is_error == Some(Value::Bool(true)),
        )
    }
}
