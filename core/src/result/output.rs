//! Owns the outcome of a call for an agent: the text for its model, also of a failure, and the details.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::{CallFailure, ForModel, Image, Origin, ToolResult};
use crate::error::{Error, Result};
use crate::scan::Signal;

/// How a call went, for an agent.
pub struct ToolOutput {
    origin: Origin,
    provider: Arc<str>,
    outcome: Result<ToolResult>,
    /// The name of the suggested tool that the model can call, for a failure that suggests one.
    suggestion: Option<String>,
    failure: OnceLock<ForModel>,
}

impl ToolOutput {
    pub(crate) fn new(
        origin: Origin,
        provider: Arc<str>,
        outcome: Result<ToolResult>,
        suggestion: Option<String>,
    ) -> Self {
        ToolOutput { origin, provider, outcome, suggestion, failure: OnceLock::new() }
    }

    /// What the model is given: the result as [`ToolResult::for_model`] shows it, or why there is none.
    pub fn text(&self) -> &str {
        match &self.outcome {
            Ok(result) => result.for_model(),
            Err(error) => &self.failure(error).text,
        }
    }

    /// Whether the tool says that it failed, or there is no result.
    pub fn is_error(&self) -> bool {
        self.outcome.as_ref().map_or(true, ToolResult::is_error)
    }

    /// The server that was called.
    pub fn server(&self) -> &str {
        &self.origin.presenter.server
    }

    /// The server's name for the tool.
    pub fn tool(&self) -> &str {
        &self.origin.tool
    }

    /// Where the tool comes from, for people.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The content blocks as the server sent them.
    pub fn content(&self) -> Vec<Value> {
        self.outcome.as_ref().map(ToolResult::content).unwrap_or_default()
    }

    /// The structured content, where the tool gave some.
    pub fn structured(&self) -> Option<Value> {
        self.outcome.as_ref().ok()?.structured()
    }

    /// The images to show to the model beside the text: [`ToolResult::model_images`].
    pub fn model_images(&self) -> Vec<Image> {
        self.outcome.as_ref().map(ToolResult::model_images).unwrap_or_default()
    }

    /// What in the text looks as if it were written to give orders to a model.
    pub fn signals(&self) -> &[Signal] {
        match &self.outcome {
            Ok(result) => result.signals(),
            Err(error) => &self.failure(error).signals,
        }
    }

    /// The result, where there is one.
    pub fn result(&self) -> Option<&ToolResult> {
        self.outcome.as_ref().ok()
    }

    /// Why there is no result.
    pub fn error(&self) -> Option<&Error> {
        self.outcome.as_ref().err()
    }

    fn failure(&self, error: &Error) -> &ForModel {
        self.failure.get_or_init(|| {
            let suggestion = self.suggestion.as_deref().map(Cow::from);
            self.origin.present_failure(&CallFailure { suggestion, ..error.into() })
        })
    }
}

impl std::fmt::Debug for ToolOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (server, tool) = (self.server(), self.tool());
        f.debug_struct("ToolOutput")
            .field("server", &server)
            .field("tool", &tool)
            .finish_non_exhaustive()
    }
}
