//! Reads and writes which tools of a server are offered. Matching them is `catalog`'s work.

use serde_json::{Map, Value};

use super::field::{Field, FieldDefault, FieldGroup, FieldRow};
use super::reader::FieldReader;
use super::shape::{Object, ValueShape};
use crate::error::Result;

/// Which tools of a server are offered: globs, where `disabled` wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// The only ones; all when there is no such list, none when it is empty.
    pub enabled: Option<Vec<String>>,
    /// Not these.
    pub disabled: Vec<String>,
}

/// A warning about a glob, if there is one; it is matched as written anyway.
fn glob_warning(glob: &str) -> Option<&'static str> {
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

    /// Warnings about the globs of a manager.
    pub(crate) fn glob_warnings(&self) -> Vec<String> {
        let odd = self.globs().filter_map(|glob| Some((glob, glob_warning(glob)?)));
        let odd =
            odd.map(|(glob, what)| format!("The tool filter \"{glob}\" of the manager {what}"));
        let none = self.enables_none().then(|| format!("\"enabled_tools\" {ENABLES_NONE}"));
        none.into_iter().chain(odd).collect()
    }
}

const GLOBS: ValueShape = ValueShape::List(&ValueShape::TEXT);

/// The lists of globs, in either spelling, and `tools`, which switches single tools or is a list of globs itself.
pub(super) struct ToolFields;

impl FieldGroup for ToolFields {
    type Value = ToolFilter;
    const FIELDS: &'static [Field] = &[
        Field::new(
            "enabledTools",
            GLOBS,
            "Globs of the only tools to offer; without the list, all.",
        ),
        Field::new(
            "disabledTools",
            GLOBS,
            "Globs of tools not to offer; they win over `enabledTools`.",
        ),
        Field::new("enabled_tools", GLOBS, "Another spelling of `enabledTools`.").deprecated(),
        Field::new("disabled_tools", GLOBS, "Another spelling of `disabledTools`.").deprecated(),
        Field::new(
            "tools",
            ValueShape::Either(&[
                ValueShape::ByName(&ValueShape::Object(&Object {
                    name: "ToolSwitch",
                    about: "What is said of one tool of a server.",
                    rows: &[FieldRow::unclassed(&[Field::new(
                        "enabled",
                        ValueShape::Switch,
                        "Whether the tool is offered.",
                    )
                    .or(FieldDefault::Value(|| true.into()))])],
                    is_open: false,
                })),
                GLOBS,
            ]),
            "Tools by name, each on or off; or the list of `enabledTools`.",
        ),
    ];

    fn read(reader: &mut FieldReader<'_>) -> Result<ToolFilter> {
        let mut filter = ToolFilter::default();
        for key in ["enabledTools", "enabled_tools"] {
            if reader.has(key) {
                let globs = reader.strings(key)?;
                filter.enabled.get_or_insert_default().extend(globs);
            }
        }
        for key in ["disabledTools", "disabled_tools"] {
            filter.disabled.extend(reader.strings(key)?);
        }
        match reader.take("tools") {
            None => {}
            Some(Value::Object(tools)) => {
                let mut by_tool = reader.nested("tools", tools);
                for tool in by_tool.keys() {
                    if by_tool.take_false(&tool) {
                        filter.disabled.push(tool);
                        continue;
                    }
                    let Some(switches) = by_tool.object(&tool) else { continue };
                    let mut switches = by_tool.nested(&tool, switches);
                    if !switches.switch("enabled", true) {
                        filter.disabled.push(tool.clone());
                    }
                    switches.finish(["enabled"].into_iter());
                }
            }
            Some(Value::Array(globs)) => {
                let enabled = filter.enabled.get_or_insert_default();
                for glob in globs {
                    let Value::String(glob) = glob else {
                        return Err(reader.error("\"tools\" must be a list of strings"));
                    };
                    enabled.push(glob);
                }
            }
            Some(_) => {
                return Err(reader.error("\"tools\" must be an object of tools by name or a list"));
            }
        }
        if filter.enables_none() {
            reader.warn_of("enabledTools", ENABLES_NONE);
        }
        for glob in filter.globs() {
            if let Some(what) = glob_warning(glob) {
                reader.warn_of_value("the tool filter", glob, what);
            }
        }
        Ok(filter)
    }

    fn write(filter: &ToolFilter, object: &mut Map<String, Value>) {
        // An empty list of enabled tools offers none, which no list at all does not.
        if let Some(enabled) = &filter.enabled {
            object.insert("enabledTools".to_owned(), enabled.as_slice().into());
        }
        if !filter.disabled.is_empty() {
            object.insert("disabledTools".to_owned(), filter.disabled.as_slice().into());
        }
    }
}
