//! Owns running a program for its output. It has its own session and process group; the group is killed when the
//! program takes too long, prints too much, or the caller drops the future.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::child::Child;
use super::group::kill_group;
use super::guardian::{permit_to_start, register, unregister};
use super::pipe::{Receiver, receiver};
use super::spawn::{Program, null, spawn};
use crate::runtime;

/// How long the output of an exited program is waited for: a process that left its group may keep it open.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);

/// Why a program gave no usable output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunError {
    NotStarted,
    Failed,
    TooLong,
}

/// Returns the program's stdout if it exits successfully. Its stdin is empty and its stderr is dropped. Dropping the
/// future ends the program.
pub(crate) async fn run_command(program: Program, limit: usize) -> Result<Vec<u8>, RunError> {
    let (mut running, stdout) = ChildGroup::start(program).ok_or(RunError::NotStarted)?;
    let mut stdout = Some(stdout);
    let mut output = Vec::new();
    let mut chunk = vec![0; 4096];
    let mut ended = None;
    loop {
        tokio::select! {
            read = read_chunk(&mut stdout, &mut chunk) => match read {
                0 => stdout = None,
                count if output.len() + count > limit => return Err(RunError::TooLong),
                count => output.extend_from_slice(&chunk[..count]),
            },
            status = running.wait(), if ended.is_none() => ended = Some(status),
            () = tokio::time::sleep(OUTPUT_GRACE), if ended.is_some() => stdout = None,
        }
        if let (Some(status), None) = (&ended, &stdout) {
            let well = status.is_some_and(|status| status.success());
            return if well { Ok(output) } else { Err(RunError::Failed) };
        }
    }
}

/// The number of bytes read, 0 at the end. Pending forever without a pipe.
async fn read_chunk(stdout: &mut Option<Receiver>, chunk: &mut [u8]) -> usize {
    match stdout {
        Some(stdout) => stdout.read(chunk).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// A process group that is killed on drop.
struct ChildGroup(Option<Child>);

impl ChildGroup {
    /// Starts the program; returns its stdout too.
    fn start(program: Program) -> Option<(ChildGroup, Receiver)> {
        let (ours, theirs) = receiver().ok()?;
        let stdio = [null().ok()?, theirs, null().ok()?];
        let _permit = permit_to_start()?;
        let group = spawn(&program, stdio).ok()?;
        register(group);
        match Child::watch(group) {
            Ok(child) => Some((ChildGroup(Some(child)), ours)),
            Err(_) => {
                unregister(group);
                None
            }
        }
    }

    /// Waits for the leader's exit, then kills the rest of its group.
    async fn wait(&mut self) -> Option<ExitStatus> {
        let child = self.0.as_mut()?;
        let (status, group) = (child.wait().await, child.pid());
        kill_group(group);
        unregister(group);
        self.0 = None;
        Some(status)
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        let group = child.pid();
        kill_group(group);
        runtime::spawn(async move {
            child.wait().await;
            unregister(group);
        });
    }
}
