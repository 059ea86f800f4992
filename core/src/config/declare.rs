//! Owns the step from a definition in our words to a declared server: the rules, and what follows from its source.
//! Invariant: what a project says never makes a server ask less for approval.

use serde_json::Value;

use super::enabled::REQUIRED;
use super::{Declared, Level, Scope, Source, validate};

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
            if scope.level == Level::Project && !config.requires_approval {
                config.requires_approval = true;
                warnings.push(format!(
                    "Server \"{name}\": a project cannot do without approval; \"requiresApproval\" stays true"
                ));
            }
            config.scope = scope;
        }
        Declared::new(config, required, source)
    }
}
