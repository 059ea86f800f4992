//! Reads and writes the version of the protocol that is spoken with a server.

use rmcp::model::ProtocolVersion;
use serde_json::Value;

use super::field::Codec;
use super::reader::FieldReader;
use super::shape::ValueShape;
use crate::error::Result;

const AUTO: &str = "auto";

/// A known version, or none: it is negotiated with the server.
pub(super) struct ProtocolVersionChoice;

impl Codec for ProtocolVersionChoice {
    type Value = Option<String>;
    const SHAPE: ValueShape = ValueShape::TEXT;

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<String>,
    ) -> Result<Option<String>> {
        let Some(written) = reader.take(key).filter(|written| written != AUTO) else {
            return Ok(default);
        };
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str);
        let version = written.as_str().filter(|written| known.clone().any(|it| it == *written));
        if version.is_none() {
            let versions = known.collect::<Vec<_>>().join(", ");
            reader.warn_of(key, &format!("must be auto or one of {versions}; auto is used"));
        }
        Ok(version.map(str::to_owned))
    }

    fn write(value: &Option<String>) -> Value {
        value.as_deref().unwrap_or(AUTO).into()
    }
}
