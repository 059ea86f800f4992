//! Owns what a definition says about which of its tools are offered.

use serde_json::Value;

use super::fields::Fields;
use crate::error::Result;

/// Which tools of a server are offered: globs, where `disabled` wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// The only ones; all when there is no such list, none when it is empty.
    pub enabled: Option<Vec<String>>,
    /// Not these.
    pub disabled: Vec<String>,
}

/// What is odd about a glob, if anything is: it is matched as it is written all the same.
fn oddity(glob: &str) -> Option<&'static str> {
    if glob.trim().is_empty() {
        Some("is empty and matches no tool")
    } else if glob.contains(['[', ']', '{', '}']) {
        Some("is matched as it is written: only * and ? stand for something else")
    } else {
        None
    }
}

const ENABLES_NONE: &str = "is empty: no tool is offered";

impl ToolFilter {
    fn globs(&self) -> impl Iterator<Item = &String> {
        self.enabled.iter().flatten().chain(&self.disabled)
    }

    fn enables_none(&self) -> bool {
        self.enabled.as_ref().is_some_and(Vec::is_empty)
    }

    /// What is odd about the globs of a manager.
    pub(crate) fn oddities(&self) -> Vec<String> {
        let odd = self.globs().filter_map(|glob| Some((glob, oddity(glob)?)));
        let odd =
            odd.map(|(glob, what)| format!("The tool filter \"{glob}\" of the manager {what}"));
        let none = self.enables_none().then(|| format!("\"enabled_tools\" {ENABLES_NONE}"));
        none.into_iter().chain(odd).collect()
    }

    pub(super) fn take(fields: &mut Fields<'_>) -> Result<Self> {
        let mut filter = ToolFilter::default();
        for key in ["enabledTools", "enabled_tools"] {
            if fields.has(key) {
                let globs = fields.strings(key)?;
                filter.enabled.get_or_insert_default().extend(globs);
            }
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
                let enabled = filter.enabled.get_or_insert_default();
                for glob in globs {
                    let Value::String(glob) = glob else {
                        return Err(fields.error("\"tools\" must be a list of strings"));
                    };
                    enabled.push(glob);
                }
            }
            Some(_) => {
                return Err(fields.error("\"tools\" must be an object of tools by name or a list"));
            }
        }
        if filter.enables_none() {
            fields.warn_of("enabledTools", ENABLES_NONE);
        }
        for glob in filter.globs() {
            if let Some(what) = oddity(glob) {
                fields.warn_of_value("the tool filter", glob, what);
            }
        }
        Ok(filter)
    }
}
