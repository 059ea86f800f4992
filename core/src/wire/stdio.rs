//! Owns the pipes of one stdio server: lines out through its standard input, lines in from its standard output.
//! Writes go out on the caller's thread while the pipe takes them; reads happen on the I/O thread, or on the thread
//! of the one host loop that waits for answers (a lease).
//! Invariant: lines leave whole and in order, whoever writes; a forked child touches neither pipe nor process.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionread};

use super::frame::{Frame, Frames};
use super::io;
use super::process::{Launch, Process};
use super::{Flush, Inbound};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::inherited::LocalFd;
use crate::mailbox::Mailbox;
use crate::sync::lock;

/// What a server may leave unread of our messages before calls are refused.
const BACKLOG_LIMIT: usize = 64 << 20;
/// Held back no longer than this: the server works on these calls while the host still makes others.
const HOLD_BACK: usize = 4 << 10;
/// One turn of reading; other servers get theirs in between.
const READ_BUDGET: usize = 1 << 20;
/// A lease ends when the host has not touched the pipe for this long.
const LEASE_IDLE: Duration = Duration::from_millis(20);

pub(crate) struct Pipe {
    slot: usize,
    stdout: LocalFd,
    frames: Mutex<Frames>,
    outbox: Mutex<Outbox>,
    inbound: OnceLock<Weak<dyn Inbound>>,
    ended: AtomicBool,
    lease: Mutex<Option<Arc<Mailbox>>>,
    lent_to: AtomicU64,
    touched_ms: AtomicU64,
    overseen: AtomicBool,
    started: Instant,
    process: Process,
}

/// How far one turn of reading came.
#[derive(PartialEq, Eq)]
pub(crate) enum Reading {
    /// All that was there is read.
    Done,
    /// There may be more; others wait for their turn.
    Interrupted,
}

struct Outbox {
    stdin: Option<LocalFd>,
    buffer: Vec<u8>,
    /// The poller knows the descriptor.
    known: bool,
    /// The pipe is full and the I/O thread will flush.
    waiting: bool,
}

impl Pipe {
    /// Starts the server.
    pub(crate) fn open(launch: Launch, message_limit: usize) -> Result<Arc<Pipe>> {
        let (process, stdin, stdout) = Process::start(launch)?;
        Ok(Arc::new_cyclic(|pipe: &Weak<Pipe>| Pipe {
            slot: io::thread().enter(pipe.clone()),
            stdout,
            frames: Mutex::new(Frames::new(message_limit)),
            outbox: Mutex::new(Outbox {
                stdin: Some(stdin),
                buffer: Vec::new(),
                known: false,
                waiting: false,
            }),
            inbound: OnceLock::new(),
            ended: AtomicBool::new(false),
            lease: Mutex::new(None),
            lent_to: AtomicU64::new(0),
            touched_ms: AtomicU64::new(0),
            overseen: AtomicBool::new(false),
            started: Instant::now(),
            process,
        }))
    }

