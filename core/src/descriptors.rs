//! Owns telling our own shortage of file descriptors from a server's failure: a shortage needs a higher limit here, a
//! failure needs a look at the server.

use std::error::Error as StdError;
use std::fmt::Display;
use std::fs::File;
use std::io;

use crate::error::{Error, ErrorKind, Result};
use crate::file_system::{DESCRIPTOR_SHORTAGE, NULL_DEVICE};

/// The most descriptors that one attempt needs at once: pipes, a command that prints a value, certificates.
const PER_ATTEMPT: usize = 16;

/// Fails unless there are enough descriptors for an attempt. Otherwise a shortage halfway would look like an unreadable
/// file or a missing value, and the server would start without it.
pub(crate) fn check_room(server: &str) -> Result<()> {
    check_room_for(format_args!("\"{server}\""))
}

/// Like [`check_room`], for work that belongs to no server.
pub(crate) fn check_room_for(what: impl Display) -> Result<()> {
    let room = || -> io::Result<Vec<File>> {
        let first = File::open(NULL_DEVICE)?;
        let mut taken =
            (1..PER_ATTEMPT).map(|_| first.try_clone()).collect::<io::Result<Vec<_>>>()?;
        taken.push(first);
        Ok(taken)
    };
    match room() {
        Err(error) if is_shortage(&error) => Err(shortage_for(what)),
        _ => Ok(()),
    }
}

/// Whether the process or the system has no descriptor left.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| DESCRIPTOR_SHORTAGE.contains(&code))
}

/// Whether a shortage caused this error.
pub(crate) fn is_caused_by_shortage(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>() {
            Some(error) if error.raw_os_error().is_some() => return is_shortage(error),
            _ => cause = error.source(),
        }
    }
    // The system's resolver reports a shortage as an unknown host.
    File::open(NULL_DEVICE).is_err_and(|error| is_shortage(&error))
}

pub(crate) fn shortage(server: &str) -> Error {
    shortage_for(format_args!("\"{server}\""))
}

/// The error if the system refuses a descriptor, a thread or memory for work that belongs to no server.
pub(crate) fn refused(what: &str, error: &io::Error) -> Error {
    match is_shortage(error) {
        true => shortage_for(what),
        false => {
            Error::new(ErrorKind::LimitExceeded, format!("The system refuses {what}: {error}"))
                .with_hint(
                    "raise the limits on this process (ulimit -a), or close what is not needed",
                )
        }
    }
}

fn shortage_for(what: impl Display) -> Error {
    let text = format!("This process has no file descriptor left for {what}");
    Error::new(ErrorKind::LimitExceeded, text)
        .with_hint("raise the limit on open files (ulimit -n), or close what is not needed")
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn whatever_the_system_refuses_is_a_limit() {
        for errno in [Errno::MFILE, Errno::AGAIN] {
            let error = refused("its own thread", &errno.into());
            assert_eq!(error.code(), "LIMIT_EXCEEDED");
            assert!(error.message().contains("its own thread") && error.hint().is_some());
        }
    }

    #[test]
    fn only_a_shortage_of_descriptors_counts_as_one() {
        for (errno, ours) in
            [(Errno::MFILE, true), (Errno::NFILE, true), (Errno::CONNREFUSED, false)]
        {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            assert_eq!(is_shortage(&error), ours, "{error}");
            assert_eq!(is_caused_by_shortage(&error), ours, "{error}");
            let outer = io::Error::other(error);
            assert!(!is_shortage(&outer));
        }
    }
}
