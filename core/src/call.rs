//! Owns the caller's side of a call: its arguments, its options, and its progress callback.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Executed, Result};
use crate::options::with_setters;
use crate::question::Question;

/// A call's arguments: one JSON object, kept as text.
#[derive(Clone, Debug)]
pub struct Arguments(Vec<u8>);

impl Arguments {
    /// No arguments.
    pub fn none() -> Self {
        Arguments(b"{}".to_vec())
    }

    /// Takes JSON text; it must be an object.
    pub fn from_json(json: impl Into<Vec<u8>>) -> Result<Self> {
        let json = json.into();
        let object: &RawValue = serde_json::from_slice(&json)
            .map_err(|error| invalid(&format!("The arguments are not JSON: {error}")))?;
        if !object.get().starts_with('{') {
            return Err(invalid("The arguments must be a JSON object"));
        }
        // A message is one line on the wire.
        if memchr::memchr2(b'\n', b'\r', &json).is_some() {
            let value: serde_json::Value =
                serde_json::from_str(object.get()).map_err(|error| invalid(&error.to_string()))?;
            return Arguments::new(&value);
        }
        Ok(Arguments(json))
    }

    /// Serialises anything that becomes a JSON object.
    pub fn new(arguments: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_vec(arguments)
            .map_err(|error| invalid(&format!("The arguments cannot become JSON: {error}")))?;
        Arguments::from_writer(json)
    }

    /// Takes compact JSON text whose writer is trusted to write valid JSON; it must be an object.
    pub fn from_writer(json: Vec<u8>) -> Result<Self> {
        if json.first() == Some(&b'{') {
            Ok(Arguments(json))
        } else {
            Err(invalid("The arguments must be a JSON object"))
        }
    }

    pub(crate) fn json(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<serde_json::Value> for Arguments {
    type Error = Error;

    fn try_from(arguments: serde_json::Value) -> Result<Self> {
        Arguments::new(&arguments)
    }
}

/// JSON text, as models write it.
impl TryFrom<&str> for Arguments {
    type Error = Error;

    fn try_from(json: &str) -> Result<Self> {
        Arguments::from_json(json)
    }
}

with_setters! {
    /// Options of one call.
    #[derive(Default)]
    pub struct CallOptions {
        /// Overrides the server's `toolTimeout`: how long the call may go without a message from the server, from its
        /// start and over all waiting and resending. Progress restarts this time; the time for an approval does not
        /// count.
        timeout: Option<Duration>,
        /// The total time limit of the call, whatever the progress, including approvals.
        max_total_timeout: Option<Duration>,
        /// Overrides which calls the manager sends again after a lost connection.
        retry: Option<Retry>,
        /// Becomes the request's `_meta`; like arguments, one JSON object kept as text.
        meta: Option<Arguments>,
        ;
        /// Called with the server's progress, on one of our threads; it must not block.
        on_progress: Option<OnProgress>,
        /// Called with the approval question of this call, if its manager uses [`crate::OnApproval::of_caller`]; a host
        /// loop gets a letter instead. It must not block.
        on_question: Option<OnQuestion>,
    }
}

/// Receives a question and passes it to someone who can answer.
pub type OnQuestion = Arc<dyn Fn(Question) + Send + Sync>;

/// Receives the progress of a call.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Which calls are sent again when their connection is lost. A call that provably was never sent or never read is
/// always sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Retry {
    /// No call that may have run.
    #[default]
    Never,
    /// Calls of tools with `readOnlyHint` or `idempotentHint`.
    Safe,
}

impl Retry {
    /// `never` or `safe`.
    pub fn from_name(name: &str) -> Result<Self> {
        let word: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
        Retry::deserialize(word).map_err(|_| {
            let text = format!("\"{name}\" is no way to retry; it must be never or safe");
            Error::new(ErrorKind::ConfigInvalid, text)
        })
    }
}

impl CallOptions {
    /// Sets the callback for the server's progress. It runs on one of our threads and must not block.
    #[must_use]
    pub fn on_progress(mut self, hear: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(hear));
        self
    }

    /// Sets the callback for the approval question of this call; it must not block.
    #[must_use]
    pub fn on_question(mut self, hear: impl Fn(Question) + Send + Sync + 'static) -> Self {
        self.on_question = Some(Arc::new(hear));
        self
    }

    /// A timeout in seconds, as in other languages.
    #[doc(hidden)]
    pub fn read_timeout(seconds: f64) -> Result<Duration> {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        limit.ok_or_else(|| invalid("A timeout must be a finite time above 0"))
    }

    /// `_meta` from compact JSON text whose writer is trusted to write valid JSON; it must be an object.
    #[doc(hidden)]
    pub fn read_meta(json: Vec<u8>) -> Result<Arguments> {
        Arguments::from_writer(json)
            .map_err(|_| invalid("The meta of a call must be a JSON object"))
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// The progress of a call, in the server's own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Done so far.
    pub progress: f64,
    /// The total, if known.
    #[serde(default)]
    pub total: Option<f64>,
    /// A description.
    #[serde(default)]
    pub message: Option<String>,
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidArguments, message).with_executed(Executed::No)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_are_arguments() {
        for text in ["[]", "1", "\"x\"", "null", "{", ""] {
            assert_eq!(
                Arguments::from_json(text).unwrap_err().code(),
                "INVALID_ARGUMENTS",
                "{text}"
            );
        }
        Arguments::from_json("{}").unwrap();
    }

    #[test]
    fn arguments_become_one_line() {
        let arguments = Arguments::from_json("{\n  \"b\": 1,\n  \"a\": \"x\\ny\"\n}").unwrap();
        assert_eq!(arguments.json(), br#"{"b":1,"a":"x\ny"}"#);
    }
}
