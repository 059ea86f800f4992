//! Owns what a person is asked when a server wants a sign-in, and who passes the question on.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::options::{Language, OptionKind, OptionValue};

/// How to sign in to a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuthPrompt {
    /// The server's name.
    pub server: String,
    /// The identity that signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The page to open in a browser.
    pub url: String,
    /// The code to type there, if the browser is on another device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// How long the page can be used, in milliseconds.
    pub expires_in_ms: u64,
}

/// Who is asked to sign in.
#[derive(Clone)]
pub struct OnAuth(Arc<AskFunction>);

type AskFunction = dyn Fn(AuthPrompt) -> BoxFuture<'static, Option<String>> + Send + Sync;

impl OnAuth {
    /// Asks a function. It shows or opens the page; if it learns to which URL the browser was sent back, it returns it,
    /// otherwise `None`. Its future is dropped when the sign-in has ended.
    pub fn new<F>(ask: impl Fn(AuthPrompt) -> F + Send + Sync + 'static) -> OnAuth
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        OnAuth(Arc::new(move |prompt| Box::pin(ask(prompt))))
    }

    pub(crate) fn ask(&self, prompt: &AuthPrompt) -> BoxFuture<'static, Option<String>> {
        (self.0)(prompt.clone())
    }
}

impl fmt::Debug for OnAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAuth")
    }
}

impl OptionValue for OnAuth {
    fn kind() -> OptionKind {
        OptionKind::Function("OnAuth")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}
