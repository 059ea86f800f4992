//! Owns the requests that callers make besides calls of tools: resources, prompts, skills, completion, logs. Each
//! gives the server's answer as it came; `resource`, `prompt` and `skill` read it.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::Session;
use super::list::{ListKind, list_all};
use crate::error::{Error, ErrorKind, Result};
use crate::event::LogLevel;
use crate::runtime;

const METHOD_NOT_FOUND: i64 = -32601;

/// A list besides that of tools.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Listed {
    Resources,
    ResourceTemplates,
    Prompts,
    Skills,
}

impl Listed {
    fn kind(self) -> &'static ListKind {
        match self {
            Listed::Resources => {
                &ListKind { method: "resources/list", member: "resources", entries: "resources" }
            }
            Listed::ResourceTemplates => &ListKind {
                method: "resources/templates/list",
                member: "resourceTemplates",
                entries: "resource templates",
            },
            Listed::Prompts => {
                &ListKind { method: "prompts/list", member: "prompts", entries: "prompts" }
            }
            Listed::Skills => {
                &ListKind { method: "skills/list", member: "skills", entries: "skills" }
            }
        }
    }
}

impl Session {
    /// All entries of a list. A server that does not know the method has none.
    pub(crate) async fn list(
        &self,
        listed: Listed,
        meta: Option<&Map<String, Value>>,
    ) -> Result<Vec<Bytes>> {
        match list_all(self, listed.kind(), meta).await {
            Err(error) if is_unknown_method(&error) => Ok(Vec::new()),
            outcome => outcome.map(|whole| whole.entries),
        }
    }

    /// Sets on a new session what the managers have set before. It goes on in the background.
    pub(crate) fn restore_settings(&self) {
        let settings = self.subscribers.session_settings(&self.server);
        if let Some(metadata) = self.stateless.get() {
            // The standing request has the subscriptions.
            settings.log_level.into_iter().for_each(|level| metadata.set_log_level(level));
            return;
        }
        let Some(session) = self.me.upgrade() else { return };
        if settings == Default::default() {
            return;
        }
        runtime::spawn(async move {
            let mut outcomes = Vec::new();
            for uri in &settings.subscriptions {
                outcomes.push(session.subscribe_resource(uri).await);
            }
            if let Some(level) = settings.log_level {
                outcomes.push(session.set_log_level(level).await);
            }
            for error in outcomes.into_iter().filter_map(Result::err) {
                tracing::warn!(server = &*session.server, "a setting was not restored: {error}");
            }
        });
    }

    /// Asks for the updates of a resource, which the manager has noted.
    pub(crate) async fn subscribe_resource(&self, uri: &str) -> Result<()> {
        if self.is_stateless() {
            let text = "The server did not accept the subscription";
            let refused = || Error::new(ErrorKind::ToolFailed, text).with_server(&self.server);
            return self.renew_subscription().await.then_some(()).ok_or_else(refused);
        }
        self.request_for_caller("resources/subscribe", &json!({"uri": uri})).await.map(drop)
    }

    /// Ends the updates of a resource that no manager wants any more.
    pub(crate) async fn unsubscribe_resource(&self, uri: &str) -> Result<()> {
        if self.is_stateless() {
            self.renew_subscription().await;
            return Ok(());
        }
        self.request_for_caller("resources/unsubscribe", &json!({"uri": uri})).await.map(drop)
    }

    /// Sets which log messages the server sends.
    pub(crate) async fn set_log_level(&self, level: LogLevel) -> Result<()> {
        if let Some(metadata) = self.stateless.get() {
            metadata.set_log_level(level);
            return Ok(());
        }
        self.request_for_caller("logging/setLevel", &json!({"level": level})).await.map(drop)
    }

    /// Tells the server that the roots have changed.
    pub(crate) fn announce_roots(&self) {
        self.notify("notifications/roots/list_changed", &json!({}));
    }
}

fn is_unknown_method(error: &Error) -> bool {
    error.rpc().is_some_and(|rpc| rpc.code == METHOD_NOT_FOUND)
}
