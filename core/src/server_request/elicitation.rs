//! Owns elicitation: a server asks a person for input, by a form or by a page of its own.
//! Invariant: an address is only shown, never opened, and only if it is one of the web.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::Refusal;
use crate::options::{Language, OptionKind, OptionValue};

/// A server that wants input from a person.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ElicitationRequest {
    /// The server.
    pub server: String,
    /// Whose connection it is, if that is not the manager's own identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Whether a form is to be filled in or a page to be visited.
    pub mode: ElicitationMode,
    /// What the server says to the person.
    pub message: String,
    /// The fields of a form, as a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<Value>,
    /// The page to visit. The person decides whether to open it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The origin of that page, to show with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Names the visit in the event that reports its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
}

/// How input is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ElicitationMode {
    /// With a form.
    Form,
    /// On a page of the server.
    Url,
}

/// What a person did.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// Filled in the form, or agreed to visit the page.
    Accept(Map<String, Value>),
    /// Refused.
    Decline,
    /// Left without a decision.
    Cancel,
}

impl ElicitationAnswer {
    /// Reads `{"action": "accept", "content": {…}}`, `{"action": "decline"}` or `{"action": "cancel"}`.
    pub(crate) fn from_value(answer: Value) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(tag = "action", rename_all = "snake_case")]
        enum Answer {
            Accept {
                #[serde(default)]
                content: Option<Map<String, Value>>,
            },
            Decline,
            Cancel,
        }
        Some(match serde_json::from_value(answer).ok()? {
            Answer::Accept { content } => ElicitationAnswer::Accept(content.unwrap_or_default()),
            Answer::Decline => ElicitationAnswer::Decline,
            Answer::Cancel => ElicitationAnswer::Cancel,
        })
    }
}

/// Who asks people for input.
#[derive(Clone)]
pub struct OnElicitation(Arc<ElicitFunction>);

type ElicitFunction =
    dyn Fn(ElicitationRequest) -> BoxFuture<'static, ElicitationAnswer> + Send + Sync;

impl OnElicitation {
    /// Asks a function. Fields that an accepted form leaves out get the defaults of the schema. Its future is dropped when
    /// the answer is not needed any more.
    pub fn new<F>(elicit: impl Fn(ElicitationRequest) -> F + Send + Sync + 'static) -> OnElicitation
    where
        F: Future<Output = ElicitationAnswer> + Send + 'static,
    {
        OnElicitation(Arc::new(move |request| Box::pin(elicit(request))))
    }

    pub(super) fn answer(
        &self,
        server: String,
        identity: Option<String>,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, Refusal>> {
        let Some(request) = ElicitationRequest::read(server, identity, params) else {
            return Box::pin(async { Err(Refusal::INVALID) });
        };
        let (mode, schema) = (request.mode, request.requested_schema.clone());
        let answer = (self.0)(request);
        Box::pin(async move {
            Ok(match answer.await {
                // A page has no fields.
                ElicitationAnswer::Accept(_) if mode == ElicitationMode::Url => {
                    json!({"action": "accept"})
                }
                ElicitationAnswer::Accept(mut content) => {
                    add_defaults(&mut content, schema.as_ref());
                    json!({"action": "accept", "content": content})
                }
                ElicitationAnswer::Decline => json!({"action": "decline"}),
                ElicitationAnswer::Cancel => json!({"action": "cancel"}),
            })
        })
    }
}

impl ElicitationRequest {
    /// Reads the parameters; `None` if they are not those of a form or of a page of the web.
    fn read(server: String, identity: Option<String>, params: Value) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            #[serde(default)]
            mode: Option<String>,
            message: String,
            #[serde(default)]
            requested_schema: Option<Map<String, Value>>,
            #[serde(default)]
            url: Option<String>,
            #[serde(default)]
            elicitation_id: Option<String>,
        }
        let params: Params = serde_json::from_value(params).ok()?;
        let Params { mode, message, requested_schema, url, elicitation_id } = params;
        let request = ElicitationRequest {
            server,
            identity,
            mode: ElicitationMode::Form,
            message,
            requested_schema: None,
            url: None,
            origin: None,
            elicitation_id: None,
        };
        match mode.as_deref().unwrap_or("form") {
            "form" => {
                let requested_schema = Some(requested_schema?.into());
                Some(ElicitationRequest { requested_schema, ..request })
            }
            "url" => {
                let url = Url::parse(&url?).ok()?;
                let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
                // User-info in an address is there to deceive its reader.
                let is_plain = url.username().is_empty() && url.password().is_none();
                (is_web && is_plain).then(|| ElicitationRequest {
                    mode: ElicitationMode::Url,
                    origin: Some(url.origin().ascii_serialization()),
                    url: Some(url.into()),
                    elicitation_id,
                    ..request
                })
            }
            _ => None,
        }
    }
}

