//! Owns calls for agents: they always produce text for the model, also for hosts with their own errors.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Weak};

use super::{Inner, Manager, inherited};
use crate::call::{Arguments, CallOptions};
use crate::catalog::{Execution, Tool, ToolExecutor};
use crate::config::MAX_RESULT_CHARS;
use crate::error::{Error, Executed, Result};
use crate::fork::ProcessLocal;
use crate::redact::Mask;
use crate::result::ToolOutput;
use crate::result::{CallFailure, ForModel, Origin};

/// A weak reference from a tool to its manager.
#[derive(Clone)]
struct WeakManager(ProcessLocal<Weak<Inner>>);

impl WeakManager {
    fn manager(&self) -> Result<Manager> {
        if self.0.is_inherited() {
            return Err(inherited());
        }
        self.0.upgrade().map(|inner| Manager(ProcessLocal::new(inner))).ok_or_else(Error::closed)
    }

    fn origin(&self, server: &str, tool: &str) -> Origin {
        match self.manager() {
            Ok(manager) => manager.origin(server, tool),
            Err(_) => Origin::detached(server, tool),
        }
    }
}

impl ToolExecutor for WeakManager {
    fn execute(
        &self,
        tool: &Tool,
        arguments: Result<Arguments>,
        options: CallOptions,
    ) -> Execution {
        let (manager, of, provider) =
            (self.clone(), tool.definition.clone(), tool.provider_shared());
        let call = self.manager().and_then(|manager| {
            Ok(manager.call_tool(of.server(), of.raw_name(), arguments?, options))
        });
        Box::pin(async move {
            let outcome = match call {
                Ok(call) => call.await,
                Err(error) => Err(error.with_executed(Executed::No)),
            };
            // Read after the call, because the call may have started the server and its secrets are known only then.
            let origin = outcome.as_ref().ok().and_then(|result| result.origin()).cloned();
            let origin = origin.unwrap_or_else(|| manager.origin(of.server(), of.raw_name()));
            let suggestion = outcome.as_ref().err().and_then(|error| {
                let failure = manager.manager().ok()?.with_callable_name(error.into());
                failure.suggestion.map(Cow::into_owned)
            });
            ToolOutput::new(origin, provider, outcome, suggestion)
        })
    }
}

impl fmt::Debug for WeakManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakManager")
    }
}

impl Manager {
    pub(super) fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(WeakManager(ProcessLocal::new(self.0.me.clone())))
    }

    /// The text for the model when a call has no result, for hosts with their own errors.
    #[doc(hidden)]
    pub fn failure_for_model(
        &self,
        server: &str,
        tool: &str,
        failure: CallFailure<'_>,
    ) -> ForModel {
        self.origin(server, tool).present_failure(&self.with_callable_name(failure))
    }

    /// The failure with the suggested tool by its name in the catalog.
    fn with_callable_name<'a>(&self, failure: CallFailure<'a>) -> CallFailure<'a> {
        failure.with_callable_name(|server, tool| {
            self.catalog().find(server, tool).map(|known| known.name.clone())
        })
    }

    fn origin(&self, server: &str, tool: &str) -> Origin {
        let known = self.0.servers.load().get(server).cloned();
        let (presenter, mask) = match known {
            Some(known) => (known.presenter().clone(), known.mask()),
            // Its definition was removed since.
            None => {
                (self.0.presenter_settings.with_limit(server, MAX_RESULT_CHARS), Mask::default())
            }
        };
        Origin { presenter, tool: Arc::from(tool), mask }
    }
}
