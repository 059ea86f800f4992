//! Owns what is known of a server's resources: their list, their templates and what is in them.
//! Invariant: what a server says of a resource besides the known fields is kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A resource that a server offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// Its address, by which it is read.
    pub uri: String,
    /// Its name; empty if the server gives none.
    #[serde(default)]
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Everything else: `annotations`, `icons`, `_meta` and what is not known.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A family of resources, whose addresses follow a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The template of the addresses, as in RFC 6570.
    pub uri_template: String,
    /// Its name; empty if the server gives none.
    #[serde(default)]
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the resources are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type of their content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Everything else: `annotations`, `icons`, `_meta` and what is not known.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A part of what is in a resource: text, or bytes in base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContent {
    /// The address of this part.
    pub uri: String,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The answer to `resources/read`.
#[derive(Deserialize)]
pub(crate) struct ReadAnswer {
    pub(crate) contents: Vec<ResourceContent>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_known_is_kept() {
        let written = json!({"uri": "a://b", "name": "b", "mimeType": "text/plain", "icons": [], "x-y": {"z": 1}});
        let resource: Resource = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(resource.more["x-y"], json!({"z": 1}));
        assert_eq!(serde_json::to_value(resource).unwrap(), written);
    }
}
