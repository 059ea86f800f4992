//! Owns waiting for a child's exit, by a thread per child.

use std::io;
use std::os::windows::process::ExitStatusExt;
use std::process::ExitStatus;

use tokio::sync::oneshot;

use super::group::{self, Pid, kill_group};

/// The stack size of a waiting thread.
const WAITER_STACK: usize = 64 << 10;

/// Keeps the job of the child while it lives.
pub(super) struct Child {
    pid: Pid,
    end: oneshot::Receiver<ExitStatus>,
}

impl Child {
    /// Watches a child that was just started; kills it if it cannot be watched.
    pub(super) fn watch(pid: Pid) -> io::Result<Child> {
        let (sender, end) = oneshot::channel();
        let thread =
            std::thread::Builder::new().name("mcpool-wait".to_owned()).stack_size(WAITER_STACK);
        let leader = group::take_leader(pid);
        let watching = thread.spawn(move || {
            let status = leader.and_then(|mut leader| leader.wait().ok());
            sender.send(status.unwrap_or_else(unknown))
        });
        match watching {
            Ok(_) => Ok(Child { pid, end }),
            Err(error) => {
                kill_group(pid);
                group::remove(pid);
                Err(error)
            }
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Must not be called again after it has returned.
    pub(super) async fn wait(&mut self) -> ExitStatus {
        (&mut self.end).await.unwrap_or_else(|_| unknown())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        group::remove(self.pid);
    }
}

/// Windows has none.
pub(super) fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

fn unknown() -> ExitStatus {
    ExitStatus::from_raw(0)
}
