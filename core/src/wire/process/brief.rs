//! Owns programs that only say something and end. Each is a group of its own, ended as a group when it takes too long,
//! says too much, or nobody waits for it any more.

use std::os::unix::process::CommandExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::process::Child;

use super::guardian::{discharge, enlist, leave_to_start};
use super::signal_group;
use crate::runtime;

/// How long the output of a program that has ended is waited for: somebody who left its group may keep it open.
const LEFTOVERS: Duration = Duration::from_millis(200);

/// Why a program said nothing that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unheard {
    NotStarted,
    Failed,
    TooLong,
}

/// What the program writes to its standard output, if it ends well. It reads nothing, and what it writes to stderr is
/// dropped. Dropping the future ends the program.
pub(crate) async fn hear(
    mut command: std::process::Command,
    limit: usize,
) -> Result<Vec<u8>, Unheard> {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(command.into()).ok_or(Unheard::NotStarted)?;
    let mut stdout = running.child().and_then(|child| child.stdout.take());
    let mut heard = Vec::new();
    let mut chunk = vec![0; 4096];
    let mut ended = None;
    loop {
        tokio::select! {
            read = read(&mut stdout, &mut chunk) => match read {
                0 => stdout = None,
                count if heard.len() + count > limit => return Err(Unheard::TooLong),
                count => heard.extend_from_slice(&chunk[..count]),
            },
            status = running.wait(), if ended.is_none() => ended = Some(status),
            () = tokio::time::sleep(LEFTOVERS), if ended.is_some() => stdout = None,
        }
        if let (Some(status), None) = (&ended, &stdout) {
            let well = status.is_some_and(|status| status.success());
            return if well { Ok(heard) } else { Err(Unheard::Failed) };
        }
    }
}

/// How much was read; nothing at the end. Without a pipe it waits for ever.
async fn read(stdout: &mut Option<tokio::process::ChildStdout>, chunk: &mut [u8]) -> usize {
    match stdout {
        Some(stdout) => stdout.read(chunk).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// A group that ends with this value.
struct Running {
    group: Pid,
    child: Option<Child>,
}

impl Running {
    fn start(mut command: tokio::process::Command) -> Option<Running> {
        let leave = leave_to_start()?;
        let child = command.spawn().ok()?;
        let group = Pid::from_raw(child.id()? as i32)?;
        enlist(group);
        drop(leave);
        Some(Running { group, child: Some(child) })
    }

    fn child(&mut self) -> Option<&mut Child> {
        self.child.as_mut()
    }

    /// The end of the leader, with which everything that it has started ends too.
    async fn wait(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.wait().await.ok();
        signal_group(self.group, Signal::KILL);
        discharge(self.group);
        self.child = None;
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let group = self.group;
        signal_group(group, Signal::KILL);
        runtime::spawn(async move {
            let _ = child.wait().await;
            discharge(group);
        });
    }
}
