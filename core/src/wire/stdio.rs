//! Owns the pipes of one stdio server: lines out to its standard input (`outbox`), lines in from its standard output.
//! Writes happen on the caller's thread while the pipe accepts them; reads happen on the I/O thread (`io`), or on the
//! thread of the only host loop that waits for answers (`loan`).
//! Invariant: a server that no longer reads or writes is lost; a forked child touches neither pipe nor process.

use std::io::ErrorKind as Io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use super::transport::Transport;
use super::{Flush, Inbound, OutgoingMessage, UnreadRequests};
use crate::config::Limits;
use crate::error::{Error, Result, Stage};
use crate::mailbox::Mailbox;
use crate::oauth::Login;
use crate::process::{Closed, PipeEnd, Process, last_output_arrived};
use crate::redact::Mask;
use crate::resolve::ProgramTarget;
use crate::sync::lock;

mod frame;
#[cfg_attr(windows, path = "stdio/windows/io.rs")]
mod io;
// No pipe is lent on Windows.
#[cfg_attr(windows, expect(dead_code))]
mod loan;
mod outbox;
mod unread;

pub(super) use frame::{Frame, Frames};
use loan::Loan;
use outbox::{Outbox, input_closed};

/// The bytes of one turn of reading; other servers are read in between. Short lines are parsed one by one, so less of
/// them is read than of a long line.
const READ_BUDGET: usize = 1 << 20;
const SHORT_LINES_BUDGET: usize = 128 << 10;
/// The default capacity of a pipe.
const LARGEST_PIPE: usize = 1 << 20;

pub(crate) struct StdioLink {
    me: Weak<StdioLink>,
    slot: io::Slot,
    stdout: PipeEnd,
    frames: Mutex<Frames>,
    outbox: Mutex<Outbox>,
    inbound: OnceLock<Weak<dyn Inbound>>,
    ended: AtomicBool,
    loan: Loan,
    process: Process,
}

impl Transport for StdioLink {
    type Target = ProgramTarget;
    const STARTS_PROGRAM: bool = true;
    const OPENING: Stage = Stage::Spawn;
    // Writing to a closed pipe fails immediately.
    const REPORTS_UNSENT_LATER: bool = false;
    const CALLS_END_ALONE: bool = false;

    async fn open(
        ProgramTarget { launch, .. }: ProgramTarget,
        _login: Option<Arc<Login>>,
        limits: &Limits,
    ) -> Result<Arc<StdioLink>> {
        let io = io::start()?;
        let (process, stdin, stdout) = Process::start(launch)?;
        Ok(Arc::new_cyclic(|me: &Weak<StdioLink>| {
            let slot = io.enter(me.clone());
            StdioLink {
                me: me.clone(),
                slot: slot.clone(),
                stdout,
                frames: Mutex::new(Frames::new(limits.message_bytes)),
                outbox: Mutex::new(Outbox::new(me.clone(), slot, process.exit(), stdin)),
                inbound: OnceLock::new(),
                ended: AtomicBool::new(false),
                loan: Loan::new(),
                process,
            }
        }))
    }

    /// Reports the end to `inbound` too: a closed pipe or a dead process.
    fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        let _ = self.inbound.set(inbound);
        io::thread().watch_reads(&self.slot, &self.stdout);
        self.outbox().watch();
        let (link, exit) = (self.me.clone(), self.process.exit());
        crate::runtime::spawn(async move {
            exit.wait().await;
            last_output_arrived().await;
            if let Some(link) = link.upgrade() {
                link.read_and_end(Closed::Output);
            }
        });
    }

    fn send(&self, message: OutgoingMessage, id: Option<u64>, flush: Flush) -> Result<()> {
        self.send_line(message.into_line(), id, flush)
    }

    fn send_control(&self, message: OutgoingMessage, id: u64) -> Result<()> {
        self.send(message, Some(id), Flush::Now)
    }

    /// Refused while the server has left more than the limit unread.
    fn send_reply(&self, message: OutgoingMessage, limits: &Limits) -> bool {
        let line = message.into_line();
        let fits = self.outbox().buffered() + line.len() <= limits.reply_bytes;
        fits && self.send_line(line, None, Flush::Now).is_ok()
    }

    /// A pipe keeps the order. A broken pipe is reported by its end.
    async fn send_and_confirm(&self, message: OutgoingMessage) -> Result<()> {
        let _ = self.send(message, None, Flush::Now);
        Ok(())
    }

    fn flush(&self) {
        if !self.is_inherited() {
            self.outbox().flush();
        }
    }

    fn lend(&self, reader: Option<&Arc<Mailbox>>) {
        match reader {
            Some(mailbox) => self.lend_to(mailbox),
            None => self.reclaim(),
        }
    }

    async fn read_arrived(&self, _late: Duration) {
        self.read_waiting();
    }

    fn note_stray_line(&self, line: &[u8]) {
        self.process.note_stray_line(line);
    }

    fn forget_stray_lines(&self) {
        self.process.forget_stray_lines();
    }

    fn with_output(&self, error: Error) -> Error {
        self.note_prompt();
        self.process.with_output(error)
    }

    fn mask(&self) -> Mask {
        self.process.mask().clone()
    }

    fn pid(&self) -> Option<u32> {
        Some(self.process.pid())
    }

    async fn close(&self) {
        if self.is_inherited() {
            return;
        }
        self.ended.store(true, Ordering::Release);
        self.reclaim();
        io::thread().unwatch(&self.stdout);
        self.outbox().close();
        self.process.end().await;
    }
}

