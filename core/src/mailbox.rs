//! Owns how answers reach a host's event loop: one queue per loop, one wake-up for many letters, drained on the loop's
//! own thread. Our threads never call into the host language. The waiters are in `waiter`. On Linux, pipes can be lent
//! to the loop, which then reads answers itself.
//! Invariant: a posted letter is seen by the next drain, and the descriptor is readable until then; in a forked child
//! nothing is posted or delivered.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::call::Progress;
use crate::descriptors::refused;
use crate::error::{Error, Result};
use crate::fork::ForkGeneration;
use crate::process::PipeEnd;
use crate::question::Question;
use crate::result::ToolResult;
use crate::runtime;
use crate::sync::lock;

mod waiter;
#[cfg_attr(windows, path = "mailbox/wake/windows.rs")]
mod wake;

pub use waiter::Address;
pub(crate) use waiter::{Waiter, WaiterProxy};
pub use wake::RawDescriptor;
use wake::WakeDescriptor;

/// How many progress letters are queued per loop. Beyond that, a call's newest one replaces its previous one.
const PROGRESS: usize = 1024;

/// What a host loop gets for one of its keys.
#[derive(Debug)]
pub enum Letter {
    /// A call's result; the key is done.
    Result(ToolResult),
    /// A verb's answer as JSON; the key is done.
    Json(String),
    /// The verb failed; the key is done.
    Failed(Error),
    /// The call continues; the key stays.
    Progress(Progress),
    /// A question for the waiter of this key; the key stays.
    Question(Question),
}

/// A source of answers that a loop can read on its own thread.
pub(crate) trait LentReader: Send + Sync {
    /// Readable while there is something to read.
    fn pipe(&self) -> &PipeEnd;
    /// Reads for one turn and delivers the answers.
    fn read_ready(&self);
}

/// A writer that holds messages back for a common write.
pub(crate) trait BufferedWriter: Send + Sync {
    /// Sends the messages held back.
    fn flush(&self);
}

/// One host loop's queue.
pub struct Mailbox {
    id: u64,
    made_in: ForkGeneration,
    queue: Mutex<LetterQueue>,
    lent: Mutex<Vec<Arc<dyn LentReader>>>,
    /// The last drain returned several answers, so the calls that follow are sent together.
    busy: AtomicBool,
    held_back: Mutex<BufferedWriters>,
    wake: WakeDescriptor,
}

#[derive(Default)]
struct BufferedWriters {
    writers: Vec<Arc<dyn BufferedWriter>>,
    flush_scheduled: bool,
}

#[derive(Default)]
struct LetterQueue {
    letters: Vec<(u64, Letter)>,
    /// How many of them are progress letters.
    progress: usize,
    /// A drain is running or due, so the loop needs no wake-up.
    expected: bool,
    /// The wake-up descriptor was written.
    signalled: bool,
}

impl LetterQueue {
    fn newest_progress(&mut self, of: u64) -> Option<&mut Progress> {
        self.letters.iter_mut().rev().find_map(|(key, letter)| match letter {
            Letter::Progress(progress) if *key == of => Some(progress),
            _ => None,
        })
    }
}

