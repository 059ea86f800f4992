//! Owns the pipes of one stdio server: lines out through its standard input, lines in from its standard output.
//! Writes go out on the caller's thread while the pipe takes them; reads happen on the I/O thread, or on the thread
//! of the one host loop that waits for answers (a lease).
//! Invariant: lines leave whole and in order, whoever writes; a server that reads no more, or writes no more, is lost; a
//! forked child touches neither pipe nor process.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, ioctl_fionread};

use super::frame::{Frame, Frames};
use super::io;
use super::unread::{Positions, Unread};
use super::{Flush, Inbound};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::LocalFd;
use crate::mailbox::Mailbox;
use crate::process::{Closed, Launch, Process};
use crate::sync::lock;

/// What a server may leave unread of our messages before calls are refused.
const BACKLOG_LIMIT: usize = 64 << 20;
/// Held back no longer than this: the server works on these calls while the host still makes others.
const HOLD_BACK: usize = 4 << 10;
/// One turn of reading; other servers get theirs in between. Of short lines, each of which has to be looked at, less is
/// read than of a long one.
const READ_BUDGET: usize = 1 << 20;
const SHORT_LINES_BUDGET: usize = 128 << 10;
/// What a pipe holds at most, unless the system was told otherwise.
const LARGEST_PIPE: usize = 1 << 20;
/// How long a server that has closed its input is given to end, or to close its output as a process does that ends.
const CLOSED_INPUT: Duration = Duration::from_millis(100);
/// A lease ends when the host has not touched the pipe for this long.
const LEASE_IDLE: Duration = Duration::from_millis(20);

