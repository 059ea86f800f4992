//! Owns the question who a call is made for, and who answers it. `manager/calls/deferred` asks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{CallerHeaders, Identity};
use crate::options::{Language, OptionKind, OptionValue};

/// A call that neither says for whom it is made nor brings headers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct IdentityQuestion {
    /// The server.
    pub server: String,
    /// The server's name for the tool.
    pub tool: String,
}

/// Who a call is made for. What is left out is the manager's default.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Caller {
    /// The identity.
    pub identity: Option<Identity>,
    /// Headers for a remote server.
    pub headers: Option<CallerHeaders>,
}

impl Caller {
    /// Sets the identity.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Sets the headers.
    #[must_use]
    pub fn headers(mut self, headers: CallerHeaders) -> Self {
        self.headers = Some(headers);
        self
    }

    /// Reads `{"identity": "…", "headers": {…}}`; the error says what is wrong.
    pub(crate) fn read(answer: &Value) -> Result<Caller, String> {
        let Some(fields) = answer.as_object() else {
            return Err("the answer must be an object with an identity, headers or both".to_owned());
        };
        let mut caller = Caller::default();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let read = match name.as_str() {
                "identity" => OptionValue::read(value.clone(), Language::Python)
                    .map(|identity| caller.identity = Some(identity)),
                "headers" => {
                    CallerHeaders::read(value).map(|headers| caller.headers = Some(headers))
                }
                other => return Err(format!("the answer has an unknown field \"{other}\"")),
            };
            read.map_err(|expected| format!("\"{name}\" must be {expected}"))?;
        }
        Ok(caller)
    }
}

/// Who is asked for the identity of a call.
#[derive(Clone)]
pub struct OnIdentity(pub(crate) IdentitySource);

#[derive(Clone)]
pub(crate) enum IdentitySource {
    Function(AskFunction),
    /// The caller, in another language.
    Caller,
}

pub(crate) type AskFunction = Arc<dyn Fn(IdentityQuestion) -> Answering + Send + Sync>;
type Answering = Pin<Box<dyn Future<Output = Caller> + Send>>;

impl OnIdentity {
    /// Asks a function. Its future is dropped when the call is cancelled; a panic fails the call.
    pub fn new<F>(ask: impl Fn(IdentityQuestion) -> F + Send + Sync + 'static) -> OnIdentity
    where
        F: Future<Output = Caller> + Send + 'static,
    {
        OnIdentity(IdentitySource::Function(Arc::new(move |question| Box::pin(ask(question)))))
    }

    /// Asks the caller: with a [`crate::host::Letter::Question`], or by [`crate::CallOptions::on_question`].
    #[doc(hidden)]
    pub fn of_caller() -> OnIdentity {
        OnIdentity(IdentitySource::Caller)
    }
}

impl fmt::Debug for OnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnIdentity")
    }
}

impl OptionValue for OnIdentity {
    fn kind() -> OptionKind {
        OptionKind::Function("OnIdentity")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_has_an_identity_headers_both_or_neither() {
        let identity = Identity::new("t1").unwrap();
        let headers = CallerHeaders::new([("X-A", "1")]).unwrap();
        let both = Caller::default().identity(identity).headers(headers);
        assert_eq!(Caller::read(&json!({"identity": "t1", "headers": {"X-A": "1"}})), Ok(both));
        assert_eq!(Caller::read(&json!({"identity": null})), Ok(Caller::default()));
        assert_eq!(Caller::read(&json!({})), Ok(Caller::default()));
    }

    #[test]
    fn another_answer_is_refused_without_its_values() {
        for answer in [
            json!(true),
            json!("s3cr3t"),
            json!({"identity": 1}),
            json!({"identity": ""}),
            json!({"headers": {"X-A": 1}}),
            json!({"headers": {"Host": "s3cr3t"}}),
            json!({"header": {"X-A": "s3cr3t"}}),
        ] {
            let problem = Caller::read(&answer).unwrap_err();
            assert!(!problem.contains("s3cr3t"), "{problem}");
        }
    }
}