    /// Starts delivering to `inbound`, and tells it of the end, be it a closed pipe or a dead process.
    pub(crate) fn deliver_to(self: &Arc<Self>, inbound: Weak<dyn Inbound>) {
        let _ = self.inbound.set(inbound);
        io::thread().watch_reads(self.slot, self.stdout.as_fd());
        let pipe = Arc::downgrade(self);
        let exit = self.process.exit();
        crate::runtime::spawn(async move {
            exit.wait().await;
            if let Some(pipe) = pipe.upgrade() {
                // What the server said last is read before its end is told.
                while pipe.read_ready() == Reading::Interrupted {}
                pipe.end();
            }
        });
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    pub(super) fn send(&self, message: Vec<u8>, flush: Flush) -> Result<()> {
        if self.is_inherited() {
            return Err(gone());
        }
        let mut outbox = self.outbox();
        let Some(stdin) = &outbox.stdin else {
            return Err(gone());
        };
        if outbox.buffer.is_empty() && flush == Flush::Now && !outbox.waiting {
            match rustix::io::write(stdin, &message) {
                Ok(count) if count == message.len() => return Ok(()),
                Ok(count) => outbox.buffer.extend_from_slice(&message[count..]),
                Err(Errno::AGAIN | Errno::INTR) => outbox.buffer = message,
                Err(_) => return Err(gone()),
            }
            self.arm(&mut outbox);
            return Ok(());
        }
        if outbox.buffer.len() + message.len() > BACKLOG_LIMIT {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("The server has not read {} MiB of messages", BACKLOG_LIMIT >> 20),
            )
            .with_executed(Executed::No));
        }
        outbox.buffer.extend_from_slice(&message);
        if flush == Flush::Now || outbox.buffer.len() >= HOLD_BACK {
            self.write_out(&mut outbox);
        }
        Ok(())
    }

    /// Sends a reply, unless the server has left more than `limit` of what we sent unread.
    pub(super) fn reply(&self, message: Vec<u8>, limit: usize) -> bool {
        let fits = self.outbox().buffer.len() + message.len() <= limit;
        fits && self.send(message, Flush::Now).is_ok()
    }

    pub(super) fn flush(&self) {
        if self.is_inherited() {
            return;
        }
        let mut outbox = self.outbox();
        outbox.waiting = false;
        self.write_out(&mut outbox);
    }

    fn write_out(&self, outbox: &mut Outbox) {
        if outbox.waiting || outbox.buffer.is_empty() {
            return;
        }
        let Some(stdin) = &outbox.stdin else { return };
        match rustix::io::write(stdin, &outbox.buffer) {
            Ok(count) if count == outbox.buffer.len() => {
                outbox.buffer.clear();
                outbox.buffer.shrink_to(64 << 10);
            }
            Ok(count) => {
                outbox.buffer.drain(..count);
                self.arm(outbox);
            }
            Err(Errno::AGAIN | Errno::INTR) => self.arm(outbox),
            // The server closed its input: reading or its exit will tell the end.
            Err(_) => outbox.buffer = Vec::new(),
        }
    }

    fn arm(&self, outbox: &mut Outbox) {
        if let Some(stdin) = &outbox.stdin {
            io::thread().watch_write(self.slot, stdin.as_fd(), outbox.known);
            outbox.known = true;
            outbox.waiting = true;
        }
    }

    /// Reads what is there and delivers every complete line.
    pub(crate) fn read_ready(&self) -> Reading {
        if self.is_inherited() {
            return Reading::Done;
        }
        let Some(inbound) = self.inbound.get().and_then(Weak::upgrade) else {
            return Reading::Done;
        };
        let mut frames = lock(&self.frames);
        if self.ended.load(Ordering::Acquire) {
            return Reading::Done;
        }
        self.touch();
        let mut total = 0;
        while total < READ_BUDGET {
            let waiting =
                if frames.is_long() { ioctl_fionread(&self.stdout).unwrap_or(0) } else { 0 };
            let room = frames.room((waiting as usize).min(READ_BUDGET));
            let spare = room.spare_capacity_mut();
            let space = spare.len();
            let count = match rustix::io::read(&self.stdout, spare) {
                Ok((filled, _)) => filled.len(),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Reading::Done,
                // A pipe that cannot be read has ended.
                Err(_) => 0,
            };
            if count == 0 {
                drop(frames);
                self.end();
                return Reading::Done;
            }
            // SAFETY: the kernel has filled this many bytes of the spare capacity.
            unsafe { room.set_len(room.len() + count) };
            total += count;
            while let Some(frame) = frames.next() {
                match frame {
                    Frame::Line(line) => inbound.message(line),
                    Frame::Oversized { head, tail } => inbound.oversized(&head, &tail),
                }
            }
            if count < space {
                return Reading::Done;
            }
        }
        Reading::Interrupted
    }

    /// Tells the end once, with the exit status and the last words when the process is what ended.
    fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        self.reclaim();
        io::thread().unwatch(self.stdout.as_fd());
        self.note_prompt();
        let inbound = self.inbound.get().cloned();
        let obituary = self.process.obituary();
        crate::runtime::spawn(async move {
            let words = obituary.await;
            if let Some(inbound) = inbound.and_then(|inbound| inbound.upgrade()) {
                inbound.closed(Error::new(ErrorKind::ConnectionLost, words));
            }
        });
    }

    /// What the server has said behind `message`, for errors of a server that still runs.
    pub(crate) fn with_last_words(&self, message: String) -> String {
        self.note_prompt();
        self.process.with_last_words(message)
    }

    /// What is printed in place of messages may end without a line end.
    fn note_prompt(&self) {
        self.process.printed(lock(&self.frames).partial());
    }

    pub(crate) async fn close(&self) {
        if self.is_inherited() {
            return;
        }
        self.ended.store(true, Ordering::Release);
        self.reclaim();
        io::thread().unwatch(self.stdout.as_fd());
        self.close_stdin();
        self.process.end().await;
    }

    pub(crate) fn close_stdin(&self) {
        let mut outbox = self.outbox();
        if let Some(stdin) = outbox.stdin.take() {
            if !outbox.waiting {
                // What was kept back for a common write must not be lost by closing.
                let _ = rustix::io::write(&stdin, &outbox.buffer);
            }
            io::thread().unwatch(stdin.as_fd());
        }
    }

    fn is_inherited(&self) -> bool {
        self.stdout.is_inherited()
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        lock(&self.outbox)
    }
}

