//! Owns what the system tells about a terminal.

pub(super) use std::os::fd::AsRawFd as Console;

/// The terminal's width, if the stream is a terminal.
pub(super) fn columns(stream: &impl Console) -> Option<usize> {
    // SAFETY: the struct is plain numbers, and the kernel writes only to it.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let result = libc::ioctl(stream.as_raw_fd(), libc::TIOCGWINSZ, &mut size);
        (result == 0).then_some(size)
    };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Every terminal here understands ANSI codes.
pub(super) fn understands_colour(_stream: &impl Console) -> bool {
    true
}
