//! Owns the caller's side of a call: its arguments (`arguments`), its options, and its progress callback.

mod arguments;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::arguments::Arguments;
use crate::caller::{CallerHeaders, Identity};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::options::{
    Given, Language, OptionInfo, OptionKind, OptionValue, Options, Written, options, set_option,
    word_options,
};
use crate::question::Question;
use crate::task::TaskId;

options! {
    /// Options of one call.
    #[non_exhaustive]
    pub struct CallOptions of "a call" {
        /// How long the call may go without a message from the server, from its start and over all waiting and resending.
        /// Progress restarts this time; the time for an approval does not count. The default is the server's `toolTimeout`.
        timeout: Option<Duration> = None,
        /// The total time limit of the call, whatever the progress, including approvals.
        max_total_timeout: Option<Duration> = None,
        /// Overrides which calls the manager sends again after a lost connection.
        retry: Option<Retry> = None,
        /// Becomes the request's `_meta`.
        meta: Option<Arguments> = None,
        /// The user or tenant that the call is made for. Each identity has connections of its own. The default is the
        /// manager's.
        identity: Option<Identity> = None,
        /// Headers for a remote server, which replace those of its definition. Headers that say who calls, such as
        /// Authorization, need an `identity`; they then also serve the connection of that identity, until the next
        /// call brings others.
        headers: Option<CallerHeaders> = None,
        /// Whether a structured result is compared with the tool's `outputSchema`. One that does not match is
        /// `PROTOCOL_ERROR`. The default is the manager's.
        check_output: Option<bool> = None,
        /// Whether the call ends as soon as the server answers with a task: the result's `task` then has its id for
        /// `resume_task`. A server that answers without one gives its result.
        return_task: bool = false,
        /// The id of a task that an earlier call began, perhaps in another process: waits for its result. The tool is not
        /// called, and the arguments are not sent.
        resume_task: Option<TaskId> = None,
        ;
        /// A function that gets the progress that the server reports. It must not block.
        on_progress: Option<OnProgress> = None,
        ;
        /// Called with the approval question of this call, if its manager uses [`crate::OnApproval::of_caller`]; a host
        /// loop gets a letter instead. It must not block.
        on_question: Option<OnQuestion> = None,
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

/// What a call does about tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum TaskUse<'a> {
    /// Waits for the task, if the server answers with one.
    #[default]
    Await,
    /// Returns the task.
    Return,
    /// Waits for the task of an earlier call.
    Resume(&'a str),
}

impl<'a> TaskUse<'a> {
    /// `going` is the task of this call, if the server works on one already.
    pub(crate) fn new(
        going: Option<&'a str>,
        resume_task: Option<&'a TaskId>,
        return_task: bool,
    ) -> Self {
        match going.or(resume_task.map(|id| &*id.0)) {
            Some(id) => TaskUse::Resume(id),
            None if return_task => TaskUse::Return,
            None => TaskUse::Await,
        }
    }
}

impl CallOptions {
    pub(crate) fn task_use(&self) -> TaskUse<'_> {
        TaskUse::new(None, self.resume_task.as_ref(), self.return_task)
    }

    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        match self.return_task && self.resume_task.is_some() {
            true => Err(invalid("A call cannot both return a task and resume one")),
            false => Ok(()),
        }
    }

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
        limit.ok_or_else(|| no_timeout("The timeout"))
    }

    /// Sets one of [`CallOptions::OPTIONS`] as another language gives it.
    #[doc(hidden)]
    pub fn set_given(
        &mut self,
        option: &OptionInfo,
        given: Given,
        language: Language,
    ) -> Result<()> {
        set_option(self, option, Self::OWNER, given, language).map_err(|text| invalid(&text))?;
        if [self.timeout, self.max_total_timeout].contains(&Some(Duration::ZERO)) {
            let name = option.name_in(language);
            return Err(no_timeout(&format!("The option \"{name}\" of {}", Self::OWNER)));
        }
        Ok(())
    }
}

fn no_timeout(what: &str) -> Error {
    invalid(&format!("{what} must be a finite time above 0"))
}

impl CallOptions {
    /// Refuses a name that no option of a call has in this language.
    #[doc(hidden)]
    pub fn check_name(name: &str, language: Language) -> Result<()> {
        let text = Value::from_iter([(name, Value::Null)]).to_string();
        let written = Written::parse(Self::OWNER, &text, language)?;
        written.check_names(Self::OPTIONS.iter().chain(signal_in(language))).map_err(refused)
    }

    /// Refuses a name that no option of connecting has in JavaScript: there is only the signal.
    #[doc(hidden)]
    pub fn check_connect_name(name: &str) -> Result<()> {
        let text = Value::from_iter([(name, Value::Null)]).to_string();
        let written = Written::parse("connecting", &text, Language::Node)?;
        written.check_names([&SIGNAL].into_iter()).map_err(refused)
    }

    /// Reads the options of a wait for a server, which has only the timeout.
    #[doc(hidden)]
    pub fn read_wait(text: &str, language: Language) -> Result<Option<Duration>> {
        let read = || {
            let written = Written::parse("a wait for a server", text, language)?;
            let timeout = Self::OPTIONS.iter().filter(|option| option.name == "timeout");
            written.check_names(timeout.chain(signal_in(language)))?;
            written.options::<Self>()
        };
        let limit = read().map_err(refused)?.timeout;
        limit.map(|limit| Self::read_timeout(limit.as_secs_f64())).transpose()
    }
}

