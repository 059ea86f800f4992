//! Forked children. They run no code of the test harness: each ends by `_exit` or `exit`, or by its alarm when it hangs.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::PATIENCE;

/// A forked child; it is killed with this value unless it has ended.
pub(crate) struct Forked(pub(crate) i32);

impl Forked {
    /// Runs `work` in a child, which exits with the returned code.
    pub(crate) fn begin(
        leave: unsafe extern "C" fn(i32) -> !,
        work: impl FnOnce() -> i32,
    ) -> Forked {
        // SAFETY: the child never returns from here.
        match unsafe { libc::fork() } {
            0 => unsafe {
                libc::alarm(2 * PATIENCE.as_secs() as u32);
                leave(catch_unwind(AssertUnwindSafe(work)).unwrap_or(101))
            },
            child => {
                assert!(child > 0, "the system refuses to fork");
                Forked(child)
            }
        }
    }

    pub(crate) fn sleeping() -> Forked {
        Forked::begin(libc::_exit, || {
            std::thread::sleep(3 * PATIENCE);
            0
        })
    }

    /// How it ended.
    pub(crate) fn status(mut self) -> i32 {
        let child = std::mem::take(&mut self.0);
        wait_for(child)
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        if self.0 != 0 {
            kill(self.0);
            wait_for(self.0);
        }
    }
}

fn wait_for(child: i32) -> i32 {
    let mut status = -1;
    // SAFETY: it is our child, and nothing else waits for it.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

pub(crate) fn kill(pid: i32) {
    // SAFETY: the process was started by this test and has not been waited for.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}
