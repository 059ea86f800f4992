//! Owns what is known of a server's prompts: their list, a prompt that is filled in, and the completion of arguments.
//! Invariant: what a server says of a prompt besides the known fields is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A prompt that a server offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Its name, by which it is asked for.
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it has to be filled in with.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// Everything else: `icons`, `_meta` and what is not known.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt needs it.
    #[serde(default)]
    pub required: bool,
    /// Everything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A prompt that is filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages for a model.
    pub messages: Vec<PromptMessage>,
    /// Everything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it: `user` or `assistant`.
    pub role: String,
    /// The content block, as the server wrote it.
    pub content: Value,
}

/// What an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionTarget {
    /// A prompt, by its name.
    Prompt(String),
    /// A template of resources.
    Resource(String),
}

impl CompletionTarget {
    /// The parameters of a request for the values of an argument.
    pub(crate) fn params(
        &self,
        argument: &str,
        value: &str,
        others: &BTreeMap<String, String>,
    ) -> Value {
        let target = match self {
            CompletionTarget::Prompt(name) => json!({"type": "ref/prompt", "name": name}),
            CompletionTarget::Resource(uri) => json!({"type": "ref/resource", "uri": uri}),
        };
        let mut params = json!({"ref": target, "argument": {"name": argument, "value": value}});
        if !others.is_empty() {
            params["context"] = json!({"arguments": others});
        }
        params
    }
}

/// Values that an argument may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The best of them.
    #[serde(default)]
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more.
    #[serde(default)]
    pub has_more: bool,
}

/// The answer to `completion/complete`.
#[derive(Deserialize)]
pub(crate) struct CompletionAnswer {
    pub(crate) completion: Completion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_names_its_target_and_the_other_arguments() {
        let none = BTreeMap::new();
        let prompt = CompletionTarget::Prompt("p".to_owned());
        assert_eq!(
            prompt.params("a", "x", &none),
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}})
        );
        let others = BTreeMap::from([("b".to_owned(), "1".to_owned())]);
        let resource = CompletionTarget::Resource("t://{a}".to_owned());
        let params = resource.params("a", "x", &others);
        assert_eq!(params["context"], json!({"arguments": {"b": "1"}}));
        assert_eq!(params["ref"]["uri"], "t://{a}");
    }

    #[test]
    fn an_argument_may_leave_out_what_is_optional() {
        let prompt: Prompt =
            serde_json::from_value(json!({"name": "p", "arguments": [{"name": "a"}]})).unwrap();
        assert!(!prompt.arguments[0].required);
    }
}