/// Adds the defaults of fields that the person left out.
fn add_defaults(content: &mut Map<String, Value>, schema: Option<&Value>) {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), default.clone());
        }
    }
}

impl fmt::Debug for OnElicitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnElicitation")
    }
}

impl OptionValue for OnElicitation {
    fn kind() -> OptionKind {
        OptionKind::Function("OnElicitation")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: Value) -> Option<ElicitationRequest> {
        ElicitationRequest::read("a".to_owned(), None, params)
    }

    #[test]
    fn a_page_is_shown_with_its_origin() {
        let url = "https://pay.example.com:8443/a?b=c";
        let request = read(json!({"mode": "url", "message": "Pay", "url": url})).unwrap();
        assert_eq!(request.mode, ElicitationMode::Url);
        assert_eq!(request.url.as_deref(), Some(url));
        assert_eq!(request.origin.as_deref(), Some("https://pay.example.com:8443"));
    }

    #[test]
    fn only_pages_of_the_web_are_shown() {
        for url in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/html,x",
            "ssh://host",
            "mailto:a@b.c",
            "https://",
            "https://bank.example@evil.example/",
            "not a url",
        ] {
            assert!(read(json!({"mode": "url", "message": "", "url": url})).is_none(), "{url}");
        }
        assert!(read(json!({"mode": "url", "message": ""})).is_none());
        assert!(read(json!({"mode": "telepathy", "message": "", "requestedSchema": {}})).is_none());
        assert!(read(json!({"message": "no schema"})).is_none());
    }

    #[tokio::test]
    async fn an_accepted_form_gets_the_defaults_of_its_schema() {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string", "default": "Ada"},
            "age": {"type": "integer", "default": 36},
            "city": {"type": "string"},
        }});
        let given = json!({"age": 7}).as_object().cloned().unwrap();
        let on_elicitation = OnElicitation::new(move |_| {
            let answer = ElicitationAnswer::Accept(given.clone());
            async move { answer }
        });
        let params = json!({"message": "Who?", "requestedSchema": schema});
        let answer = on_elicitation.answer("a".to_owned(), None, params).await.unwrap();
        let content = json!({"name": "Ada", "age": 7});
        assert_eq!(answer, json!({"action": "accept", "content": content}));
    }

    #[test]
    fn an_answer_needs_an_action() {
        let accept =
            ElicitationAnswer::from_value(json!({"action": "accept", "content": {"a": 1}}));
        let content = json!({"a": 1}).as_object().cloned().unwrap();
        assert_eq!(accept, Some(ElicitationAnswer::Accept(content)));
        let decline = ElicitationAnswer::from_value(json!({"action": "decline"}));
        assert_eq!(decline, Some(ElicitationAnswer::Decline));
        for other in [json!({}), json!({"name": "Ada"}), json!({"action": "yes"}), json!(true)] {
            assert_eq!(ElicitationAnswer::from_value(other), None);
        }
    }
}