impl StdioLink {
    fn send_line(&self, line: Vec<u8>, id: Option<u64>, flush: Flush) -> Result<()> {
        if self.is_inherited() {
            return Err(input_closed());
        }
        self.outbox().send(line, id, flush)
    }

    /// The pipe is writable again, or has no reader any more.
    fn write_ready(&self) {
        if !self.is_inherited() {
            self.outbox().write_ready();
        }
    }

    /// Reads the server's last output, then reports the end.
    fn read_and_end(&self, closed: Closed) {
        self.read_waiting();
        self.end(closed);
    }

    /// Reads only what is available now: another holder of the pipe may write forever.
    fn read_waiting(&self) {
        let waiting = self.stdout.available().min(LARGEST_PIPE);
        self.read(waiting, waiting);
    }

    /// Which requests were never read, as far as that is known.
    fn take_unread(&self) -> Option<UnreadRequests> {
        if self.is_inherited() { None } else { self.outbox().take_unread() }
    }

    /// Whether that will be known better once the last reader is gone.
    fn has_doubts(&self) -> bool {
        !self.is_inherited() && self.outbox().has_doubts()
    }

    /// Reads for one turn and delivers every complete line.
    fn read_turn(&self) {
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
        self.loan.touch();
        let (mut total, mut of_short_lines) = (0, 0);
        while total < budget && of_short_lines < short_lines_budget {
            let waiting = if frames.is_long() { self.stdout.available() } else { 0 };
            let room = frames.room(waiting.min(READ_BUDGET));
            let space = room.capacity() - room.len();
            let count = match self.stdout.read(room) {
                Ok(count) => count,
                Err(error) if error.kind() == Io::Interrupted => continue,
                Err(error) if error.kind() == Io::WouldBlock => return,
                // A pipe that cannot be read has ended.
                Err(_) => 0,
            };
            if count == 0 {
                drop(frames);
                return self.end(Closed::Output);
            }
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

    /// Reports the end once, with the exit status and last output if the process has ended.
    fn end(&self, closed: Closed) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        self.reclaim();
        io::thread().unwatch(&self.stdout);
        self.note_prompt();
        let inbound = self.inbound.get().cloned();
        let (link, rest_ended) = (self.me.clone(), self.process.rest_ended());
        let report = self.process.exit_report(closed);
        crate::runtime::spawn(async move {
            let error = report.await;
            let Some(inbound) = inbound.and_then(|inbound| inbound.upgrade()) else { return };
            let has_doubts = link.upgrade().is_some_and(|link| link.has_doubts());
            if has_doubts && inbound.awaits_answers() {
                // Another process of the server's group may still read.
                rest_ended.await;
            }
            let proof = link.upgrade().and_then(|link| link.take_unread());
            inbound.closed(error, proof.as_ref());
        });
    }

    /// Output that is not a message may end without a newline.
    fn note_prompt(&self) {
        self.process.note_stray_line(lock(&self.frames).partial());
    }

    fn is_inherited(&self) -> bool {
        self.stdout.is_inherited()
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        lock(&self.outbox)
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        self.reclaim();
        io::thread().unwatch(&self.stdout);
        self.outbox().close();
        io::thread().leave(&self.slot);
        self.process.end_in_background();
    }
}
