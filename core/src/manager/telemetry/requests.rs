//! Owns the telemetry attributes of requests besides calls: lists, resources, prompts and completion.
//! Invariant: the address of a resource is only on the span, and secrets in it are masked.

use serde_json::Value;

use super::{CallTelemetry, Manager};
use crate::redact;

impl Manager {
    /// The telemetry of a request by the name of a verb, with its parameters as a JSON object; `None` for a verb that
    /// has none, or if the manager's options disable it.
    #[doc(hidden)]
    pub fn request_telemetry(
        &self,
        server: &str,
        verb: &str,
        params: &str,
    ) -> Option<CallTelemetry> {
        let method = method_of(verb)?;
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        let text = |name: &str| params[name].as_str();
        let (prompt, uri) = match verb {
            "get_prompt" => (text("name"), None),
            "read_resource" => (None, text("uri")),
            _ => (text("prompt"), text("resource")),
        };
        let mut facts = self.describe(method, server)?;
        if let Some(prompt) = prompt {
            facts.attributes.insert("gen_ai.prompt.name", prompt.into());
            let servers = self.0.servers.load();
            if servers.get(server).is_some_and(|it| it.known_prompts.contains(prompt)) {
                facts.measured.insert("gen_ai.prompt.name", prompt.into());
                facts.span = format!("{method} {prompt}");
            } else {
                // The answer may tell that there is such a prompt.
                facts.complete = false;
            }
        }
        // Without a session the values to mask are not known; the end of the request tells the address then.
        if let (Some(uri), Some(mask)) = (uri, self.session_mask(server)) {
            let uri = redact::url(uri);
            facts.attributes.insert("mcp.resource.uri", mask.text(&uri).into());
        }
        Some(facts)
    }

    /// The mask of a server that is up.
    fn session_mask(&self, server: &str) -> Option<redact::Mask> {
        let servers = self.0.servers.load();
        let lease = servers.get(server)?.lease();
        let published = lease.as_ref()?.connection().published();
        published.live.as_ref().map(|live| live.session.mask())
    }
}

fn method_of(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "list_resources" => "resources/list",
        "list_resource_templates" => "resources/templates/list",
        "read_resource" => "resources/read",
        "list_prompts" => "prompts/list",
        "get_prompt" => "prompts/get",
        "complete" => "completion/complete",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::manager;
    use super::*;
    use crate::manager::Telemetry;

    fn told(verb: &str, params: &str) -> CallTelemetry {
        let told = manager(Telemetry::Codes).request_telemetry("s", verb, params);
        told.expect("it is on")
    }

    #[test]
    fn a_prompt_that_may_not_exist_is_on_the_span_only() {
        let told = told("get_prompt", r#"{"name": "thought up", "arguments": {"a": "secret"}}"#);
        assert_eq!((told.span.as_str(), told.complete), ("prompts/get", false));
        assert_eq!(told.attributes["gen_ai.prompt.name"], "thought up");
        assert_eq!(told.measured.get("gen_ai.prompt.name"), None);
        assert!(!format!("{told:?}").contains("secret"));
    }

    #[test]
    fn a_prompt_that_the_server_has_names_the_span() {
        let manager = manager(Telemetry::Codes);
        manager.find("s").unwrap().known_prompts.add(["trip"].into_iter());
        let told = manager.request_telemetry("s", "get_prompt", r#"{"name": "trip"}"#).unwrap();
        assert_eq!(told.span, "prompts/get trip");
        assert_eq!(told.measured["gen_ai.prompt.name"], "trip");
        let told = manager.request_telemetry("w", "get_prompt", r#"{"name": "trip"}"#).unwrap();
        assert_eq!(told.span, "prompts/get", "it is a prompt of another server");
    }

    #[test]
    fn an_address_is_not_told_before_its_secrets_are_known() {
        let told = told("read_resource", r#"{"uri": "a://b"}"#);
        assert_eq!((told.span.as_str(), told.complete), ("resources/read", false));
        assert_eq!(told.attributes.get("mcp.resource.uri"), None);
        assert_eq!(told.attributes["mcp.method.name"], "resources/read");
        assert_eq!(told.attributes.get("gen_ai.operation.name"), None);
    }

    #[test]
    fn verbs_that_only_set_something_have_none() {
        let manager = manager(Telemetry::Codes);
        assert!(manager.request_telemetry("s", "set_log_level", "{}").is_none());
        let off = super::super::tests::manager(Telemetry::Off);
        assert!(off.request_telemetry("s", "list_prompts", "{}").is_none());
    }
}
