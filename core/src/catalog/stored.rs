//! Owns a tool as data, for another process or for later: all that it says, and no manager to call it with.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Execution, Tool, ToolExecutor, ToolState};
use crate::call::{Arguments, CallOptions};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::result::{Origin, ToolOutput};
use crate::tool::ServerTool;

#[derive(Serialize, Deserialize)]
struct StoredTool<'a> {
    name: String,
    server: Arc<str>,
    #[serde(borrow)]
    definition: &'a RawValue,
    state: ToolState,
    requires_approval: bool,
    provider: Arc<str>,
}

impl Tool {
    /// The tool as JSON, for [`Tool::from_stored`].
    #[doc(hidden)]
    pub fn to_stored(&self) -> Result<String> {
        let stored = StoredTool {
            name: self.name.clone(),
            server: self.definition.server_shared(),
            definition: serde_json::from_str(self.definition.json()).map_err(unreadable)?,
            state: self.state,
            requires_approval: self.requires_approval,
            provider: self.provider.clone(),
        };
        serde_json::to_string(&stored).map_err(unreadable)
    }

    /// A tool from [`Tool::to_stored`]. It has no manager, so its calls fail.
    #[doc(hidden)]
    pub fn from_stored(json: &str) -> Result<Tool> {
        let stored: StoredTool<'_> = serde_json::from_str(json).map_err(unreadable)?;
        let definition = stored.definition.get().to_owned().into();
        let definition = ServerTool::read(&stored.server, definition);
        let definition = definition.map_err(|(_, why)| unreadable(why))?;
        Ok(Tool {
            name: stored.name,
            definition: Arc::new(definition),
            state: stored.state,
            requires_approval: stored.requires_approval,
            provider: stored.provider,
            executor: Arc::new(NoManager),
        })
    }

    /// The error of every call of a tool without a manager.
    #[doc(hidden)]
    pub fn no_manager(&self) -> Error {
        let text = format!("The tool \"{}\" was stored without its manager", self.name);
        Error::new(ErrorKind::Closed, text)
            .with_server(self.definition.server())
            .with_executed(Executed::No)
            .with_hint("call it by its name with a manager of this process")
    }
}

#[derive(Debug)]
struct NoManager;

impl ToolExecutor for NoManager {
    fn execute(&self, tool: &Tool, _: Result<Arguments>, _: CallOptions) -> Execution {
        let origin = Origin::detached(tool.definition.server(), tool.definition.raw_name());
        let output = ToolOutput::new(origin, tool.provider_shared(), Err(tool.no_manager()), None);
        Box::pin(async { output })
    }
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidArguments, format!("A stored tool cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = r#"{"name":"mcp_s_t","server":"s","definition":{"name":"t","x":1e400},"state":"live","requires_approval":true,"provider":"mcp:s via code"}"#;

    #[test]
    fn a_stored_tool_says_what_it_said_and_cannot_be_called() {
        let tool = Tool::from_stored(STORED).unwrap();
        assert_eq!(tool.to_stored().unwrap(), STORED);
        assert_eq!((tool.definition.raw_name(), tool.provider()), ("t", "mcp:s via code".into()));
        let output = futures_util::FutureExt::now_or_never(
            tool.execute(Arguments::none(), CallOptions::default()),
        );
        let output = output.unwrap();
        assert_eq!(output.error().unwrap().kind(), ErrorKind::Closed);
        assert!(output.text().contains("mcp_s_t"), "{}", output.text());
    }

    #[test]
    fn what_is_not_a_stored_tool_is_refused() {
        for json in ["", "[]", "{}", &STORED.replace(r#""name":"t""#, r#""name":7"#)] {
            assert!(Tool::from_stored(json).is_err(), "{json}");
        }
    }
}
