//! Reads and writes how long a connection outlives its last manager.

use std::time::Duration;

use serde_json::Value;

use super::codec::millis;
use super::field::Codec;
use super::reader::FieldReader;
use super::shape::ValueShape;
use crate::error::Result;

const ALWAYS: &str = "always";

/// How long a shared connection outlives the last manager that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// For a time; zero ends it with its last manager.
    For(Duration),
    /// As long as the process.
    Always,
}

/// Milliseconds, zero too, or `always`.
pub(super) struct KeepAliveTime;

impl Codec for KeepAliveTime {
    type Value = Option<KeepAlive>;
    const SHAPE: ValueShape =
        ValueShape::Either(&[ValueShape::Integer { least: 0 }, ValueShape::Words(&[ALWAYS])]);

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<KeepAlive>,
    ) -> Result<Option<KeepAlive>> {
        let Some(written) = reader.take(key) else { return Ok(default) };
        if written == ALWAYS {
            return Ok(Some(KeepAlive::Always));
        }
        let millis = written.as_u64();
        if millis.is_none() {
            reader.warn_of(key, "must be a number of milliseconds or always; it is left out");
        }
        reader.warn_of_seconds(key, millis);
        Ok(millis.map(|ms| KeepAlive::For(Duration::from_millis(ms))))
    }

    fn write(value: &Option<KeepAlive>) -> Value {
        match value {
            None => Value::Null,
            Some(KeepAlive::For(time)) => millis(*time).into(),
            Some(KeepAlive::Always) => ALWAYS.into(),
        }
    }
}
