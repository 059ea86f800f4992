//! Owns writing to a server's standard input: what the pipe does not accept at once is buffered, and the I/O thread
//! writes it later.
//! Invariant: lines are written whole and in order; once there is no reader, nothing more is written.

use std::io::ErrorKind as Io;
use std::sync::Weak;
use std::time::Duration;

use super::unread::Positions;
use super::{StdioLink, io};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::process::{Closed, Exit, PipeEnd};
use crate::wire::{Flush, UnreadRequests};

/// How much a server may leave unread before calls are refused.
const BACKLOG_LIMIT: usize = 64 << 20;
/// The size from which held back messages are sent: the server works on them while the host makes more calls.
const HOLD_BACK: usize = 4 << 10;
/// How long a server that has closed its input has to end, or to close its output as an ending process does.
const CLOSED_INPUT: Duration = Duration::from_millis(100);

pub(super) struct Outbox {
    pipe: Weak<StdioLink>,
    /// The pipe's key at the I/O thread.
    slot: io::Slot,
    exit: Exit,
    stdin: Option<PipeEnd>,
    buffer: Vec<u8>,
    /// The pipe is full and the I/O thread will flush.
    waiting: bool,
    /// The pipe has no reader any more.
    broken: bool,
    /// How many bytes the pipe has accepted.
    written: u64,
    positions: Positions,
}

impl Outbox {
    pub(super) fn new(pipe: Weak<StdioLink>, slot: io::Slot, exit: Exit, stdin: PipeEnd) -> Self {
        let positions = Positions::new(stdin.capacity());
        Outbox {
            pipe,
            slot,
            exit,
            stdin: Some(stdin),
            buffer: Vec::new(),
            waiting: false,
            broken: false,
            written: 0,
            positions,
        }
    }

    /// Lets the I/O thread report when there is no reader any more.
    pub(super) fn watch(&mut self) {
        let Some(stdin) = &self.stdin else { return };
        io::thread().watch_input(&self.slot, stdin);
        // Not every system reports what was so before.
        if !stdin.has_reader() {
            self.note_closed();
        }
    }

    /// Sends one line; `id` is set for a request.
    pub(super) fn send(&mut self, message: Vec<u8>, id: Option<u64>, flush: Flush) -> Result<()> {
        let Some(stdin) = self.stdin.as_ref().filter(|_| !self.broken) else {
            return Err(input_closed());
        };
        if self.buffer.is_empty() && flush == Flush::Now && !self.waiting {
            match stdin.write(&message) {
                Ok(count) if count == message.len() => self.written += count as u64,
                Ok(count) => {
                    self.written += count as u64;
                    self.buffer.extend_from_slice(&message[count..]);
                    self.wait_for_room();
                }
                Err(error) if error.kind() == Io::WouldBlock => {
                    self.buffer = message;
                    self.wait_for_room();
                }
                Err(_) => {
                    self.note_closed();
                    return Err(input_closed());
                }
            }
            self.note_position(id);
            return Ok(());
        }
        if self.buffer.len() + message.len() > BACKLOG_LIMIT {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("The server has not read {} MiB of messages", BACKLOG_LIMIT >> 20),
            )
            .with_executed(Executed::No));
        }
        self.buffer.extend_from_slice(&message);
        self.note_position(id);
        if flush == Flush::Now || self.buffer.len() >= HOLD_BACK {
            self.flush();
        }
        Ok(())
    }

    /// How many bytes are buffered.
    pub(super) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn flush(&mut self) {
        if self.waiting || self.broken || self.buffer.is_empty() {
            return;
        }
        let Some(stdin) = &self.stdin else { return };
        match stdin.write(&self.buffer) {
            Ok(count) => {
                self.written += count as u64;
                if count == self.buffer.len() {
                    self.buffer.clear();
                    self.buffer.shrink_to(64 << 10);
                } else {
                    self.buffer.drain(..count);
                    self.wait_for_room();
                }
            }
            Err(error) if error.kind() == Io::WouldBlock => self.wait_for_room(),
            Err(_) => self.note_closed(),
        }
    }

    /// The pipe is writable again, or has no reader any more.
    pub(super) fn write_ready(&mut self) {
        let Some(stdin) = &self.stdin else { return };
        if !stdin.has_reader() {
            return self.note_closed();
        }
        if std::mem::take(&mut self.waiting) {
            self.flush();
            if let (Some(stdin), false) = (&self.stdin, self.waiting) {
                io::thread().watch_room(&self.slot, stdin, false);
            }
        }
    }

    /// Whether more requests may be proved unread once the last reader is gone.
    pub(super) fn has_doubts(&self) -> bool {
        self.stdin.as_ref().is_some_and(PipeEnd::may_count_more)
    }

    /// Which requests were never read, as far as that is known.
    pub(super) fn take_unread(&mut self) -> Option<UnreadRequests> {
        let left = self.stdin.as_ref()?.left_unread();
        // Nothing is written from now on, so no request can be both proved unread and sent.
        self.broken = true;
        let read = self.written.checked_sub(left)?;
        Some(self.positions.unread(read))
    }

    pub(super) fn close(&mut self) {
        if let Some(stdin) = self.stdin.take() {
            if !self.waiting && !self.broken {
                // Messages held back for a common write must not be lost by closing.
                let _ = stdin.write(&self.buffer);
            }
            io::thread().unwatch(&stdin);
        }
    }

    /// Records where a request ends, once the pipe or the buffer has its bytes.
    fn note_position(&mut self, id: Option<u64>) {
        if let Some(id) = id {
            let end = self.written + self.buffer.len() as u64;
            self.positions.note_request(id, end, self.written);
        }
    }

    fn wait_for_room(&mut self) {
        if let Some(stdin) = &self.stdin {
            io::thread().watch_room(&self.slot, stdin, true);
            self.waiting = true;
        }
    }

    /// There is no reader any more. A process that ends reports it by its exit; one that stays alive is lost too.
    fn note_closed(&mut self) {
        if std::mem::replace(&mut self.broken, true) {
            return;
        }
        if let Some(stdin) = &self.stdin {
            io::thread().unwatch(stdin);
        }
        let (pipe, exit) = (self.pipe.clone(), self.exit.clone());
        crate::runtime::spawn(async move {
            let _ = tokio::time::timeout(CLOSED_INPUT, exit.wait()).await;
            if let Some(pipe) = pipe.upgrade() {
                pipe.read_and_end(Closed::Input);
            }
        });
    }
}

pub(super) fn input_closed() -> Error {
    Error::new(ErrorKind::ConnectionLost, "The server closed its input").with_executed(Executed::No)
}
