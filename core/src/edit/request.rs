//! Owns a change requested from another language: the verb by its name, the rest as JSON.

use serde_json::Value;

use super::{EditTarget, Edited, add, disable, enable, hide, remove, unhide, update};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Language;
use crate::redact;

/// A requested change that was not made yet.
pub struct EditRequest {
    verb: String,
    target: EditTarget,
    name: String,
    definition: Value,
}

impl EditRequest {
    /// `target` is as [`EditTarget::from_json`] reads it; `definition` is for the verbs that take one.
    #[doc(hidden)]
    pub fn from_json(
        verb: &str,
        target: &str,
        name: &str,
        definition: Option<&str>,
        language: Language,
    ) -> Result<EditRequest> {
        let target = EditTarget::from_json(target, language)?;
        let definition = redact::from_json(definition.unwrap_or("null")).map_err(|why| {
            let text = format!("The definition cannot be used: {why}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Ok(EditRequest { verb: verb.to_owned(), target, name: name.to_owned(), definition })
    }

    /// Makes the change; blocks on the disk.
    pub fn run(self) -> Result<Edited> {
        let EditRequest { verb, target, name, definition } = self;
        match verb.as_str() {
            "add" => add(&target, &name, definition),
            "remove" => remove(&target, &name),
            "update" => update(&target, &name, definition),
            "enable" => enable(&target, &name),
            "disable" => disable(&target, &name),
            "hide" => hide(&target, &name),
            "unhide" => unhide(&target, &name),
            _ => Err(Error::new(ErrorKind::InvalidArguments, format!("There is no edit {verb:?}"))),
        }
    }
}
