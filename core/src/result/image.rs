//! Owns the images of a result: which blocks are images, and which of them are shown to a model.
//! Invariant: an image is decodable base64 that is not empty. Everything else is text (`render`).

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::render;
use crate::json_string::unescape;

/// The types that every provider's API accepts. With an image of another type, some refuse the whole request.
const MODEL_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Servers pad, but some do not clear the unused bits of the last character.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// An image of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Image {
    /// Begins with `image/`.
    pub mime_type: String,
    /// The image in base64.
    pub data: String,
}

impl Image {
    /// Whether every provider's API takes images of this type.
    pub fn is_for_models(&self) -> bool {
        MODEL_TYPES.contains(&&*self.mime_type)
    }
}

/// An `image` block, the resource of a `resource` block, or anything else.
#[derive(Deserialize, Default)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "mimeType")]
    mime_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    blob: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
}

/// The images of `content`, the raw JSON of a result's blocks, in order.
pub(super) fn images(content: &str) -> Vec<Image> {
    render::blocks(content).into_iter().filter_map(|block| image(block.get())).collect()
}

fn image(block: &str) -> Option<Image> {
    let block: Block<'_> = serde_json::from_str(block).ok()?;
    match text_of(block.kind)?.as_ref() {
        "image" => decodable(block.mime_type, block.data),
        "resource" => {
            let resource: Block<'_> = serde_json::from_str(block.resource?.get()).ok()?;
            decodable(resource.mime_type, resource.blob)
        }
        _ => None,
    }
}

fn decodable(mime_type: Option<&RawValue>, data: Option<&RawValue>) -> Option<Image> {
    let mime_type = text_of(mime_type).filter(|kind| kind.starts_with("image/"))?.into_owned();
    let bytes = BASE64.decode(&*text_of(data)?).ok().filter(|bytes| !bytes.is_empty())?;
    Some(Image { mime_type, data: BASE64.encode(bytes) })
}

fn text_of(field: Option<&RawValue>) -> Option<Cow<'_, str>> {
    unescape(field?.get())
}

#[cfg(test)]
mod tests {
    use super::super::ToolResult;
    use super::Image;

    fn result(blocks: &str, is_error: bool) -> ToolResult {
        ToolResult::from_json(format!(r#"{{"content":[{blocks}],"isError":{is_error}}}"#))
    }

    fn image(mime_type: &str, data: &str) -> Image {
        Image { mime_type: mime_type.into(), data: data.into() }
    }

    #[test]
    fn images_are_found_in_blocks_and_in_embedded_resources() {
        let blocks = r#"{"type":"image","mimeType":"image/png","data":"AAE="},{"type":"text","text":"x"},
            {"type":"resource","resource":{"uri":"a:b","mimeType":"image/gif","blob":"AQ\u003d="}}"#;
        let found = [image("image/png", "AAE="), image("image/gif", "AQ==")];
        assert_eq!(result(blocks, false).images(), found);
        assert_eq!(result(blocks, false).model_images(), found);
    }

    #[test]
    fn what_is_no_image_is_none_and_hides_no_other() {
        let blocks = r#"{"type":"image","mimeType":"image/png","data":"not base64"},{},7,null,
            {"type":"image","mimeType":"image/png","data":""},{"type":"image","mimeType":"image/png","data":"AAE"},
            {"type":"image","mimeType":7,"data":null},{"type":"resource","resource":"odd"},
            {"type":"image","mimeType":"text/plain","data":"AQ=="},{"type":"audio","mimeType":"image/png","data":"AQ=="},
            {"type":"resource","resource":{"mimeType":"text/plain","blob":"AQ=="}},{"type":"x\ud800"},
            {"type":"image","mimeType":"image/png","data":"AQ==","annotations":{"\ud800":1e999}}"#;
        assert_eq!(result(blocks, false).images(), [image("image/png", "AQ==")]);
    }

    #[test]
    fn bits_left_over_in_the_last_character_are_cleared() {
        let block = r#"{"type":"image","mimeType":"image/png","data":"AR=="}"#;
        assert_eq!(result(block, false).images(), [image("image/png", "AQ==")]);
    }

    #[test]
    fn a_model_is_shown_the_types_that_every_provider_takes() {
        let of_type = |kind: &str| {
            result(&format!(r#"{{"type":"image","mimeType":"{kind}","data":"AQ=="}}"#), false)
        };
        for kind in ["image/png", "image/jpeg", "image/gif", "image/webp"] {
            assert_eq!(of_type(kind).model_images(), [image(kind, "AQ==")]);
        }
        for kind in ["image/svg+xml", "image/bmp", "image/PNG"] {
            assert!(of_type(kind).model_images().is_empty(), "{kind}");
            assert_eq!(of_type(kind).images(), [image(kind, "AQ==")]);
        }
    }

    #[test]
    fn a_model_is_shown_no_image_beside_an_error() {
        let failed = result(r#"{"type":"image","mimeType":"image/png","data":"AQ=="}"#, true);
        assert!(failed.model_images().is_empty());
        assert_eq!(failed.images(), [image("image/png", "AQ==")]);
    }
}
