//! Owns programs that only say something and end. Each is a session and a group of its own, ended as a group when it
//! takes too long, says too much, or nobody waits for it any more.

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::child::Child;
use super::guardian::{discharge, enlist, leave_to_start};
use super::spawn::{Program, null, spawn};
use super::{receiver, signal_group};
use crate::runtime;

/// How long the output of a program that has ended is waited for: somebody who left its group may keep it open.
const LEFTOVERS: Duration = Duration::from_millis(200);

/// Why a program said nothing that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunError {
    NotStarted,
    Failed,
    TooLong,
}

/// What the program writes to its standard output, if it ends well. It reads nothing, and what it writes to stderr is
/// dropped. Dropping the future ends the program.
pub(crate) async fn run_command(program: Program, limit: usize) -> Result<Vec<u8>, RunError> {
    let (mut running, stdout) = Running::start(program).ok_or(RunError::NotStarted)?;
    let mut stdout = Some(stdout);
    let mut heard = Vec::new();
    let mut chunk = vec![0; 4096];
    let mut ended = None;
    loop {
        tokio::select! {
            read = read(&mut stdout, &mut chunk) => match read {
                0 => stdout = None,
                count if heard.len() + count > limit => return Err(RunError::TooLong),
                count => heard.extend_from_slice(&chunk[..count]),
            },
            status = running.wait(), if ended.is_none() => ended = Some(status),
            () = tokio::time::sleep(LEFTOVERS), if ended.is_some() => stdout = None,
        }
        if let (Some(status), None) = (&ended, &stdout) {
            let well = status.is_some_and(|status| status.success());
            return if well { Ok(heard) } else { Err(RunError::Failed) };
        }
    }
}

/// How much was read; nothing at the end. Without a pipe it waits for ever.
async fn read(stdout: &mut Option<pipe::Receiver>, chunk: &mut [u8]) -> usize {
    match stdout {
        Some(stdout) => stdout.read(chunk).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// A group that ends with this value.
struct Running(Option<Child>);

impl Running {
    /// Gives what it writes to its standard output, too.
    fn start(program: Program) -> Option<(Running, pipe::Receiver)> {
        let (ours, theirs) = receiver().ok()?;
        let stdio = [null().ok()?, theirs, null().ok()?];
        let leave = leave_to_start()?;
        let group = spawn(&program, stdio).ok()?;
        enlist(group);
        drop(leave);
        match Child::watch(group) {
            Ok(child) => Some((Running(Some(child)), ours)),
            Err(_) => {
                discharge(group);
                None
            }
        }
    }

    /// The end of the leader, with which everything that it has started ends too.
    async fn wait(&mut self) -> Option<ExitStatus> {
        let child = self.0.as_mut()?;
        let (status, group) = (child.wait().await, child.pid());
        signal_group(group, Signal::KILL);
        discharge(group);
        self.0 = None;
        Some(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        let group = child.pid();
        signal_group(group, Signal::KILL);
        runtime::spawn(async move {
            child.wait().await;
            discharge(group);
        });
    }
}
