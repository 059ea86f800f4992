//! Owns starting a program as the leader of a session of its own: without a controlling terminal, and with nothing open
//! but the three descriptors that it is given.
//! Invariant: what the host has open stays the host's, whatever it left inheritable, and none of its flags is touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::Pid;

mod fork;
mod posix;

/// The first descriptor that is not a standard one.
const FIRST_OTHER: i32 = 3;

/// A program, ready to be started.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    /// Its whole environment; of two values of one name the later counts.
    pub(crate) env: BTreeMap<OsString, OsString>,
    pub(crate) cwd: Option<PathBuf>,
}

/// Standard input, output and error of a program.
pub(super) type Stdio = [OwnedFd; 3];

/// Starts it. Somebody has to wait for its end.
pub(super) fn spawn(program: &Program, stdio: Stdio) -> io::Result<Pid> {
    let stdio = apart(stdio)?;
    match posix::Extras::get() {
        Some(extras) => posix::spawn(program, &stdio, extras),
        None => fork::spawn(program, stdio, fork::keep_only_stdio),
    }
}

/// What is neither written nor read.
pub(super) fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// A host that has closed its own standard descriptors gets their numbers for its pipes; each of ours is moved away from
/// the place where another one goes.
fn apart(stdio: Stdio) -> io::Result<Stdio> {
    let [stdin, stdout, stderr] = stdio.map(|fd| match fd.as_raw_fd() {
        ..FIRST_OTHER => rustix::io::fcntl_dupfd_cloexec(&fd, FIRST_OTHER),
        _ => Ok(fd),
    });
    Ok([stdin?, stdout?, stderr?])
}

#[cfg(test)]
mod tests;
