//! Owns every failure of mcpool: one error type. The list of kinds is in `kinds`, the list of fields with their accessors
//! and the JSON in `fields`, the types of their values in `details`, the text for people in `display`, and what is known of
//! the parts of a message in `message`.
//! Kinds (their codes and what they promise) are contract; messages and hints are for people and may change. Data for
//! programs is in fields, never only in the message.
//! Invariant: no field holds a secret; code that builds an error passes URLs through [`crate::redact`] and a server's
//! texts through its mask. A message knows where it names the user's machine and whether it quotes text of others: code
//! that adds an address, a path, a command or such text builds a [`Message`] of parts.

mod details;
mod display;
mod fields;
#[cfg(test)]
mod generated;
mod kinds;
mod message;

pub use details::{Cause, Executed, ForeignError, Restart, RpcError, Stage};
pub use kinds::ErrorKind;
pub(crate) use message::Message;

use fields::Fields;

/// The error of every verb: a kind, what happened, and what to do about it.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Body>);

#[derive(Clone, PartialEq)]
struct Body {
    kind: ErrorKind,
    message: Message,
    fields: Fields,
    /// Whether the message names the server.
    names_server: bool,
    /// Whether another attempt to connect is unlikely to help.
    incurable: bool,
}

/// Shorthand for the crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The manager was closed or dropped.
    pub(crate) fn closed() -> Self {
        Error::new(ErrorKind::Closed, "The manager is closed").with_hint("create a new Manager")
    }

    /// The manager of a call has closed before the call was answered; `end` is how the call ended.
    pub(crate) fn closed_during_call(server: &str, end: &Error) -> Self {
        let text = format!("The manager was closed before server \"{server}\" had answered");
        let error = Error::new(ErrorKind::Closed, text)
            .naming_server(server)
            .with_hint("create a new Manager")
            .with_executed(end.executed().unwrap_or(Executed::Unknown));
        end.task_id().into_iter().fold(error, Error::with_task_id)
    }

    /// No server has this name. For a call that is `ToolUnavailable`, otherwise `ServerNotFound`.
    pub(crate) fn no_such_server(kind: ErrorKind, name: &str) -> Self {
        Error::new(kind, format!("There is no server \"{name}\"")).naming_server(name)
    }

    /// The server is disconnected without having failed.
    pub(crate) fn disconnected(server: &str) -> Self {
        let text = format!("Server \"{server}\" is disconnected");
        Error::new(ErrorKind::ToolUnavailable, text).naming_server(server)
    }

    /// An error of `kind`; `message` says what happened.
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        Error(Box::new(Body {
            kind,
            message: message.into(),
            fields: Fields::default(),
            names_server: false,
            incurable: false,
        }))
    }

    /// Sets the hint: what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.fields.hint = Some(hint.into());
        self
    }

    /// Sets the server, which the message names: its text for people does not name it again.
    pub(crate) fn naming_server(mut self, server: &str) -> Self {
        self.0.names_server = true;
        self.with_server(server)
    }

    /// Sets the server, unless one is set already. The message does not name it.
    pub fn with_server(mut self, server: &str) -> Self {
        self.0.fields.server.get_or_insert_with(|| server.to_owned());
        self
    }

    /// Sets the stage that failed, unless a more exact one is set already.
    pub fn with_stage(mut self, stage: Stage) -> Self {
        self.0.fields.stage.get_or_insert(stage);
        self
    }

    /// Sets whether the tool ran, which makes this the error of a call.
    pub fn with_executed(mut self, executed: Executed) -> Self {
        self.0.fields.executed = Some(executed);
        self.with_stage(Stage::Call)
    }

    /// Sets how the server's process ended.
    pub(crate) fn with_exit(mut self, exit_code: Option<i32>, signal: Option<i32>) -> Self {
        (self.0.fields.exit_code, self.0.fields.signal) = (exit_code, signal);
        self
    }

    /// Attaches the last lines of the server's stderr, already masked, unless some are attached already.
    pub(crate) fn with_stderr(mut self, stderr: Option<String>) -> Self {
        self.0.fields.stderr = self.0.fields.stderr.or(stderr);
        self
    }

    /// Attaches the lines of stdout that are not messages, already masked, unless some are attached already.
    pub(crate) fn with_stdout(mut self, stdout: Option<String>) -> Self {
        self.0.fields.stdout = self.0.fields.stdout.or(stdout);
        self
    }

    /// Adds to the message.
    pub(crate) fn with_message_added(mut self, added: &Message) -> Self {
        self.0.message = std::mem::take(&mut self.0.message).append(added);
        self
    }

    /// Puts words of our own before the message.
    pub(crate) fn with_message_before(mut self, words: &str) -> Self {
        self.0.message = Message::new(words).append(&self.0.message);
        self
    }

    /// The message with what is known of its parts, to be a part of another one.
    pub(crate) fn message_parts(&self) -> &Message {
        &self.0.message
    }

    /// Sets the tool that may have been meant by one that does not exist.
    pub(crate) fn with_suggestion(mut self, tool: &str) -> Self {
        self.0.fields.suggestion = Some(tool.to_owned());
        self
    }

    /// Sets the task that the call waited for.
    pub(crate) fn with_task_id(mut self, task_id: &str) -> Self {
        self.0.fields.task_id = Some(task_id.to_owned());
        self
    }

    /// Sets the HTTP status that refused the request.
    pub(crate) fn with_http_status(mut self, status: u16) -> Self {
        self.0.fields.http_status = Some(status);
        self
    }

    /// Sets the page to open in a browser.
    pub(crate) fn with_auth_url(mut self, url: String) -> Self {
        self.0.fields.auth_url = Some(url);
        self
    }

    /// Sets the scopes that a sign-in has to ask for.
    pub(crate) fn with_auth_scopes(mut self, scopes: &[String]) -> Self {
        self.0.fields.auth_scopes = Some(scopes.join(" "));
        self
    }

    /// Sets the server's JSON-RPC error, whose message this error quotes.
    pub fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.0.fields.rpc = Some(rpc);
        self.0.message.quoting_others();
        self
    }

    /// Sets the cause. The message may repeat the message of the cause, including text of others in it.
    pub(crate) fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        if let Cause::Error(error) = &cause
            && error.by_server()
        {
            self.0.message.quoting_others();
        }
        self.0.fields.cause = Some(cause);
        self
    }

    /// This error, followed by another one about the same attempt. That one is the cause, unless there is one already.
    pub(crate) fn and_also(self, what: &str, other: Error) -> Self {
        let added = Message::new(format!("; {what}: ")).append(other.message_parts());
        let cause = self.0.fields.cause.clone();
        let mut both = self.with_message_added(&added).caused_by(other);
        both.0.fields.cause = cause.or(both.0.fields.cause);
        both
    }

    /// Records that the message or hint contains this text of others: see [`Message::quoting`].
    pub(crate) fn quoting(mut self, words: &str) -> Self {
        self.0.message = std::mem::take(&mut self.0.message).quoting(words);
        self
    }

    /// Sets the state of the restart; the error of its last attempt becomes the cause.
    pub(crate) fn with_restart(mut self, restart: Restart) -> Self {
        self.0.fields.cause = restart.last_error.clone().map(Cause::Error);
        self.0.fields.restart = Some(restart);
        self
    }

    /// Sets when the server wants the retry.
    pub(crate) fn with_retry_after_ms(mut self, ms: u64) -> Self {
        self.0.fields.retry_after_ms = Some(ms);
        self
    }

    /// Marks that another attempt to connect is unlikely to help.
    pub(crate) fn incurable(mut self) -> Self {
        self.0.incurable = true;
        self
    }

    pub(crate) fn is_incurable(&self) -> bool {
        self.0.incurable
    }

    /// Turns the error of a request into the error of the connect that sent it: no tool was called.
    pub(crate) fn into_connect(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self.0.fields.executed = None;
        self.0.fields.stage = self.0.fields.stage.filter(|stage| *stage != Stage::Call);
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the server's program was not found.
    #[cfg(feature = "cli")]
    pub(crate) fn is_program_missing(&self) -> bool {
        let is_missing = |cause: &Cause| match cause {
            Cause::Foreign(foreign) => foreign.errno == Some(crate::file_system::NOT_FOUND),
            Cause::Error(_) => false,
        };
        self.0.fields.stage == Some(Stage::Spawn)
            && self.0.fields.cause.as_ref().is_some_and(is_missing)
    }
}

