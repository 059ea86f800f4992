//! Owns the descriptor that an event loop watches: readable from a signal until it is reset. On Linux it is an epoll
//! set, to which the loop can add descriptors that it reads itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(target_os = "linux")]
pub(super) struct WakeDescriptor {
    epoll: OwnedFd,
    eventfd: OwnedFd,
}

#[cfg(target_os = "linux")]
impl WakeDescriptor {
    pub(super) fn new() -> std::io::Result<WakeDescriptor> {
        use rustix::event::{EventfdFlags, epoll, eventfd};
        let wake = WakeDescriptor {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        wake.add(wake.eventfd.as_fd());
        Ok(wake)
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub(super) fn add(&self, fd: BorrowedFd<'_>) -> bool {
        use rustix::event::epoll;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN).is_ok()
    }

    pub(super) fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = rustix::event::epoll::delete(&self.epoll, fd);
    }

    pub(super) fn signal(&self) {
        let _ = rustix::io::write(&self.eventfd, &1u64.to_ne_bytes());
    }

    pub(super) fn reset(&self) {
        let _ = rustix::io::read(&self.eventfd, &mut [0u8; 8]);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) struct WakeDescriptor {
    read: OwnedFd,
    write: OwnedFd,
}

#[cfg(not(target_os = "linux"))]
impl WakeDescriptor {
    pub(super) fn new() -> std::io::Result<WakeDescriptor> {
        let (read, write) = rustix::pipe::pipe()?;
        for fd in [&read, &write] {
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(WakeDescriptor { read, write })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }

    pub(super) fn add(&self, _fd: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn remove(&self, _fd: BorrowedFd<'_>) {}

    pub(super) fn signal(&self) {
        let _ = rustix::io::write(&self.write, &[1]);
    }

    pub(super) fn reset(&self) {
        let _ = rustix::io::read(&self.read, &mut [0u8; 8]);
    }
}
