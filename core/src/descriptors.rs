//! Owns telling our own shortage of descriptors from a server's failure: the one is cured by a higher limit here, the
//! other by looking after the server.

use std::error::Error as StdError;
use std::fmt::Display;
use std::fs::File;
use std::io;

use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};

/// What one attempt may need at once: pipes, a command that prints a value, certificates.
const ATTEMPT: usize = 16;

/// Fails unless there are enough for an attempt. Short of them halfway, a file would be taken for unreadable or a
/// value for missing, and the server would be started without it.
pub(crate) fn check_room(server: &str) -> Result<()> {
    check_room_for(format_args!("\"{server}\""))
}

/// The same for something that is no server's.
pub(crate) fn check_room_for(what: impl Display) -> Result<()> {
    let room = || -> io::Result<Vec<File>> {
        let first = File::open("/dev/null")?;
        let mut taken = (1..ATTEMPT).map(|_| first.try_clone()).collect::<io::Result<Vec<_>>>()?;
        taken.push(first);
        Ok(taken)
    };
    match room() {
        Err(error) if is_shortage(&error) => Err(shortage_for(what)),
        _ => Ok(()),
    }
}

/// Whether the process, or the system as a whole, has no descriptor left.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// The same of an error that may only have been caused by one.
pub(crate) fn is_caused_by_shortage(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>() {
            Some(error) if error.raw_os_error().is_some() => return is_shortage(error),
            _ => cause = error.source(),
        }
    }
    // The system's resolver says only that it found nothing.
    File::open("/dev/null").is_err_and(|error| is_shortage(&error))
}

pub(crate) fn shortage(server: &str) -> Error {
    shortage_for(format_args!("\"{server}\""))
}

/// The system refuses something that is no server's: a descriptor, a thread or memory.
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
    fn only_a_shortage_of_descriptors_is_one() {
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
