//! Reads and writes whether a server is on: `enabled`, or its opposite `disabled`. Both must agree to it.
//! `required` is only checked here. `Declared` keeps it, because it counts for definitions with errors as well.

use serde_json::{Map, Value};

use super::field::{Field, FieldDefault, FieldGroup};
use super::reader::FieldReader;
use super::shape::ValueShape;
use crate::error::Result;

pub(super) const REQUIRED: &str = "required";

/// The fields `enabled`, `disabled` and `required`.
pub(super) struct EnabledFields;

impl FieldGroup for EnabledFields {
    type Value = bool;
    const FIELDS: &'static [Field] = &[
        Field::new("enabled", ValueShape::Switch, "Off means: listed, never started.")
            .or(FieldDefault::Value(|| true.into())),
        Field::new("disabled", ValueShape::Switch, "The opposite of `enabled`.")
            .or(FieldDefault::Value(|| false.into())),
        Field::new(
            REQUIRED,
            ValueShape::Switch,
            "Whether its failure makes connecting all servers an error.",
        )
        .or(FieldDefault::Value(|| false.into())),
    ];

    fn read(reader: &mut FieldReader<'_>) -> Result<bool> {
        let (enabled, disabled) =
            (reader.switch("enabled", true), reader.switch("disabled", false));
        reader.switch(REQUIRED, false);
        Ok(enabled && !disabled)
    }

    fn write(value: &bool, object: &mut Map<String, Value>) {
        if !value {
            object.insert("enabled".to_owned(), false.into());
        }
    }
}