/// What cancels a call in JavaScript; the core is told by the binding.
const SIGNAL: OptionInfo = OptionInfo {
    name: "signal",
    kind: || OptionKind::Declared("AbortSignal", "an AbortSignal"),
    default: || Value::Null,
    about: "Cancels the call and notifies the server.",
};

fn signal_in(language: Language) -> Option<&'static OptionInfo> {
    (language == Language::Node).then_some(&SIGNAL)
}

/// An error about options as one of a call that was not sent.
fn refused(error: Error) -> Error {
    let refused = invalid(error.message());
    match error.hint() {
        Some(hint) => refused.with_hint(hint),
        None => refused,
    }
}

word_options!(Retry);

impl OptionValue for Arguments {
    fn kind() -> OptionKind {
        OptionKind::Object
    }

    /// Text stays as it is: numbers may be too long to be parsed exactly.
    fn read_given(given: Given, language: Language) -> std::result::Result<Self, String> {
        let read = match given {
            Given::Value(value) => Arguments::new(&value),
            Given::Json(json) => Arguments::from_writer(json),
        };
        read.map_err(|_| Self::kind().expected(language))
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        Arguments::new(value).ok()
    }
}

impl OptionValue for OnProgress {
    fn kind() -> OptionKind {
        OptionKind::Function("OnProgress")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
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

    fn set(option: &str, given: Given, language: Language) -> Result<CallOptions> {
        let mut options = CallOptions::default();
        let option = CallOptions::OPTIONS.iter().find(|it| it.name == option).unwrap();
        options.set_given(option, given, language).map(|()| options)
    }

    #[test]
    fn options_of_other_languages_are_read_in_their_units() {
        let time = |language| set("timeout", Given::Value(1500.into()), language).unwrap().timeout;
        assert_eq!(time(Language::Python), Some(Duration::from_secs(1500)));
        assert_eq!(time(Language::Node), Some(Duration::from_millis(1500)));
        let retry = set("retry", Given::Json(br#""safe""#.to_vec()), Language::Node).unwrap();
        assert_eq!(retry.retry, Some(Retry::Safe));
    }

    #[test]
    fn meta_is_kept_as_text() {
        let json = br#"{"big":1180591620717411303424}"#;
        let options = set("meta", Given::Json(json.to_vec()), Language::Python).unwrap();
        assert_eq!(options.meta.unwrap().json(), json);
    }

    #[test]
    fn an_option_that_cannot_be_used_is_refused_by_its_name() {
        let refused = |option, given| set(option, given, Language::Node).unwrap_err();
        for number in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = refused("timeout", Given::Value(number.into()));
            assert_eq!(error.code(), "INVALID_ARGUMENTS", "{number}");
            assert!(error.message().contains("\"timeoutMs\" of a call"), "{error}");
        }
        let error = refused("max_total_timeout", Given::Value("soon".into()));
        assert!(error.message().contains("\"maxTotalTimeoutMs\" of a call must be a number"));
        assert!(error.message().ends_with("of milliseconds, not a string"), "{error}");
        let error = refused("retry", Given::Json(b"\"always\"".to_vec()));
        assert_eq!((error.code(), error.executed()), ("INVALID_ARGUMENTS", Some(Executed::No)));
        assert!(error.message().contains("\"retry\" of a call must be \"never\" or \"safe\""));
        let error = refused("meta", Given::Json(b"[]".to_vec()));
        assert!(error.message().contains("\"meta\" of a call must be an object"));
    }

    #[test]
    fn names_that_no_option_has_are_refused_before_the_call() {
        let hint = |name: &str, language| {
            let error = CallOptions::check_name(name, language).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENTS", "{name}");
            assert_eq!(error.executed(), Some(Executed::No), "{name}");
            error.hint().unwrap().to_owned()
        };
        let meant = "did you mean \"timeoutMs\", in milliseconds?";
        assert_eq!(hint("timeout_ms", Language::Node), meant);
        assert_eq!(hint("timout", Language::Node), "did you mean \"timeoutMs\"?");
        assert_eq!(hint("signals", Language::Node), "did you mean \"signal\"?");
        assert!(hint("signal", Language::Python).starts_with("the options are timeout, "));
        for name in ["timeoutMs", "onProgress", "signal"] {
            CallOptions::check_name(name, Language::Node).unwrap();
        }
    }

    #[test]
    fn a_wait_has_only_a_timeout() {
        let read = |text| CallOptions::read_wait(text, Language::Node);
        assert_eq!(read("{}").unwrap(), None);
        assert_eq!(read(r#"{"timeoutMs": 50}"#).unwrap(), Some(Duration::from_millis(50)));
        for text in [r#"{"meta": {}}"#, r#"{"timeoutMs": "50"}"#, r#"{"timeoutMs": 0}"#, "3", "[]"]
        {
            assert_eq!(read(text).unwrap_err().code(), "INVALID_ARGUMENTS", "{text}");
        }
    }
}
