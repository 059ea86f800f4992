//! Owns the object `tools` of an entry, in which a product may keep settings that we do not know: a change of a list of
//! tools leaves them as they are.

use serde_json::{Map, Value};

use super::super::file::{EntryAt, FileToEdit};
use crate::provider::{Denormalised, FieldWord, TOOLS};

/// The object `tools` of an entry.
pub(super) struct SettingsByTool {
    settings: Option<Map<String, Value>>,
    /// Whether tools are switched off in it, by the product's own wording.
    is_switch: bool,
}

impl SettingsByTool {
    /// Takes it out of `before`, the entry in our words, unless it is the product's word for one of our lists.
    pub(super) fn take(
        file: &FileToEdit<'_>,
        entry: &EntryAt<'_>,
        changes: &Map<String, Value>,
        before: &mut Map<String, Value>,
    ) -> SettingsByTool {
        let word = FieldWord::SwitchedOff(TOOLS);
        let is_switch = file.provider.wording.fields.contains(&("disabledTools", word));
        let settings = entry.fields.get(TOOLS).and_then(Value::as_object);
        let settings = settings.filter(|_| !changes.contains_key(TOOLS)).cloned();
        if settings.is_some() && !is_switch {
            before.shift_remove(TOOLS);
        }
        SettingsByTool { settings, is_switch }
    }

    /// Adds it to what is written.
    pub(super) fn keep(self, written: &mut Denormalised, touched: &[&str]) {
        let Some(mut settings) = self.settings else { return };
        if !self.is_switch {
            written.meaning.insert(TOOLS.to_owned(), settings.clone().into());
        } else if touched.contains(&"disabledTools") {
            let off = written.entry.get(TOOLS).and_then(Value::as_object);
            switch_off(&mut settings, &off.cloned().unwrap_or_default());
        }
        match settings.is_empty() && self.is_switch {
            true => written.entry.shift_remove(TOOLS),
            false => written.entry.insert(TOOLS.to_owned(), settings.into()),
        };
    }
}

/// Switches exactly the tools of `off` off.
fn switch_off(settings: &mut Map<String, Value>, off: &Map<String, Value>) {
    settings.retain(|tool, setting| match setting {
        _ if off.contains_key(tool) => true,
        Value::Object(fields) => fields.shift_remove("enabled").is_none() || !fields.is_empty(),
        setting => *setting != false,
    });
    for (tool, switch) in off {
        match settings.get_mut(tool) {
            Some(Value::Object(fields)) => drop(fields.insert("enabled".to_owned(), false.into())),
            Some(Value::Bool(false)) => {}
            _ => drop(settings.insert(tool.clone(), switch.clone())),
        }
    }
}
