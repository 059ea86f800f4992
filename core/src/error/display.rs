//! Owns the text of an error for people: the message, the hint, and what the server wrote.
//! Invariant: the text of an error of a server names the server, once. Python and Node show the same text.

use std::fmt::{self, Write};

use super::Error;

impl Error {
    /// The message, then the lines of stdout and stderr; without the hint.
    pub(crate) fn message_with_output(&self) -> String {
        let mut text = self.message().to_owned();
        // Writing to a string cannot fail.
        let _ = self.write_output(&mut text);
        text
    }

    /// What a person reads first: the message, which names the server. It is put before a message that does not.
    pub(super) fn named_message(&self) -> String {
        match self.server().filter(|server| !self.0.names_server && !server.is_empty()) {
            Some(server) => format!("Server \"{server}\": {}", self.message()),
            None => self.message().to_owned(),
        }
    }

    /// What a model reads of it.
    pub(super) fn message_for_model(&self) -> String {
        match self.kind().is_for_people() {
            true => self.kind().about().to_owned(),
            false => self.0.message.for_model(),
        }
    }

    fn write_output(&self, out: &mut impl Write) -> fmt::Result {
        for (name, text) in [("stdout", self.stdout()), ("stderr", self.stderr())] {
            if let Some(text) = text {
                write!(out, "; {name}:\n{text}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())?;
        if let Some(hint) = self.hint() {
            write!(f, " ({hint})")?;
        }
        self.write_output(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.code())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().map(|cause| cause.as_std())
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use crate::error::{Error, ErrorKind};

    #[test]
    fn the_hint_stands_apart_from_the_message() {
        let error = Error::new(ErrorKind::Closed, "it is closed").with_hint("open another");
        assert_eq!(error.message(), "it is closed");
        assert_eq!(error.to_string(), "it is closed (open another)");
    }

    #[test]
    fn the_server_is_named_once() {
        let exited = Error::new(ErrorKind::ConnectionLost, "The server exited").with_server("a");
        assert_eq!(exited.to_string(), "Server \"a\": The server exited");
        assert_eq!(format!("{exited:?}"), "CONNECTION_LOST: Server \"a\": The server exited");
        assert_eq!(exited.message(), "The server exited");
        let named = Error::no_such_server(ErrorKind::ServerNotFound, "a");
        assert_eq!(named.to_string(), "There is no server \"a\"");
        let empty = Error::new(ErrorKind::ConfigInvalid, "Server name cannot be empty");
        assert_eq!(empty.with_server("").to_string(), "Server name cannot be empty");
        let command = Error::new(ErrorKind::ConnectFailed, "Command \"a\" was not found");
        assert_eq!(
            command.with_server("a").to_string(),
            "Server \"a\": Command \"a\" was not found",
            "a command of the same name is not the server"
        );
    }

    #[test]
    fn what_the_server_wrote_follows_the_message() {
        let error = Error::new(ErrorKind::ConnectFailed, "It exited")
            .with_hint("look")
            .with_stdout(Some("usage".into()))
            .with_stderr(Some("a\nb".into()));
        assert_eq!(error.message_with_output(), "It exited; stdout:\nusage; stderr:\na\nb");
        assert_eq!(error.to_string(), "It exited (look); stdout:\nusage; stderr:\na\nb");
    }

    #[test]
    fn the_cause_is_the_source() {
        let refused = std::io::Error::from(rustix::io::Errno::CONNREFUSED);
        let inner = Error::new(ErrorKind::ConnectFailed, "not reached").caused_by(&refused);
        let outer = Error::new(ErrorKind::ToolUnavailable, "not connected").caused_by(inner);
        let json = serde_json::to_value(&outer).unwrap();
        assert_eq!(json["cause"]["code"], "CONNECT_FAILED");
        assert_eq!(json["cause"]["cause"]["errno"], refused.raw_os_error().unwrap());
        let source = outer.source().and_then(|it| it.source()).unwrap();
        assert_eq!(source.to_string(), refused.to_string());
    }
}
