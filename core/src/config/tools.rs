//! Owns what a definition says about which of its tools are offered.

use serde_json::Value;

use super::fields::Fields;
use crate::error::Result;

/// Which tools of a server are offered: globs, where `disabled` wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// The only ones; all when empty.
    pub enabled: Vec<String>,
    /// Not these.
    pub disabled: Vec<String>,
}

impl ToolFilter {
    pub(super) fn take(fields: &mut Fields<'_>) -> Result<Self> {
        let mut filter = ToolFilter::default();
        for key in ["enabledTools", "enabled_tools"] {
            let nothing = fields.has(key);
            let globs = fields.strings(key)?;
            if nothing && globs.is_empty() {
                fields.warn_of(key, "is empty; all tools are offered");
            }
            filter.enabled.extend(globs);
        }
        for key in ["disabledTools", "disabled_tools"] {
            filter.disabled.extend(fields.strings(key)?);
        }
        match fields.take("tools") {
            None => {}
            Some(Value::Object(tools)) => {
                let mut tools_fields = fields.nested("tools", tools);
                for tool in tools_fields.keys() {
                    let Some(switches) = tools_fields.object(&tool) else { continue };
                    let mut switches = tools_fields.nested(&tool, switches);
                    if !switches.switch("enabled", true) {
                        filter.disabled.push(tool.clone());
                    }
                    switches.finish();
                }
            }
            Some(Value::Array(globs)) => {
                for glob in globs {
                    let Value::String(glob) = glob else {
                        return Err(fields.error("\"tools\" must be a list of strings"));
                    };
                    filter.enabled.push(glob);
                }
            }
            Some(_) => {
                return Err(fields.error("\"tools\" must be an object of tools by name or a list"));
            }
        }
        Ok(filter)
    }
}