pub(crate) struct Pipe {
    me: Weak<Pipe>,
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

struct Outbox {
    stdin: Option<LocalFd>,
    buffer: Vec<u8>,
    /// The pipe is full and the I/O thread will flush.
    waiting: bool,
    /// Nobody reads any more.
    broken: bool,
    /// How many bytes the pipe has taken.
    written: u64,
    positions: Positions,
}

impl Outbox {
    /// Notes where a request ends, once the pipe or the buffer has its bytes.
    fn note(&mut self, id: Option<u64>) {
        if let Some(id) = id {
            let end = self.written + self.buffer.len() as u64;
            self.positions.note(id, end, self.written);
        }
    }
}

impl Pipe {
    /// Starts the server.
    pub(crate) fn open(launch: Launch, message_limit: usize) -> Result<Arc<Pipe>> {
        let io = io::start()?;
        let (process, stdin, stdout) = Process::start(launch)?;
        let positions = Positions::new(capacity_of(&stdin));
        Ok(Arc::new_cyclic(|pipe: &Weak<Pipe>| Pipe {
            me: pipe.clone(),
            slot: io.enter(pipe.clone()),
            stdout,
            frames: Mutex::new(Frames::new(message_limit)),
            outbox: Mutex::new(Outbox {
                stdin: Some(stdin),
                buffer: Vec::new(),
                waiting: false,
                broken: false,
                written: 0,
                positions,
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
        if let Some(stdin) = &self.outbox().stdin {
            io::thread().watch_input(self.slot, stdin.as_fd());
        }
        let (pipe, exit) = (self.me.clone(), self.process.exit());
        crate::runtime::spawn(async move {
            exit.wait().await;
            if let Some(pipe) = pipe.upgrade() {
                pipe.read_out(Closed::Output);
            }
        });
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Sends one line; `id` is set when it is a request.
    pub(super) fn send(&self, message: Vec<u8>, id: Option<u64>, flush: Flush) -> Result<()> {
        if self.is_inherited() {
            return Err(gone());
        }
        let mut outbox = self.outbox();
        let Some(stdin) = outbox.stdin.as_ref().filter(|_| !outbox.broken) else {
            return Err(gone());
        };
        if outbox.buffer.is_empty() && flush == Flush::Now && !outbox.waiting {
            match rustix::io::write(stdin, &message) {
                Ok(count) if count == message.len() => outbox.written += count as u64,
                Ok(count) => {
                    outbox.written += count as u64;
                    outbox.buffer.extend_from_slice(&message[count..]);
                    self.arm(&mut outbox);
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    outbox.buffer = message;
                    self.arm(&mut outbox);
                }
                Err(_) => {
                    self.input_closed(&mut outbox);
                    return Err(gone());
                }
            }
            outbox.note(id);
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
        outbox.note(id);
        if flush == Flush::Now || outbox.buffer.len() >= HOLD_BACK {
            self.write_out(&mut outbox);
        }
        Ok(())
    }

    /// Sends a reply, unless the server has left more than `limit` of what we sent unread.
    pub(super) fn reply(&self, message: Vec<u8>, limit: usize) -> bool {
        let fits = self.outbox().buffer.len() + message.len() <= limit;
        fits && self.send(message, None, Flush::Now).is_ok()
    }

    pub(super) fn flush(&self) {
        if !self.is_inherited() {
            self.write_out(&mut self.outbox());
        }
    }

    /// The pipe takes bytes again, or nobody reads it any more.
    pub(super) fn write_ready(&self) {
        if self.is_inherited() {
            return;
        }
        let mut outbox = self.outbox();
        let Some(stdin) = &outbox.stdin else { return };
        if !has_reader(stdin) {
            return self.input_closed(&mut outbox);
        }
        if std::mem::take(&mut outbox.waiting) {
            self.write_out(&mut outbox);
            if let (Some(stdin), false) = (&outbox.stdin, outbox.waiting) {
                io::thread().watch_room(self.slot, stdin.as_fd(), false);
            }
        }
    }

    fn write_out(&self, outbox: &mut Outbox) {
        if outbox.waiting || outbox.broken || outbox.buffer.is_empty() {
            return;
        }
        let Some(stdin) = &outbox.stdin else { return };
        match rustix::io::write(stdin, &outbox.buffer) {
            Ok(count) => {
                outbox.written += count as u64;
                if count == outbox.buffer.len() {
                    outbox.buffer.clear();
                    outbox.buffer.shrink_to(64 << 10);
                } else {
                    outbox.buffer.drain(..count);
                    self.arm(outbox);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => self.arm(outbox),
            Err(_) => self.input_closed(outbox),
        }
    }

    fn arm(&self, outbox: &mut Outbox) {
        if let Some(stdin) = &outbox.stdin {
            io::thread().watch_room(self.slot, stdin.as_fd(), true);
            outbox.waiting = true;
        }
    }

    /// Nobody reads any more. A process that ends is about to say so by its exit; one that lives on is lost as well.
    fn input_closed(&self, outbox: &mut Outbox) {
        if std::mem::replace(&mut outbox.broken, true) {
            return;
        }
        if let Some(stdin) = &outbox.stdin {
            io::thread().unwatch(stdin.as_fd());
        }
        let (pipe, exit) = (self.me.clone(), self.process.exit());
        crate::runtime::spawn(async move {
            let _ = tokio::time::timeout(CLOSED_INPUT, exit.wait()).await;
            if let Some(pipe) = pipe.upgrade() {
                pipe.read_out(Closed::Input);
            }
        });
    }

    /// What the server said last is read before its end is told.
    fn read_out(&self, closed: Closed) {
        self.read_waiting();
        self.end(closed);
    }

    /// Reads what is there at this moment, and no more: whoever holds the pipe may write without end.
    pub(crate) fn read_waiting(&self) {
        let waiting = ioctl_fionread(&self.stdout).unwrap_or(0);
        let waiting = usize::try_from(waiting).unwrap_or(usize::MAX).min(LARGEST_PIPE);
        self.read(waiting, waiting);
    }

    /// Which requests were never read, where that can be known: nobody reads any more.
    fn unread(&self) -> Option<Unread> {
        if !cfg!(target_os = "linux") || self.is_inherited() {
            return None;
        }
        let mut outbox = self.outbox();
        let stdin = outbox.stdin.as_ref().filter(|stdin| !has_reader(stdin))?;
        let left = ioctl_fionread(stdin).ok()?;
        // From now on nothing is written, so nothing can be both proved unread and sent.
        outbox.broken = true;
        let read = outbox.written.checked_sub(left)?;
        Some(outbox.positions.unread(read))
    }

    /// Reads for one turn and delivers every complete line.
    pub(crate) fn read_ready(&self) {
        self.read(READ_BUDGET, SHORT_LINES_BUDGET);
    }

    fn read(&self, budget: usize, short_lines_budget: usize) {
        if self.is_inherited() {
            return;
        }
        let Some(inbound) = self.inbound.get().and_then(Weak::upgrade) else {
            return;
        };
        let mut frames = lock(&self.frames);
        if self.ended.load(Ordering::Acquire) {
            return;
        }
        self.touch();
        let (mut total, mut of_short_lines) = (0, 0);
        while total < budget && of_short_lines < short_lines_budget {
            let waiting =
                if frames.is_long() { ioctl_fionread(&self.stdout).unwrap_or(0) } else { 0 };
            let room = frames.room((waiting as usize).min(READ_BUDGET));
            let spare = room.spare_capacity_mut();
            let space = spare.len();
            let count = match rustix::io::read(&self.stdout, spare) {
                Ok((filled, _)) => filled.len(),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                // A pipe that cannot be read has ended.
                Err(_) => 0,
            };
            if count == 0 {
                drop(frames);
                return self.end(Closed::Output);
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
            if !frames.is_long() {
                of_short_lines += count;
            }
            if count < space {
                return;
            }
        }
    }

    /// Tells the end once, with the exit status and the last words when the process is what ended.
    fn end(&self, closed: Closed) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        self.reclaim();
        io::thread().unwatch(self.stdout.as_fd());
        self.note_prompt();
        let inbound = self.inbound.get().cloned();
        let (pipe, rest_ended) = (self.me.clone(), self.process.rest_ended());
        let exit_report = self.process.exit_report(closed);
        crate::runtime::spawn(async move {
            let words = exit_report.await;
            let Some(inbound) = inbound.and_then(|inbound| inbound.upgrade()) else { return };
            let unread = || pipe.upgrade().and_then(|pipe| pipe.unread());
            let mut proof = unread();
            if proof.is_none() && inbound.awaits_answers() {
                // Somebody of the server's group may still read.
                rest_ended.await;
                proof = unread();
            }
            inbound.closed(Error::new(ErrorKind::ConnectionLost, words), proof.as_ref());
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
            if !outbox.waiting && !outbox.broken {
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

/// Whether anybody has the other end of the pipe open.
fn has_reader(stdin: &LocalFd) -> bool {
    let mut fds = [PollFd::new(stdin, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = rustix::event::poll(&mut fds, Some(&now));
    polled.is_err() || !fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// What the pipe holds at most.
fn capacity_of(stdin: &LocalFd) -> usize {
    #[cfg(target_os = "linux")]
    if let Ok(capacity) = rustix::pipe::fcntl_getpipe_size(stdin) {
        return capacity;
    }
    let _ = stdin;
    1 << 20
}

fn gone() -> Error {
    Error::new(ErrorKind::ConnectionLost, "The server closed its input").with_executed(Executed::No)
}
