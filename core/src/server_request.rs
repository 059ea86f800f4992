//! Owns what a server may ask the program that uses a manager: a sampled message, input from a person (`elicitation`),
//! and the `roots` of its work. `ClientFeatures` is what one manager offers of these. When a request arrives and how its
//! answer goes back is up to `session`.
//! Invariant: what a program answers is checked before it is sent; a request without an answer is refused, never left open.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use crate::options::{Language, OptionKind, OptionValue};

mod elicitation;
mod roots;

pub use elicitation::{ElicitationAnswer, ElicitationMode, ElicitationRequest, OnElicitation};
pub use roots::Root;
pub(crate) use roots::Roots;

/// A server that wants a message from a model.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The server.
    pub server: String,
    /// Whose connection it is, if that is not the manager's own identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The parameters, as the server wrote them: `messages`, `maxTokens`, `systemPrompt`, `tools` and others.
    pub params: Value,
}

/// Who samples messages for servers.
#[derive(Clone)]
pub struct OnSampling(Arc<SampleFunction>);

type SampleFunction = dyn Fn(SamplingRequest) -> BoxFuture<'static, Option<Value>> + Send + Sync;

impl OnSampling {
    /// Asks a function. It returns the message as an object of the protocol (`role`, `content`, `model`), or only its
    /// text; `None` refuses. Its future is dropped when the answer is not needed any more.
    pub fn new<F>(sample: impl Fn(SamplingRequest) -> F + Send + Sync + 'static) -> OnSampling
    where
        F: Future<Output = Option<Value>> + Send + 'static,
    {
        OnSampling(Arc::new(move |request| Box::pin(sample(request))))
    }
}

impl fmt::Debug for OnSampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnSampling")
    }
}

impl OptionValue for OnSampling {
    fn kind() -> OptionKind {
        OptionKind::Function("OnSampling")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}

/// A kind of request that a server may make, besides pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Roots,
    Sampling,
    Elicitation,
}

impl Feature {
    pub(crate) const ALL: [Feature; 3] = [Feature::Roots, Feature::Sampling, Feature::Elicitation];

    /// The feature that a method belongs to.
    pub(crate) fn from_method(method: &str) -> Option<Feature> {
        match method {
            "roots/list" => Some(Feature::Roots),
            "sampling/createMessage" => Some(Feature::Sampling),
            "elicitation/create" => Some(Feature::Elicitation),
            _ => None,
        }
    }

    /// What a server gets if nobody answers in time, or the callback fails.
    pub(crate) fn unanswered(self) -> Result<Value, Refusal> {
        match self {
            Feature::Elicitation => Ok(json!({"action": "cancel"})),
            Feature::Roots | Feature::Sampling => Err(Refusal::NO_ANSWER),
        }
    }

    /// Its member of the client's capabilities.
    fn capability(self) -> (&'static str, Value) {
        match self {
            Feature::Roots => ("roots", json!({"listChanged": true})),
            Feature::Sampling => ("sampling", json!({"tools": {}})),
            Feature::Elicitation => ("elicitation", json!({"form": {}, "url": {}})),
        }
    }
}

/// The capabilities of a client that offers these features.
pub(crate) fn capabilities(offered: impl Fn(Feature) -> bool) -> Value {
    let offered = Feature::ALL.into_iter().filter(|feature| offered(*feature));
    offered
        .map(|feature| feature.capability())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Why a request of a server is refused: a JSON-RPC error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: i32,
    pub(crate) message: &'static str,
}

impl Refusal {
    pub(crate) const INVALID: Refusal =
        Refusal { code: -32602, message: "The parameters of the request cannot be used" };
    const NO_ANSWER: Refusal =
        Refusal { code: -32603, message: "The client has no answer to this request" };
    pub(crate) const TOO_MANY: Refusal =
        Refusal { code: -32603, message: "Too many requests of the server are open" };
    /// The code that the specification gives for a refused sampling request.
    const REFUSED: Refusal = Refusal { code: -1, message: "The user refused the request" };
}

/// The request of a server to one manager.
pub(crate) struct ServerRequest {
    pub(crate) feature: Feature,
    pub(crate) server: String,
    pub(crate) params: Value,
}

/// What one manager offers to its servers.
#[derive(Clone, Default)]
pub(crate) struct ClientFeatures {
    pub(crate) on_sampling: Option<OnSampling>,
    pub(crate) on_elicitation: Option<OnElicitation>,
    pub(crate) roots: Roots,
    /// How long an answer may take.
    pub(crate) limit: Duration,
}

