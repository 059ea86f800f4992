//! Owns the text of an error for people: the message, the hint, and what the server wrote.

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
        f.write_str(self.message())?;
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
