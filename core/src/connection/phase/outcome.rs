//! Owns what the errors of attempts and links lead to: another attempt, a wait, or an end and its cause.

use std::time::Duration;

use crate::error::{Error, ErrorKind};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum Dialed {
    Up,
    Failed,
    /// The server said how long to wait.
    Busy {
        wait: Duration,
    },
    /// The server refused our credentials.
    Refused,
    /// The server does not speak the protocol as expected; another attempt is unlikely to help.
    Incurable,
    /// No further attempt can help.
    Hopeless {
        cause: DownCause,
    },
}

impl Dialed {
    /// What an attempt's error means for the next attempt.
    pub(in crate::connection) fn from_error(error: &Error) -> Dialed {
        match error.kind() {
            kind if is_hopeless(kind) => {
                Dialed::Hopeless { cause: DownCause::from_error_kind(kind) }
            }
            ErrorKind::AuthFailed if error.is_incurable() => {
                Dialed::Hopeless { cause: DownCause::NeedsAuth }
            }
            ErrorKind::AuthFailed => Dialed::Refused,
            _ if error.is_incurable() => Dialed::Incurable,
            _ => match error.retry_after_ms() {
                Some(ms) => Dialed::Busy { wait: Duration::from_millis(ms) },
                None => Dialed::Failed,
            },
        }
    }
}

/// Whether no further attempt can help.
fn is_hopeless(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConfigInvalid
            | ErrorKind::ConfigIo
            | ErrorKind::ConfigConflict
            | ErrorKind::Untrusted
            | ErrorKind::ServerDisabled
            | ErrorKind::AuthRequired
    )
}

/// What has to happen before a connection that is down can come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum DownCause {
    /// A new attempt has to be requested.
    Failed,
    /// The server needs a sign-in.
    NeedsAuth,
    /// Its source has to be trusted.
    Untrusted,
}

impl DownCause {
    pub(in crate::connection) fn from_error_kind(kind: ErrorKind) -> DownCause {
        match kind {
            ErrorKind::AuthRequired => DownCause::NeedsAuth,
            ErrorKind::Untrusted => DownCause::Untrusted,
            _ => DownCause::Failed,
        }
    }
}
