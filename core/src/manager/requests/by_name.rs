//! Owns the requests of the bindings: a verb by its name with JSON, and its answer as JSON.
//! Invariant: a parameter of the wrong type is refused by its name before anything is sent.

use std::collections::BTreeMap;
use std::future::Future;

use serde::Serialize;
use serde_json::{Map, Value};

use super::super::Manager;
use crate::error::{Error, ErrorKind, Result};
use crate::event::LogLevel;
use crate::prompt::CompletionTarget;
use crate::resource::{Resource, ResourceTemplate};
use crate::server_request::Root;
use crate::session::Listed;

impl Manager {
    /// Asks a server by the name of a verb, such as `read_resource`, with its parameters as a JSON object. The answer is
    /// JSON.
    #[doc(hidden)]
    pub fn request(
        &self,
        server: &str,
        verb: &str,
        params: &str,
    ) -> impl Future<Output = Result<String>> + Send + use<> {
        let request = Params::read(verb, params)
            .and_then(|params| Ok((Request::read(&params)?, params.object("meta")?)));
        let (manager, server) = (self.clone(), server.to_owned());
        async move {
            let (request, meta) = request?;
            match request {
                Request::ListResources => {
                    written(manager.list::<Resource>(&server, Listed::Resources, meta)).await
                }
                Request::ListResourceTemplates => {
                    let listed = Listed::ResourceTemplates;
                    written(manager.list::<ResourceTemplate>(&server, listed, meta)).await
                }
                Request::ReadResource(uri) => {
                    written(manager.read_contents(&server, &uri, meta)).await
                }
                Request::Subscribe(uri) => written(manager.subscribe_resource(&server, &uri)).await,
                Request::Unsubscribe(uri) => {
                    written(manager.unsubscribe_resource(&server, &uri)).await
                }
                Request::ListPrompts => written(manager.list_known_prompts(&server, meta)).await,
                Request::GetPrompt(name, arguments) => {
                    written(manager.fill_in_prompt(&server, &name, arguments, meta)).await
                }
                Request::Complete { target, argument, value, others } => {
                    let params = target.params(&argument, &value, &others);
                    written(manager.complete_argument(&server, params, meta)).await
                }
                Request::ListSkills => written(manager.list_skills(&server)).await,
                Request::ReadSkill(skill) => written(manager.read_skill(&server, &skill)).await,
                Request::ReadSkillFile(skill, uri) => {
                    written(manager.read_skill_file(&server, &skill, &uri)).await
                }
                Request::GetTask(id) => written(manager.get_task(&server, &id)).await,
                Request::CancelTask(id) => written(manager.cancel_task(&server, &id)).await,
                Request::SetLogLevel(level) => written(manager.set_log_level(&server, level)).await,
            }
        }
    }

    /// Replaces the roots, from a JSON list of paths or file addresses.
    #[doc(hidden)]
    pub fn set_roots_json(&self, roots: &str) -> Result<()> {
        let roots: Vec<String> = serde_json::from_str(roots)
            .map_err(|_| invalid("The roots must be a list of paths or file addresses"))?;
        let roots = roots.iter().map(|root| Root::new(root)).collect::<Result<_>>()?;
        self.set_roots(roots)
    }
}

async fn written<T: Serialize>(answer: impl Future<Output = Result<T>> + Send) -> Result<String> {
    let answer = answer.await?;
    serde_json::to_string(&answer).map_err(|error| {
        Error::new(ErrorKind::ProtocolError, format!("The answer cannot be written: {error}"))
    })
}

enum Request {
    ListResources,
    ListResourceTemplates,
    ReadResource(String),
    Subscribe(String),
    Unsubscribe(String),
    ListPrompts,
    GetPrompt(String, BTreeMap<String, String>),
    Complete {
        target: CompletionTarget,
        argument: String,
        value: String,
        others: BTreeMap<String, String>,
    },
    ListSkills,
    ReadSkill(String),
    ReadSkillFile(String, String),
    GetTask(String),
    CancelTask(String),
    SetLogLevel(LogLevel),
}

