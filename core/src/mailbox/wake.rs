//! Owns the descriptor that an event loop watches: readable from a signal until it is reset. On Linux it is an epoll
//! set, to which the loop can add descriptors that it reads itself. The portable one is a pipe.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

#[cfg(target_os = "linux")]
use crate::platform::portable;
use crate::process::{PipeEnd, cloexec_pipe};

/// What an event loop watches.
pub type RawDescriptor = RawFd;

pub(super) enum WakeDescriptor {
    #[cfg(target_os = "linux")]
    Epoll {
        epoll: OwnedFd,
        eventfd: OwnedFd,
    },
    Pipe {
        read: OwnedFd,
        write: OwnedFd,
    },
}

impl WakeDescriptor {
    pub(super) fn new() -> io::Result<WakeDescriptor> {
        #[cfg(target_os = "linux")]
        if !portable() {
            return WakeDescriptor::epoll();
        }
        WakeDescriptor::pipe()
    }

    #[cfg(target_os = "linux")]
    fn epoll() -> io::Result<WakeDescriptor> {
        use rustix::event::{EventfdFlags, epoll, eventfd};
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        add_to(&epoll, eventfd.as_fd())?;
        Ok(WakeDescriptor::Epoll { epoll, eventfd })
    }

    fn pipe() -> io::Result<WakeDescriptor> {
        let (read, write) = cloexec_pipe()?;
        for fd in [&read, &write] {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(WakeDescriptor::Pipe { read, write })
    }

    pub(super) fn raw(&self) -> RawDescriptor {
        self.descriptor().as_raw_fd()
    }

    /// Blocks this thread until the descriptor is readable; returns false if `limit` has passed before.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).ok();
        let descriptor = self.descriptor();
        let mut fds = [PollFd::new(&descriptor, PollFlags::IN)];
        rustix::event::poll(&mut fds, limit.as_ref()).is_ok_and(|ready| ready > 0)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            #[cfg(target_os = "linux")]
            WakeDescriptor::Epoll { epoll, .. } => epoll.as_fd(),
            WakeDescriptor::Pipe { read, .. } => read.as_fd(),
        }
    }

    /// Whether the loop can read pipes itself.
    pub(super) fn can_add(&self) -> bool {
        !matches!(self, WakeDescriptor::Pipe { .. })
    }

    pub(super) fn add(&self, pipe: &PipeEnd) -> bool {
        match (self, pipe) {
            #[cfg(target_os = "linux")]
            (WakeDescriptor::Epoll { epoll, .. }, pipe) => add_to(epoll, pipe.as_fd()).is_ok(),
            (WakeDescriptor::Pipe { .. }, _) => false,
        }
    }

    pub(super) fn remove(&self, pipe: &PipeEnd) {
        match (self, pipe) {
            #[cfg(target_os = "linux")]
            (WakeDescriptor::Epoll { epoll, .. }, pipe) => {
                let _ = rustix::event::epoll::delete(epoll, pipe);
            }
            (WakeDescriptor::Pipe { .. }, _) => {}
        }
    }

    pub(super) fn signal(&self) {
        let _ = match self {
            #[cfg(target_os = "linux")]
            WakeDescriptor::Epoll { eventfd, .. } => {
                rustix::io::write(eventfd, &1u64.to_ne_bytes())
            }
            WakeDescriptor::Pipe { write, .. } => rustix::io::write(write, &[1]),
        };
    }

    pub(super) fn reset(&self) {
        let signalled = match self {
            #[cfg(target_os = "linux")]
            WakeDescriptor::Epoll { eventfd, .. } => eventfd,
            WakeDescriptor::Pipe { read, .. } => read,
        };
        let _ = rustix::io::read(signalled, &mut [0u8; 8]);
    }
}

#[cfg(target_os = "linux")]
fn add_to(epoll: &OwnedFd, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
    use rustix::event::epoll;
    epoll::add(epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
}
