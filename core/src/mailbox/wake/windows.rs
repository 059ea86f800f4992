//! Owns the socket that an event loop watches: readable from a signal until it is reset. It is one of a pair on the
//! loopback interface, because the loops of Windows watch only sockets.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::windows::io::{AsRawSocket, RawSocket};
use std::time::Duration;

use crate::process::PipeEnd;

/// The shortest limit that a socket takes.
const SHORTEST_LIMIT: Duration = Duration::from_millis(1);

/// What an event loop watches.
pub type RawDescriptor = RawSocket;

pub(super) struct WakeDescriptor {
    /// It blocks, so that a reset also finds a byte that is still on its way.
    read: TcpStream,
    write: TcpStream,
}

impl WakeDescriptor {
    pub(super) fn new() -> io::Result<WakeDescriptor> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let write = TcpStream::connect(listener.local_addr()?)?;
        // Any process of this machine can connect.
        let ours = write.local_addr()?;
        let read = loop {
            let (read, peer) = listener.accept()?;
            if peer == ours {
                break read;
            }
        };
        write.set_nodelay(true)?;
        write.set_nonblocking(true)?;
        Ok(WakeDescriptor { read, write })
    }

    pub(super) fn raw(&self) -> RawDescriptor {
        self.read.as_raw_socket()
    }

    /// Blocks this thread until the descriptor is readable; returns false if `limit` has passed before.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        let limited = self.read.set_read_timeout(Some(limit.max(SHORTEST_LIMIT)));
        limited.and_then(|()| self.read.peek(&mut [0])).is_ok()
    }

    /// Whether the loop can read pipes itself.
    pub(super) fn can_add(&self) -> bool {
        false
    }

    pub(super) fn add(&self, _pipe: &PipeEnd) -> bool {
        false
    }

    pub(super) fn remove(&self, _pipe: &PipeEnd) {}

    pub(super) fn signal(&self) {
        let _ = (&self.write).write(&[1]);
    }

    pub(super) fn reset(&self) {
        let _ = (&self.read).read(&mut [0u8; 8]);
    }
}