impl Request {
    fn read(params: &Params<'_>) -> Result<Request> {
        Ok(match params.verb {
            "list_resources" => Request::ListResources,
            "list_resource_templates" => Request::ListResourceTemplates,
            "read_resource" => Request::ReadResource(params.text("uri")?),
            "subscribe_resource" => Request::Subscribe(params.text("uri")?),
            "unsubscribe_resource" => Request::Unsubscribe(params.text("uri")?),
            "list_prompts" => Request::ListPrompts,
            "get_prompt" => Request::GetPrompt(params.text("name")?, params.texts("arguments")?),
            "complete" => Request::Complete {
                target: params.target()?,
                argument: params.text("argument")?,
                value: params.text("value")?,
                others: params.texts("others")?,
            },
            "list_skills" => Request::ListSkills,
            "read_skill" => Request::ReadSkill(params.text("skill")?),
            "read_skill_file" => Request::ReadSkillFile(params.text("skill")?, params.text("uri")?),
            "get_task" => Request::GetTask(params.text("task_id")?),
            "cancel_task" => Request::CancelTask(params.text("task_id")?),
            "set_log_level" => Request::SetLogLevel(params.level()?),
            verb => return Err(invalid(&format!("There is no request \"{verb}\""))),
        })
    }
}

/// The parameters of a verb; `meta` may be among them.
struct Params<'a> {
    verb: &'a str,
    params: Map<String, Value>,
}

impl<'a> Params<'a> {
    fn read(verb: &'a str, params: &str) -> Result<Self> {
        let params = serde_json::from_str(params)
            .map_err(|_| invalid(&format!("The parameters of {verb} must be an object")))?;
        Ok(Params { verb, params })
    }

    fn given(&self, name: &str) -> Option<&Value> {
        self.params.get(name).filter(|value| !value.is_null())
    }

    fn must_be(&self, name: &str, what: &str) -> Error {
        invalid(&format!("\"{name}\" of {} must be {what}", self.verb))
    }

    fn text(&self, name: &str) -> Result<String> {
        let text = self.given(name).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.must_be(name, "a text"))
    }

    fn object(&self, name: &str) -> Result<Option<Map<String, Value>>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object.clone())),
            Some(_) => Err(self.must_be(name, "an object")),
        }
    }

    /// An object whose values are texts; empty if it was not given.
    fn texts(&self, name: &str) -> Result<BTreeMap<String, String>> {
        let Some(given) = self.given(name) else { return Ok(BTreeMap::new()) };
        serde_json::from_value(given.clone())
            .map_err(|_| self.must_be(name, "an object whose values are texts"))
    }

    fn target(&self) -> Result<CompletionTarget> {
        match (self.given("prompt"), self.given("resource")) {
            (Some(_), None) => Ok(CompletionTarget::Prompt(self.text("prompt")?)),
            (None, Some(_)) => Ok(CompletionTarget::Resource(self.text("resource")?)),
            _ => Err(invalid("complete takes either \"prompt\" or \"resource\"")),
        }
    }

    fn level(&self) -> Result<LogLevel> {
        let words = "\"debug\", \"info\", \"notice\", \"warning\", \"error\", \"critical\", \"alert\" or \"emergency\"";
        let given = self.given("level").cloned().unwrap_or_default();
        serde_json::from_value(given).map_err(|_| self.must_be("level", words))
    }
}

fn invalid(text: &str) -> Error {
    Error::new(ErrorKind::InvalidArguments, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(verb: &str, params: &str) -> String {
        let error = Params::read(verb, params)
            .and_then(|params| Ok((Request::read(&params)?, params.object("meta")?)))
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        error.message().to_owned()
    }

    #[test]
    fn a_parameter_of_the_wrong_type_is_named() {
        assert_eq!(
            refused("read_resource", r#"{"uri": 7}"#),
            "\"uri\" of read_resource must be a text"
        );
        assert_eq!(
            refused("get_prompt", r#"{"name": "p", "arguments": {"a": 1}}"#),
            "\"arguments\" of get_prompt must be an object whose values are texts"
        );
        assert!(refused("set_log_level", r#"{"level": "loud"}"#).contains("\"debug\", \"info\""));
        assert!(refused("complete", r#"{"argument": "a", "value": ""}"#).contains("either"));
        assert_eq!(
            refused("list_prompts", r#"{"meta": []}"#),
            "\"meta\" of list_prompts must be an object"
        );
        assert!(refused("read_everything", "{}").contains("read_everything"));
    }

    #[test]
    fn what_is_optional_may_be_null() {
        let params =
            Params::read("get_prompt", r#"{"name": "p", "arguments": null, "meta": null}"#)
                .unwrap();
        assert_eq!(params.object("meta").unwrap(), None);
        assert!(
            matches!(Request::read(&params), Ok(Request::GetPrompt(_, arguments)) if arguments.is_empty())
        );
    }
}
