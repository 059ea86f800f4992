//! Owns starting a program as a session leader: without a controlling terminal, and with no open descriptor but its
//! stdin, stdout and stderr.
//! Invariant: the child inherits no other descriptor of the host, even an inheritable one, and the host's descriptor
//! flags stay unchanged.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::Pid;

mod fork;
mod posix;

/// The first descriptor after the standard ones.
const FIRST_NON_STDIO: i32 = 3;

/// A program to start.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    /// The complete environment.
    pub(crate) env: BTreeMap<OsString, OsString>,
    pub(crate) cwd: Option<PathBuf>,
}

impl Program {
    pub(crate) fn new(
        path: PathBuf,
        args: Vec<String>,
        env: BTreeMap<OsString, OsString>,
        cwd: Option<PathBuf>,
    ) -> Self {
        Program { path, args, env, cwd }
    }

    /// The system's shell with this command.
    pub(crate) fn shell(
        command: &str,
        env: BTreeMap<OsString, OsString>,
        cwd: Option<PathBuf>,
    ) -> Self {
        let args = vec!["-c".to_owned(), command.to_owned()];
        Program { path: "/bin/sh".into(), args, env, cwd }
    }
}

/// The stdin, stdout and stderr of a program.
pub(super) type Stdio = [OwnedFd; 3];

/// Starts the program. The caller must wait for its exit.
pub(super) fn spawn(program: &Program, stdio: Stdio) -> io::Result<Pid> {
    let stdio = move_above_stdio(stdio)?;
    match posix::Extras::get() {
        Some(extras) => posix::spawn(program, &stdio, extras),
        None => fork::spawn(program, stdio, fork::keep_only_stdio),
    }
}

/// Opens `/dev/null`.
pub(super) fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// Moves descriptors above the standard numbers. If the host has closed its own standard descriptors, our pipes have
/// got those numbers, and one would overwrite another in the child.
fn move_above_stdio(stdio: Stdio) -> io::Result<Stdio> {
    let [stdin, stdout, stderr] = stdio.map(|fd| match fd.as_raw_fd() {
        ..FIRST_NON_STDIO => rustix::io::fcntl_dupfd_cloexec(&fd, FIRST_NON_STDIO),
        _ => Ok(fd),
    });
    Ok([stdin?, stdout?, stderr?])
}

#[cfg(test)]
mod tests;