impl Mailbox {
    /// A mailbox for one event loop.
    pub fn new() -> Result<Arc<Mailbox>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Arc::new(Mailbox {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            made_in: ForkGeneration::current(),
            queue: Mutex::default(),
            lent: Mutex::default(),
            busy: AtomicBool::new(false),
            held_back: Mutex::default(),
            wake: WakeDescriptor::new()
                .map_err(|error| refused("an event loop's mailbox", &error))?,
        }))
    }

    /// Starts a verb whose answer is a letter for `key`; returns a handle to stop it, unless it has ended already.
    pub fn start(
        self: &Arc<Self>,
        key: u64,
        verb: impl Future<Output = Result<String>> + Send + 'static,
    ) -> Option<AbortHandle> {
        let mailbox = self.clone();
        runtime::spawn_verb(verb, move |answer| {
            mailbox.post(key, answer.map_or_else(Letter::Failed, Letter::Json));
        })
    }

    /// Whether it was inherited through a fork: its loop needs another one here.
    pub fn is_inherited(&self) -> bool {
        self.made_in.is_inherited()
    }

    /// Readable while a drain is due. It is open as long as the mailbox.
    pub fn descriptor(&self) -> RawDescriptor {
        self.wake.raw()
    }

    /// Takes all letters. Called on the loop's thread when the descriptor is readable.
    pub fn drain(&self) -> Vec<(u64, Letter)> {
        if self.is_inherited() {
            return Vec::new();
        }
        {
            let mut queue = lock(&self.queue);
            queue.expected = true;
            if std::mem::take(&mut queue.signalled) {
                self.wake.reset();
            }
        }
        let lent = lock(&self.lent).clone();
        for reader in &lent {
            // Limited per drain: the descriptor stays readable, and the loop comes back.
            reader.read_ready();
        }
        let mut queue = lock(&self.queue);
        queue.expected = false;
        queue.progress = 0;
        let letters = std::mem::take(&mut queue.letters);
        self.busy.store(letters.len() > 1, Ordering::Relaxed);
        letters
    }

    /// Whether a call made now is likely to be followed by others in the same iteration of the loop.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Whether messages are held back without a scheduled flush; the loop then schedules one.
    pub fn wants_flush_scheduled(&self) -> bool {
        let mut held_back = lock(&self.held_back);
        !held_back.writers.is_empty() && !std::mem::replace(&mut held_back.flush_scheduled, true)
    }

    /// Sends the messages held back. Called once the loop's current iteration has made all its calls.
    pub fn flush(&self) {
        if self.is_inherited() {
            return;
        }
        let held_back = std::mem::take(&mut *lock(&self.held_back));
        for writer in held_back.writers {
            writer.flush();
        }
    }

    /// Flushes `writer` with the next [`Mailbox::flush`].
    pub(crate) fn flush_later<W: BufferedWriter + 'static>(&self, writer: &Arc<W>) {
        let writers = &mut lock(&self.held_back).writers;
        if !writers.iter().any(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(writer))) {
            writers.push(writer.clone());
        }
    }

    /// Blocks this thread until a letter may have arrived or `limit` has passed; for loops that cannot watch a
    /// descriptor. Returns which of the two happened.
    pub fn wait(&self, limit: Duration) -> bool {
        self.wake.wait(limit)
    }

    /// Posts a letter for `key`.
    pub fn post(&self, key: u64, letter: Letter) {
        if self.is_inherited() {
            return;
        }
        let mut queue = lock(&self.queue);
        let letter = match letter {
            Letter::Progress(progress) if queue.progress >= PROGRESS => {
                match queue.newest_progress(key) {
                    Some(newest) => {
                        *newest = progress;
                        return;
                    }
                    None => Letter::Progress(progress),
                }
            }
            letter => letter,
        };
        queue.progress += usize::from(matches!(letter, Letter::Progress(_)));
        queue.letters.push((key, letter));
        if !queue.expected {
            queue.expected = true;
            queue.signalled = true;
            self.wake.signal();
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether a reader can be lent to the loop's thread.
    pub(crate) fn can_adopt(&self) -> bool {
        self.wake.can_add()
    }

    /// Lends `reader` to the loop's thread; returns whether that succeeded.
    pub(crate) fn adopt<R: LentReader + 'static>(&self, reader: &Arc<R>) -> bool {
        let mut lent = lock(&self.lent);
        let adopted = self.wake.add(reader.pipe());
        if adopted {
            lent.push(reader.clone());
        }
        adopted
    }

    pub(crate) fn release<R: LentReader>(&self, reader: &R) {
        let mut lent = lock(&self.lent);
        self.wake.remove(reader.pipe());
        lent.retain(|lent| !std::ptr::addr_eq(Arc::as_ptr(lent), reader));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(mailbox: &Mailbox) -> bool {
        mailbox.wait(Duration::ZERO)
    }

    #[test]
    fn a_flood_of_progress_is_bounded_and_its_newest_is_kept() {
        let mailbox = Mailbox::new().unwrap();
        let post = |key, at| {
            let progress = Progress { progress: f64::from(at), total: None, message: None };
            mailbox.post(key, Letter::Progress(progress));
        };
        for at in 0..10_000 {
            post(1, at);
        }
        post(2, 7);
        mailbox.post(1, Letter::Json("1".into()));
        let letters = mailbox.drain();
        assert_eq!(letters.len(), PROGRESS + 2);
        let told = |at: usize| match &letters[at] {
            (key, Letter::Progress(progress)) => (*key, progress.progress),
            other => panic!("{other:?}"),
        };
        assert_eq!((told(0), told(PROGRESS - 1)), ((1, 0.0), (1, 9999.0)));
        assert_eq!(told(PROGRESS), (2, 7.0), "another call's first is not lost");
        post(1, 1);
        assert_eq!(mailbox.drain().len(), 1);
    }

    #[test]
    fn many_letters_signal_once_and_drain_whole() {
        let mailbox = Mailbox::new().unwrap();
        assert!(!readable(&mailbox));
        for key in 0..100 {
            mailbox.post(key, Letter::Json("1".into()));
        }
        assert!(readable(&mailbox));
        assert_eq!(mailbox.drain().len(), 100);
        assert!(!readable(&mailbox));
        mailbox.post(7, Letter::Json("1".into()));
        assert!(readable(&mailbox));
    }
}