/// The lease.
impl Pipe {
    /// Lets `mailbox` read from now on.
    pub(super) fn lend(self: &Arc<Self>, mailbox: &Arc<Mailbox>) {
        let holder = self.lent_to.load(Ordering::Relaxed);
        if holder == mailbox.id() || self.is_inherited() {
            return;
        }
        if holder != 0 {
            self.reclaim();
        }
        let mut lease = lock(&self.lease);
        if lease.is_some() || self.ended.load(Ordering::Acquire) {
            return;
        }
        io::thread().unwatch(self.stdout.as_fd());
        if !mailbox.adopt(self) {
            return io::thread().watch_reads(self.slot, self.stdout.as_fd());
        }
        self.lent_to.store(mailbox.id(), Ordering::Relaxed);
        self.touch();
        *lease = Some(mailbox.clone());
        drop(lease);
        if !self.overseen.swap(true, Ordering::AcqRel) {
            io::thread().oversee(self);
        }
    }

    /// Gives reading back to the I/O thread.
    pub(super) fn reclaim(&self) {
        if self.lent_to.load(Ordering::Relaxed) == 0 || self.is_inherited() {
            return;
        }
        let mut lease = lock(&self.lease);
        let Some(mailbox) = lease.take() else { return };
        self.lent_to.store(0, Ordering::Relaxed);
        mailbox.release(self);
        if !self.ended.load(Ordering::Acquire) {
            io::thread().watch_reads(self.slot, self.stdout.as_fd());
        }
    }

    /// Whether the lease goes on; the I/O thread asks.
    pub(super) fn keep_lease(&self) -> bool {
        let lent = self.lent_to.load(Ordering::Relaxed) != 0;
        let idle = self.now_ms().saturating_sub(self.touched_ms.load(Ordering::Relaxed));
        if lent && idle < LEASE_IDLE.as_millis() as u64 {
            return true;
        }
        self.overseen.store(false, Ordering::Release);
        self.reclaim();
        false
    }

    pub(crate) fn stdout(&self) -> &LocalFd {
        &self.stdout
    }

    fn touch(&self) {
        if self.lent_to.load(Ordering::Relaxed) != 0 {
            self.touched_ms.store(self.now_ms(), Ordering::Relaxed);
        }
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        self.reclaim();
        io::thread().unwatch(self.stdout.as_fd());
        self.close_stdin();
        io::thread().leave(self.slot);
        self.process.end_in_background();
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::ConnectionLost, "The server closed its input").with_executed(Executed::No)
}
