//! Owns approval by an agent framework, which asks a person in its own way: whether that was asked for, which calls it
//! is about, and the refusal where nobody can be asked. The adapters own the asking.
//! Invariant: once asked for, it holds for all tools of the manager, on every way to them. A child starts without it.

use std::sync::atomic::Ordering;

use super::Manager;
use crate::catalog::Tool;
use crate::error::{Error, ErrorKind, Executed, Result};

const CANNOT_ASK: &str = "this way to the tool cannot ask a person";
const NO_SUCH_TOOL: &str = "there is no such tool now";

#[doc(hidden)]
impl Manager {
    /// From now on, calls of tools that require approval need the approval of a person whom a framework asks.
    pub fn require_framework_approval(&self) {
        self.0.framework_approval.store(true, Ordering::Release);
    }

    /// Whether [`Manager::require_framework_approval`] was called.
    pub fn requires_framework_approval(&self) -> bool {
        self.0.framework_approval.load(Ordering::Acquire)
    }

    /// Whether a person has to be asked before a call of this tool: because of what it was when it was handed over, or
    /// of what it is now. A tool that is gone needs approval, because nobody knows what it will be when it is back.
    pub fn needs_framework_approval(&self, tool: &Tool) -> bool {
        if !self.requires_framework_approval() {
            return false;
        }
        if tool.requires_approval || self.check_process().is_err() {
            return true;
        }
        let (server, raw_name) = (tool.definition.server(), tool.definition.raw_name());
        self.get_tools().find(server, raw_name).is_none_or(|current| current.requires_approval)
    }

    /// Fails if a call of this tool needs an approval. For ways to a tool on which nobody can be asked.
    pub fn check_framework_approval(&self, tool: &Tool) -> Result<()> {
        if self.needs_framework_approval(tool) {
            return Err(tool.not_approved(Some(CANNOT_ASK)));
        }
        Ok(())
    }

    /// The same for a call by a name that a model gave. A name that is not in the list may belong to a tool that had it
    /// before, of which nobody was asked.
    pub fn check_framework_approval_of_name(&self, name: &str) -> Result<()> {
        if !self.requires_framework_approval() {
            return Ok(());
        }
        self.check_process()?;
        let catalog = self.get_tools();
        match catalog.index_of(name) {
            Some(index) => self.check_framework_approval(&catalog.tools()[index]),
            None => Err(not_approved(name, Some(NO_SUCH_TOOL))),
        }
    }
}

impl Tool {
    /// The error of a call that a person refused, or about which nobody could be asked.
    #[doc(hidden)]
    pub fn not_approved(&self, reason: Option<&str>) -> Error {
        not_approved(&self.name, reason).with_server(self.definition.server())
    }
}

fn not_approved(name: &str, reason: Option<&str>) -> Error {
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let text = format!("The call of {name} was not approved{reason}");
    Error::new(ErrorKind::NotApproved, text).with_executed(Executed::No)
}