/// For conversions that cannot fail.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_follows_from_words_of_others_is_by_them() {
        let said = Error::new(ErrorKind::ProtocolError, "It said: no way").quoting("no way");
        let told = Error::new(ErrorKind::ToolUnavailable, "It is not there").caused_by(said);
        assert!(told.with_executed(Executed::No).by_server());
        assert!(!Error::new(ErrorKind::ToolRejected, "no").quoting("read_file").by_server());
    }

    #[test]
    fn an_error_that_tells_another_one_keeps_its_cause() {
        let error = |text: &str| Error::new(ErrorKind::ProtocolError, text);
        let cause = |error: &Error| match error.cause() {
            Some(Cause::Error(cause)) => cause.message().to_owned(),
            other => panic!("{other:?}"),
        };
        let both = error("a").and_also("then", error("b c").quoting("b c"));
        assert_eq!(
            (both.message(), &*cause(&both), both.by_server()),
            ("a; then: b c", "b c", true)
        );
        let both = error("a").caused_by(error("why")).and_also("then", error("b c").quoting("b c"));
        assert_eq!(
            (both.message(), &*cause(&both), both.by_server()),
            ("a; then: b c", "why", true)
        );
    }

    #[test]
    fn a_refused_request_of_a_connect_is_no_call() {
        let called = Error::new(ErrorKind::ToolFailed, "no").with_executed(Executed::Yes);
        assert_eq!(called.stage(), Some(Stage::Call));
        let connect = called.into_connect(ErrorKind::HandshakeFailed);
        assert_eq!((connect.stage(), connect.executed()), (None, None));
        let unreached = Error::new(ErrorKind::ConnectionLost, "no").with_stage(Stage::Dial);
        let connect = unreached.with_executed(Executed::No).into_connect(ErrorKind::ConnectFailed);
        assert_eq!(connect.with_stage(Stage::Handshake).stage(), Some(Stage::Dial));
    }
}
