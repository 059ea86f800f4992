//! Owns where a program keeps logins in place of mcpool's own files.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::options::{Language, OptionKind, OptionValue};
use crate::redact::Secret;

/// What a store is asked for.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoginStoreRequest {
    /// The text that was saved under this key; `None` if there is none.
    Load {
        /// Names the login: 43 letters, digits, `-` and `_`.
        key: String,
    },
    /// Saves a text under this key, in place of another one. It contains tokens.
    Save {
        /// Names the login.
        key: String,
        /// The text to return when it is loaded.
        #[serde(serialize_with = "expose")]
        value: Secret,
    },
    /// Removes what was saved under this key.
    Remove {
        /// Names the login.
        key: String,
    },
}

fn expose<S: Serializer>(value: &Secret, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(value.expose())
}

/// Where logins are kept.
#[derive(Clone)]
pub struct LoginStore {
    ask: Arc<AskFunction>,
    id: LoginStoreId,
}

/// Tells one store from all others of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LoginStoreId(u64);

type AskFunction =
    dyn Fn(LoginStoreRequest) -> BoxFuture<'static, Result<Option<String>, String>> + Send + Sync;

impl LoginStore {
    /// Asks a function. It returns the text for [`LoginStoreRequest::Load`], and `None` otherwise; an error is a sentence
    /// without secrets.
    pub fn new<F>(ask: impl Fn(LoginStoreRequest) -> F + Send + Sync + 'static) -> LoginStore
    where
        F: Future<Output = Result<Option<String>, String>> + Send + 'static,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        LoginStore {
            ask: Arc::new(move |request| Box::pin(ask(request))),
            id: LoginStoreId(NEXT.fetch_add(1, Ordering::Relaxed)),
        }
    }

    pub(crate) fn id(&self) -> LoginStoreId {
        self.id
    }

    pub(crate) fn ask(
        &self,
        request: LoginStoreRequest,
    ) -> BoxFuture<'static, Result<Option<String>, String>> {
        (self.ask)(request)
    }
}

impl fmt::Debug for LoginStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginStore")
    }
}

impl OptionValue for LoginStore {
    fn kind() -> OptionKind {
        OptionKind::Function("LoginStore")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}
