//! Owns starting a program that goes on if this process ends. It has to end by itself.

use std::io;

use super::child::Child;
use super::group::{Pid, kill_group};
use super::guardian::permit_to_start;
use super::pipe::{Receiver, Sender, receiver, sender};
use super::spawn::{Program, null, spawn};
use crate::runtime;

/// A program that goes on if this process ends.
pub(crate) struct Detached {
    pub(crate) stdin: Sender,
    pub(crate) stdout: Receiver,
    pub(crate) group: DetachedGroup,
}

/// The processes of the program.
pub(crate) struct DetachedGroup(Pid);

impl Detached {
    /// Starts the program. Its stderr is dropped.
    pub(crate) fn start(program: &Program) -> io::Result<Detached> {
        let (stdin, stdin_theirs) = sender()?;
        let (stdout, stdout_theirs) = receiver()?;
        let stdio = [stdin_theirs, stdout_theirs, null()?];
        let _permit =
            permit_to_start().ok_or_else(|| io::Error::other("this process is ending"))?;
        let group = spawn(program, stdio)?;
        let mut child = Child::watch(group)?;
        runtime::spawn(async move { child.wait().await });
        Ok(Detached { stdin, stdout, group: DetachedGroup(group) })
    }
}

impl DetachedGroup {
    pub(crate) fn kill(self) {
        kill_group(self.0);
    }
}
