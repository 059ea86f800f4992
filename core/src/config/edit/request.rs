//! Owns a change requested from another language: the verb by its name, the rest as JSON.

use serde_json::Value;

use super::{Edited, Place, add, disable, enable, hide, remove, unhide, update};
use crate::error::{Error, ErrorKind, Result};
use crate::redact;

/// A requested change that was not made yet.
pub struct EditRequest {
    verb: String,
    place: Place,
    name: String,
    definition: Value,
}

impl EditRequest {
    /// `place` is as [`Place::from_json`] reads it; `definition` is for the verbs that take one.
    #[doc(hidden)]
    pub fn from_json(
        verb: &str,
        place: &str,
        name: &str,
        definition: Option<&str>,
    ) -> Result<EditRequest> {
        let place = Place::from_json(place)?;
        let definition = redact::from_json(definition.unwrap_or("null")).map_err(|why| {
            let text = format!("The definition cannot be used: {why}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Ok(EditRequest { verb: verb.to_owned(), place, name: name.to_owned(), definition })
    }

    /// Makes the change; blocks on the disk.
    pub fn run(self) -> Result<Edited> {
        let EditRequest { verb, place, name, definition } = self;
        match verb.as_str() {
            "add" => add(&place, &name, definition),
            "remove" => remove(&place, &name),
            "update" => update(&place, &name, definition),
            "enable" => enable(&place, &name),
            "disable" => disable(&place, &name),
            "hide" => hide(&place, &name),
            "unhide" => unhide(&place, &name),
            _ => Err(Error::new(ErrorKind::InvalidArguments, format!("There is no edit {verb:?}"))),
        }
    }
}