impl ClientFeatures {
    pub(crate) fn offers(&self, feature: Feature) -> bool {
        match feature {
            Feature::Roots => self.roots.is_offered(),
            Feature::Sampling => self.on_sampling.is_some(),
            Feature::Elicitation => self.on_elicitation.is_some(),
        }
    }

    /// The same for a child of the manager, with roots of its own.
    pub(crate) fn for_child(&self) -> ClientFeatures {
        ClientFeatures { roots: self.roots.copied(), ..self.clone() }
    }

    /// Answers a request, within the time limit.
    pub(crate) fn answer(
        &self,
        request: ServerRequest,
        identity: Option<String>,
    ) -> BoxFuture<'static, Result<Value, Refusal>> {
        let ServerRequest { feature, server, params } = request;
        let answer: BoxFuture<'static, Result<Value, Refusal>> = match feature {
            Feature::Roots => {
                let roots = self.roots.list();
                return Box::pin(async move { Ok(json!({"roots": roots})) });
            }
            Feature::Sampling => match &self.on_sampling {
                Some(OnSampling(sample)) => {
                    let answer = sample(SamplingRequest { server, identity, params });
                    Box::pin(async move { sampled(answer.await.ok_or(Refusal::REFUSED)?) })
                }
                None => return Box::pin(async { Err(Refusal::NO_ANSWER) }),
            },
            Feature::Elicitation => match &self.on_elicitation {
                Some(on_elicitation) => on_elicitation.answer(server, identity, params),
                None => return Box::pin(async { Err(Refusal::NO_ANSWER) }),
            },
        };
        let limit = self.limit;
        Box::pin(async move {
            let in_time = tokio::time::timeout(limit, answer).await;
            in_time.unwrap_or_else(|_| feature.unanswered())
        })
    }
}

/// A sampled message in the form of the protocol.
fn sampled(answer: Value) -> Result<Value, Refusal> {
    let content = match answer {
        Value::String(text) => json!({"type": "text", "text": text}),
        Value::Object(message) => {
            let has = |name| message.get(name).is_some_and(|value: &Value| !value.is_null());
            let is_message = has("content") && has("role") && has("model");
            return if is_message { Ok(message.into()) } else { Err(Refusal::NO_ANSWER) };
        }
        _ => return Err(Refusal::NO_ANSWER),
    };
    Ok(
        json!({"role": "assistant", "content": content, "model": "unknown", "stopReason": "endTurn"}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(answer: Option<Value>) -> ClientFeatures {
        ClientFeatures {
            on_sampling: Some(OnSampling::new(move |_| {
                let answer = answer.clone();
                async move { answer }
            })),
            limit: Duration::from_secs(5),
            ..ClientFeatures::default()
        }
    }

    async fn sample(answer: Option<Value>) -> Result<Value, Refusal> {
        let request =
            ServerRequest { feature: Feature::Sampling, server: "a".to_owned(), params: json!({}) };
        features(answer).answer(request, None).await
    }

    #[tokio::test]
    async fn a_text_is_a_whole_message() {
        let message = sample(Some("Paris".into())).await.unwrap();
        assert_eq!(message["content"], json!({"type": "text", "text": "Paris"}));
        assert_eq!((&message["role"], &message["model"]), (&json!("assistant"), &json!("unknown")));
    }

    #[tokio::test]
    async fn a_message_is_sent_as_it_is() {
        let message = json!({"role": "assistant", "content": [], "model": "m", "x": 1});
        assert_eq!(sample(Some(message.clone())).await, Ok(message));
    }

    #[tokio::test]
    async fn what_is_no_message_is_not_sent() {
        for answer in [json!({"role": "assistant"}), json!(7), json!([]), json!({})] {
            assert_eq!(sample(Some(answer)).await, Err(Refusal::NO_ANSWER));
        }
        assert_eq!(sample(None).await, Err(Refusal::REFUSED));
    }

    #[tokio::test]
    async fn an_answer_that_takes_too_long_is_a_refusal() {
        let on_sampling = Some(OnSampling::new(|_| std::future::pending()));
        let features =
            ClientFeatures { on_sampling, limit: Duration::from_millis(1), ..Default::default() };
        let request =
            ServerRequest { feature: Feature::Sampling, server: "a".to_owned(), params: json!({}) };
        assert_eq!(features.answer(request, None).await, Err(Refusal::NO_ANSWER));
    }

    #[test]
    fn only_what_is_offered_is_a_capability() {
        assert_eq!(capabilities(|_| false), json!({}));
        let all = capabilities(|_| true);
        assert_eq!(all["roots"], json!({"listChanged": true}));
        assert_eq!(all["elicitation"], json!({"form": {}, "url": {}}));
        assert_eq!(capabilities(|it| it == Feature::Sampling), json!({"sampling": {"tools": {}}}));
    }
}
