//! Owns a call's result: the server's JSON, and views of it that are made on demand.
//! Invariant: nothing is parsed before it is asked for, and [`ToolResult::json`] is exactly what came.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_string::LossyString;
use crate::scan::Signal;
use crate::task::Task;

mod image;
mod output;
mod present;
mod render;
mod spill;
mod truncate;
mod wrap;

pub use image::Image;
pub use output::ToolOutput;
pub use present::{CallFailure, ForModel, Origin};
pub(crate) use present::{ManagerId, Presenter};
pub use spill::Spill;
pub(crate) use spill::SpillDir;

/// A tool's result. Cheap to clone.
#[derive(Clone)]
pub struct ToolResult(Arc<Inner>);

struct Inner {
    json: Bytes,
    /// The server and tool it comes from, if known.
    origin: Option<Origin>,
    /// The task that its call has waited for.
    task_id: Option<Box<str>>,
    for_model: OnceLock<ForModel>,
}

/// The parts of a result, still raw. A malformed part hides none of the others.
#[derive(Default)]
struct ResultParts<'a> {
    content: Option<&'a RawValue>,
    structured: Option<&'a RawValue>,
    is_error: bool,
}

impl<'de> Deserialize<'de> for ResultParts<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> serde::de::Visitor<'de> for Fields {
            type Value = ResultParts<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut fields: A,
            ) -> Result<ResultParts<'de>, A::Error> {
                let mut parts = ResultParts::default();
                while let Some((LossyString(name), value)) = fields.next_entry::<_, &RawValue>()? {
                    // The last of duplicate fields counts, as in most JSON parsers.
                    match &*name {
                        "content" => parts.content = Some(value),
                        "structuredContent" => parts.structured = Some(value),
                        "isError" => parts.is_error = value.get() == "true",
                        _ => {}
                    }
                }
                parts.content = parts.content.filter(|value| value.get() != "null");
                parts.structured = parts.structured.filter(|value| value.get() != "null");
                Ok(parts)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl ToolResult {
    /// # Safety
    /// `json` is UTF-8.
    pub(crate) unsafe fn from_utf8_unchecked(
        json: Bytes,
        origin: Origin,
        task_id: Option<Box<str>>,
    ) -> Self {
        ToolResult::with_origin(json, Some(origin), task_id)
    }

    /// A result from the text of [`ToolResult::json`], without a known tool.
    pub fn from_json(json: String) -> Self {
        ToolResult::with_origin(json.into(), None, None)
    }

    fn with_origin(json: Bytes, origin: Option<Origin>, task_id: Option<Box<str>>) -> Self {
        ToolResult(Arc::new(Inner { json, origin, task_id, for_model: OnceLock::new() }))
    }

    /// The task that its call has waited for.
    pub(crate) fn task_id(&self) -> Option<&str> {
        self.0.task_id.as_deref()
    }

    /// The whole result as the server wrote it.
    pub fn json(&self) -> &str {
        // SAFETY: all constructors guarantee UTF-8.
        unsafe { std::str::from_utf8_unchecked(&self.0.json) }
    }

    /// The task that the server works on, if the call returned that in place of a result.
    pub fn task(&self) -> Option<Task> {
        Task::in_answer(self.json())?.ok()
    }

    /// The server and its name for the tool, if known.
    pub fn tool(&self) -> Option<(&str, &str)> {
        let origin = self.origin()?;
        Some((&origin.presenter.server, &origin.tool))
    }

    /// Which tool it is of and how a model is shown it, where that is known.
    #[doc(hidden)]
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }

    fn parts(&self) -> ResultParts<'_> {
        serde_json::from_slice(&self.0.json).unwrap_or_default()
    }

    /// The content blocks, parsed; empty when there are none.
    pub fn content(&self) -> Vec<Value> {
        self.parts()
            .content
            .and_then(|content| serde_json::from_str(content.get()).ok())
            .unwrap_or_default()
    }

    /// The structured content, parsed. It is not validated against the tool's output schema.
    pub fn structured(&self) -> Option<Value> {
        serde_json::from_str(self.parts().structured?.get()).ok()
    }

    /// Whether the tool reports a failure.
    pub fn is_error(&self) -> bool {
        self.parts().is_error
    }

    /// The result as text: text blocks as they are, other blocks by kind, structured-only results as JSON.
    pub fn text(&self) -> String {
        if let Some(text) = render::plain_text(&self.0.json) {
            return text;
        }
        let parts = self.parts();
        if parts.content.is_none()
            && parts.structured.is_none()
            && let Some(task) = self.task()
        {
            return format!("[Task: {}]", task.task_id);
        }
        render::text(
            parts.content.map(RawValue::get),
            parts.structured.map(RawValue::get),
            parts.is_error,
        )
    }

    /// The text for a model: cut to the server's `maxResultChars`, scanned for instructions to the model, and wrapped
    /// as untrusted output of its tool.
    pub fn for_model(&self) -> &str {
        &self.presented().text
    }

    /// The signals found in the text for a model.
    pub fn signals(&self) -> &[Signal] {
        &self.presented().signals
    }

    /// The images among the content blocks and in embedded resources, in order.
    pub fn images(&self) -> Vec<Image> {
        self.parts().content.map(|content| image::images(content.get())).unwrap_or_default()
    }

    /// The images to show to a model beside the text, which names the others. A failure has none: not every provider's
    /// API takes an image beside an error.
    pub fn model_images(&self) -> Vec<Image> {
        let mut images = if self.is_error() { Vec::new() } else { self.images() };
        images.retain(Image::is_for_models);
        images
    }

    fn presented(&self) -> &ForModel {
        self.0.for_model.get_or_init(|| match &self.0.origin {
            Some(origin) => origin.present(self.text()),
            None => Origin::detached("unknown", "unknown").present(self.text()),
        })
    }
}

impl std::fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolResult").field("json", &self.json()).finish_non_exhaustive()
    }
}
