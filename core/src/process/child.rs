//! Owns waiting for a child's exit: by a pidfd where the system has them, otherwise by a thread per child.
//! Invariant: no signal handler is installed, because SIGCHLD belongs to the host. A child is reaped when its owner
//! learns of its exit, not before: until then nobody else can get its process id.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};
use tokio::sync::oneshot;

use super::group::signal_group;
#[cfg(target_os = "linux")]
use crate::platform::portable;

/// The stack size of a waiting thread.
const WAITER_STACK: usize = 64 << 10;

pub(super) struct Child {
    pid: Pid,
    end: ExitSource,
}

enum ExitSource {
    #[cfg(target_os = "linux")]
    Descriptor(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
    Thread(oneshot::Receiver<()>),
}

impl Child {
    /// Watches a child that was just started; kills it if it cannot be watched.
    pub(super) fn watch(pid: Pid) -> io::Result<Child> {
        #[cfg(target_os = "linux")]
        if !portable()
            && let Ok(child) = Child::by_descriptor(pid)
        {
            return Ok(child);
        }
        Child::by_thread(pid).inspect_err(|_| {
            signal_group(pid, Signal::KILL);
            reap(pid, WaitOptions::empty());
        })
    }

    #[cfg(target_os = "linux")]
    fn by_descriptor(pid: Pid) -> io::Result<Child> {
        use tokio::io::{Interest, unix::AsyncFd};
        let fd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
        // SAFETY: `AsyncFd` owns the descriptor, which stays open while it is registered.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Child { pid, end: ExitSource::Descriptor(fd) })
    }

    fn by_thread(pid: Pid) -> io::Result<Child> {
        let (sender, receiver) = oneshot::channel();
        let thread =
            std::thread::Builder::new().name("mcpool-wait".to_owned()).stack_size(WAITER_STACK);
        thread.spawn(move || {
            wait_for_exit(pid);
            sender.send(())
        })?;
        Ok(Child { pid, end: ExitSource::Thread(receiver) })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Must not be called again after it has returned.
    pub(super) async fn wait(&mut self) -> ExitStatus {
        let ended = match &mut self.end {
            // Fails only when the runtime shuts down.
            #[cfg(target_os = "linux")]
            ExitSource::Descriptor(fd) => fd.readable().await.is_ok(),
            ExitSource::Thread(receiver) => receiver.await.is_ok(),
        };
        if ended { reap(self.pid, WaitOptions::NOHANG) } else { unknown() }
    }
}

/// Blocks until the child has exited, or the host has reaped it.
fn wait_for_exit(pid: Pid) {
    let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), exited));
}

/// The signal that ended the process.
pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Reaps the child. The host may have reaped it already, by waiting for any child.
fn reap(pid: Pid, options: WaitOptions) -> ExitStatus {
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(pid), options));
    ended.ok().flatten().map_or_else(unknown, |(_, status)| ExitStatus::from_raw(status.as_raw()))
}

fn unknown() -> ExitStatus {
    ExitStatus::from_raw(0)
}

#[cfg(test)]
mod tests {
    use super::super::spawn::{Program, null, spawn};
    use super::*;
    use crate::runtime;

    #[test]
    fn every_way_of_waiting_returns_the_exit_status() {
        let ways: &[fn(Pid) -> io::Result<Child>] = &[
            Child::watch,
            Child::by_thread,
            #[cfg(target_os = "linux")]
            Child::by_descriptor,
        ];
        for way in ways {
            for (script, expected) in [("exit 7", (Some(7), None)), ("kill -9 $$", (None, Some(9)))]
            {
                let program = Program {
                    path: "/bin/sh".into(),
                    args: vec!["-c".to_owned(), script.to_owned()],
                    env: Default::default(),
                    cwd: None,
                };
                let stdio = std::array::from_fn(|_| null().unwrap());
                let status = runtime::block_on(async {
                    way(spawn(&program, stdio).unwrap()).unwrap().wait().await
                });
                assert_eq!((status.code(), status.signal()), expected);
            }
        }
    }
}
