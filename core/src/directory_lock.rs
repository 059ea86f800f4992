//! Owns the lock that serialises changes of the files in a directory over all processes. The directory is locked, because
//! the files are replaced, and a lock file would be left behind.
//! Invariant: a process that ends at any point leaves nothing locked.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::file_system::{make_options_private, open_directory_to_lock, open_without_following};

/// The lock file, on file systems that cannot lock a directory, and on Windows.
const LOCK_FILE: &str = ".mcpool.lock";
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Locks out other processes, and other holders in this process, while it lives.
pub(crate) struct DirectoryLock(File);

impl DirectoryLock {
    /// Waits for the lock as long as `keep_waiting` agrees, which gets the time waited so far; `None` if it gave up.
    /// Blocks the thread.
    pub(crate) fn acquire(
        directory: &Path,
        mut keep_waiting: impl FnMut(Duration) -> bool,
    ) -> io::Result<Option<Self>> {
        let (mut file, mut is_lock_file) = match open_directory_to_lock(directory)? {
            Some(directory) => (directory, false),
            None => (open_lock_file(directory)?, true),
        };
        let begun = Instant::now();
        // Polled, because `flock` cannot be given a timeout: a thread that blocks in it could not be ended.
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(DirectoryLock(file))),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if is_lock_file => return Err(error),
                // Network file systems can only lock a file that is open for writing.
                Err(TryLockError::Error(_)) => {
                    file = open_lock_file(directory)?;
                    is_lock_file = true;
                    continue;
                }
            }
            if !keep_waiting(begun.elapsed()) {
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing is not enough: a child forked in the meantime has a copy of the descriptor, which keeps the lock.
        let _ = self.0.unlock();
    }
}

fn open_lock_file(directory: &Path) -> io::Result<File> {
    let mut options = File::options();
    make_options_private(options.create(true).truncate(false).write(true));
    // The owner of the directory may have put a link there.
    open_without_following(&mut options, &directory.join(LOCK_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_until_it_gives_up_or_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let acquire = |most_waits: u32| {
            let mut waits = 0;
            let keep_waiting = |_| {
                waits += 1;
                waits <= most_waits
            };
            DirectoryLock::acquire(dir.path(), keep_waiting).unwrap()
        };
        let first = acquire(0).expect("nobody has the lock");
        assert!(acquire(1).is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| acquire(u32::MAX).is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert_eq!(dir.path().read_dir().unwrap().count(), 0, "no lock file is left behind");
    }
}
