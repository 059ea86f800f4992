//! Owns the pipes between us and our children.
//! Invariant: our ends are never inherited by a child, and reading or writing them never blocks.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{ioctl_fionread, retry_on_intr};
pub(crate) use tokio::net::unix::pipe::{Receiver, Sender};

use super::spawn::Stdio;
use crate::fork::LocalFd;
use crate::platform::portable;

/// A large result then needs few reads; the kernel allocates the memory only when it is used.
#[cfg(target_os = "linux")]
const PIPE_SIZE: usize = 1 << 20;

/// Our end of a server's stdin or stdout.
pub(crate) struct PipeEnd(LocalFd);

impl PipeEnd {
    fn new(fd: OwnedFd) -> io::Result<PipeEnd> {
        let fd = LocalFd::new(fd);
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        rustix::fs::fcntl_setfl(&fd, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(PipeEnd(fd))
    }

    /// Reads into the spare capacity of the buffer; 0 bytes are the end.
    pub(crate) fn read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        let (filled, _) = rustix::io::read(&self.0, buffer.spare_capacity_mut())?;
        let count = filled.len();
        // SAFETY: the kernel has filled this many bytes of the spare capacity.
        unsafe { buffer.set_len(buffer.len() + count) };
        Ok(count)
    }

    /// Returns how many bytes the pipe has accepted.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| rustix::io::write(&self.0, bytes))?)
    }

    /// How many bytes can be read now.
    pub(crate) fn available(&self) -> usize {
        let available = ioctl_fionread(&self.0).unwrap_or(0);
        usize::try_from(available).unwrap_or(usize::MAX)
    }

    /// Whether any process has the other end of a stdin open.
    pub(crate) fn has_reader(&self) -> bool {
        // macOS reports the missing reader only to those who ask for room.
        let mut fds = [PollFd::new(&self.0, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = rustix::event::poll(&mut fds, Some(&now));
        polled.is_err() || !fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }

    /// How many bytes of a stdin certainly nobody reads. Only Linux counts them at the writing end.
    pub(crate) fn left_unread(&self) -> u64 {
        if portable() || self.has_reader() { 0 } else { ioctl_fionread(&self.0).unwrap_or(0) }
    }

    /// Whether [`PipeEnd::left_unread`] may be more once the last reader is gone.
    pub(crate) fn may_count_more(&self) -> bool {
        !portable() && self.has_reader()
    }

    /// How many bytes of the pipe may be known to be unread.
    pub(crate) fn capacity(&self) -> usize {
        #[cfg(target_os = "linux")]
        if !portable() {
            return rustix::pipe::fcntl_getpipe_size(&self.0).unwrap_or(1 << 20);
        }
        0
    }

    /// Whether it was inherited by a fork, and so is closed here.
    pub(crate) fn is_inherited(&self) -> bool {
        self.0.is_inherited()
    }
}

impl AsFd for PipeEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Resolves when all that an exited process has written can be read: at once.
pub(crate) async fn last_output_arrived() {}

/// Our ends of stdin, stdout and stderr, and the child's.
pub(super) type PipeEnds = (PipeEnd, PipeEnd, Receiver, Stdio);

pub(super) fn pipes() -> io::Result<PipeEnds> {
    let (stdin_theirs, stdin_ours) = cloexec_pipe()?;
    let stdin_ours = PipeEnd::new(stdin_ours)?;
    let (stdout_ours, stdout_theirs) = cloexec_pipe()?;
    let stdout_ours = PipeEnd::new(stdout_ours)?;
    // A user over the system's limit of pipe memory keeps the default size.
    #[cfg(target_os = "linux")]
    if !portable() {
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout_ours, PIPE_SIZE);
    }
    let (stderr_ours, stderr_theirs) = receiver()?;
    Ok((stdin_ours, stdout_ours, stderr_ours, [stdin_theirs, stdout_theirs, stderr_theirs]))
}

/// A pipe that a task reads.
pub(super) fn receiver() -> io::Result<(Receiver, OwnedFd)> {
    let (ours, theirs) = cloexec_pipe()?;
    Ok((Receiver::from_owned_fd(ours)?, theirs))
}

/// A pipe that a task writes to.
pub(super) fn sender() -> io::Result<(Sender, OwnedFd)> {
    let (theirs, ours) = cloexec_pipe()?;
    Ok((Sender::from_owned_fd(ours)?, theirs))
}

/// A pipe that programs do not inherit. The portable way has a gap: a program that another thread of the host starts
/// between the two steps inherits it. Those that we start do not.
pub(crate) fn cloexec_pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    if !portable() {
        return rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    }
    let pipe = rustix::pipe::pipe()?;
    rustix::io::fcntl_setfd(&pipe.0, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&pipe.1, rustix::io::FdFlags::CLOEXEC)?;
    Ok(pipe)
}
