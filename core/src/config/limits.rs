//! Declares the bounds on what one server may cost us.

use serde_json::Value;

use super::codec::Count;
use super::field::{Codec, config_fields, names_of};
use super::reader::FieldReader;
use super::shape::{Object, ValueShape};
use crate::error::Result;

config_fields! {
    /// The bounds on one connection; beyond one, the call concerned fails with `LIMIT_EXCEEDED`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Limits: with_defaults() {
        /// The longest line or body, in bytes.
        message_bytes "messageBytes": usize as Count = 32 << 20;
        /// The deepest nesting of JSON.
        json_depth "jsonDepth": usize as Count = 256;
        /// How many requests of the server may be open.
        server_requests "serverRequests": usize as Count = 64;
        /// How many bytes of our replies may wait for a server that does not read.
        reply_bytes "replyBytes": usize as Count = 1 << 20;
        /// How many bytes of one text of the server are shown or kept: a name, instructions, the words of an error or a log.
        text_bytes "textBytes": usize as Count = 64 << 10;
        /// The longest definition of one tool, in bytes; a longer one is left out.
        tool_bytes "toolBytes": usize as Count = 4 << 20;
        /// How many bytes the definitions of all its tools may be.
        tool_list_bytes "toolListBytes": usize as Count = 64 << 20;
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::with_defaults()
    }
}

/// The object `limits`.
pub(super) struct LimitsObject;

impl Codec for LimitsObject {
    type Value = Limits;
    const SHAPE: ValueShape = ValueShape::Object(&Object {
        name: "Limits",
        about: "The bounds on what a server may cost us.",
        rows: Limits::ROWS,
        is_open: false,
    });

    fn read(reader: &mut FieldReader<'_>, key: &str, default: Limits) -> Result<Limits> {
        let Some(object) = reader.object(key) else { return Ok(default) };
        let mut reader = reader.nested(key, object);
        let limits = Limits::read(&mut reader)?;
        reader.finish(names_of(Limits::ROWS));
        Ok(limits)
    }

    fn write(value: &Limits) -> Value {
        value.write().into()
    }
}
