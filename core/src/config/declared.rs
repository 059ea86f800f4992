//! Binds a definition to where it comes from.
//! Invariant: a project's definition is bound by `project_bounds`.

use std::sync::Arc;

use serde_json::Value;

use super::enabled::REQUIRED;
use super::{Level, Scope, ServerConfig, Source, Subject, validate};
use crate::error::Result;

/// A server as a source declares it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Declared {
    /// The definition, or what is wrong with it.
    pub config: Result<ServerConfig>,
    /// Whether its failure makes `connect_all` an error.
    pub required: bool,
    /// The source that is used.
    pub source: Source,
    /// Sources of lower priority with the same name.
    pub shadows: Vec<Source>,
    /// The remote server behind a bridge (`npx mcp-remote <url>`), reached directly.
    pub direct: Option<ServerConfig>,
    /// What the user is asked to trust, for a definition of a project.
    pub subject: Option<Arc<Subject>>,
}

impl Declared {
    /// Checks `definition` and binds it to where it comes from.
    pub(crate) fn read(
        name: &str,
        definition: Value,
        source: Source,
        scope: Scope,
        warnings: &mut Vec<String>,
    ) -> Declared {
        let required = definition[REQUIRED] == Value::Bool(true);
        let mut config = validate::server(name, definition, warnings);
        if let Ok(config) = &mut config {
            if scope.level == Level::Project {
                let bounded = config.bound_to_project().into_iter();
                warnings.extend(bounded.map(|it| format!("Server \"{name}\": {it}")));
            }
            config.scope = scope;
        }
        Declared::new(config, required, source)
    }

    pub(crate) fn new(config: Result<ServerConfig>, required: bool, source: Source) -> Self {
        let (shadows, direct, subject) = (Vec::new(), None, None);
        Declared { config, required, source, shadows, direct, subject }
    }

    /// The user's source that a project's definition replaces.
    pub(crate) fn replaced(&self) -> Option<&Source> {
        let of_project = self.source.level == Level::Project;
        self.shadows.iter().find(|shadow| of_project && shadow.level != Level::Project)
    }
}
