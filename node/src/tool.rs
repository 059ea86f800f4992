//! Owns the handle of a catalog; a tool is its position in the list, and its parts are read on first use.

use std::sync::Arc;

use mcpool::{Catalog, ServerTool, Tool};
use napi_derive::napi;

use crate::text::to_json;

/// All tools at one moment.
#[napi]
pub struct NativeCatalog(pub(crate) Arc<Catalog>);

#[napi]
impl NativeCatalog {
    /// JSON array of name, server and raw name of each tool in turn.
    #[napi]
    pub fn names(&self) -> String {
        let tools = self.0.tools().iter();
        let names = tools
            .flat_map(|tool| [&tool.name, tool.definition.server(), tool.definition.raw_name()]);
        to_json(&names.collect::<Vec<&str>>())
    }

    #[napi]
    pub fn title(&self, index: u32) -> Option<String> {
        self.definition(index)?.title()
    }

    #[napi]
    pub fn description(&self, index: u32) -> Option<String> {
        Some(self.definition(index)?.description())
    }

    #[napi]
    pub fn input_schema(&self, index: u32) -> Option<String> {
        Some(self.definition(index)?.input_schema())
    }

    #[napi]
    pub fn object_schema(&self, index: u32) -> Option<String> {
        Some(self.definition(index)?.object_schema())
    }

    #[napi]
    pub fn output_schema(&self, index: u32) -> Option<&str> {
        self.definition(index)?.output_schema()
    }

    #[napi]
    pub fn annotations(&self, index: u32) -> Option<&str> {
        self.definition(index)?.annotations()
    }

    #[napi]
    pub fn icons(&self, index: u32) -> Option<&str> {
        self.definition(index)?.icons()
    }

    #[napi]
    pub fn json(&self, index: u32) -> Option<&str> {
        Some(self.definition(index)?.json())
    }

    #[napi]
    pub fn requires_approval(&self, index: u32) -> Option<bool> {
        Some(self.tool(index)?.requires_approval)
    }

    #[napi]
    pub fn state(&self, index: u32) -> Option<&str> {
        Some(self.tool(index)?.state.name())
    }

    #[napi]
    pub fn provider(&self, index: u32) -> Option<String> {
        Some(self.tool(index)?.provider())
    }

    #[napi]
    pub fn fingerprint(&self, index: u32) -> Option<String> {
        Some(self.definition(index)?.fingerprint())
    }

    /// JSON of what in its texts and schemas looks like instructions to a model.
    #[napi]
    pub fn signals(&self, index: u32) -> String {
        to_json(&self.definition(index).map(ServerTool::signals).unwrap_or_default())
    }

    pub(crate) fn tool(&self, index: u32) -> Option<&Tool> {
        self.0.tools().get(index as usize)
    }

    fn definition(&self, index: u32) -> Option<&ServerTool> {
        self.tool(index).map(|tool| &*tool.definition)
    }
}
