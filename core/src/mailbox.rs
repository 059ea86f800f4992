//! Owns the way answers reach a host's event loop: one queue per loop, one wake-up for many letters, drained on the
//! loop's own thread. Our threads never call into the host language.
//! On Linux the loop watches an epoll descriptor, into which pipes can be lent, so that the loop reads answers itself.
//! Invariant: a letter posted is seen by the next drain, and the descriptor is readable until then; in a forked child
//! nothing is posted and nothing comes.

use std::future::Future;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::call::Progress;
use crate::descriptors::refused;
use crate::error::{Error, Result};
use crate::fork::ForkGeneration;
use crate::question::Question;
use crate::result::ToolResult;
use crate::runtime;
use crate::session::Session;
use crate::sync::lock;
use crate::wire::stdio::Pipe;

/// How many letters of progress wait for a loop. Beyond that, a call's newest takes the place of the one before.
const PROGRESS: usize = 1024;

/// What a host loop gets for a key it handed out.
#[derive(Debug)]
pub enum Letter {
    /// A call's result; the key is done.
    Result(ToolResult),
    /// A verb's answer as JSON; the key is done.
    Json(String),
    /// The verb failed; the key is done.
    Failed(Error),
    /// The call goes on; the key stays.
    Progress(Progress),
    /// The core asks something of whoever waits under the key; the key stays.
    Question(Question),
}

/// One host loop's queue.
pub struct Mailbox {
    id: u64,
    made_in: ForkGeneration,
    queue: Mutex<Queue>,
    lent: Mutex<Vec<Arc<Pipe>>>,
    /// The last drain brought several answers: the calls that follow them will leave together.
    busy: AtomicBool,
    /// Sessions that hold messages back for a common write.
    kept_back: Mutex<KeptBack>,
    wake: Wake,
}

#[derive(Default)]
struct KeptBack {
    sessions: Vec<Arc<Session>>,
    scheduled: bool,
}

#[derive(Default)]
struct Queue {
    letters: Vec<(u64, Letter)>,
    /// How many of them are progress.
    progress: usize,
    /// A drain is under way or due: nobody needs to wake the loop.
    expected: bool,
    /// The wake-up descriptor was written.
    rung: bool,
}

impl Queue {
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
            kept_back: Mutex::default(),
            wake: Wake::new().map_err(|error| refused("an event loop's mailbox", &error))?,
        }))
    }

    /// Starts a verb whose answer will be a letter for `key`; gives the way to stop it, unless it has ended already.
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

    /// Whether it came into this process by a fork: its loop needs another one here.
    pub fn is_inherited(&self) -> bool {
        self.made_in.is_inherited()
    }

    /// Readable while a drain is due.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.descriptor()
    }

    /// Takes everything that has arrived. Call it on the loop's thread when the descriptor is readable.
    pub fn drain(&self) -> Vec<(u64, Letter)> {
        if self.is_inherited() {
            return Vec::new();
        }
        {
            let mut queue = lock(&self.queue);
            queue.expected = true;
            if std::mem::take(&mut queue.rung) {
                self.wake.silence();
            }
        }
        let lent = lock(&self.lent).clone();
        for pipe in &lent {
            // A flood is cut: the descriptor stays readable and the loop comes back.
            pipe.read_ready();
        }
        let mut queue = lock(&self.queue);
        queue.expected = false;
        queue.progress = 0;
        let letters = std::mem::take(&mut queue.letters);
        self.busy.store(letters.len() > 1, Ordering::Relaxed);
        letters
    }

    /// Whether a call made now is likely to be followed by others in the same turn of the loop.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Whether messages have been held back for which no flush is scheduled yet; the loop schedules one then.
    pub fn wants_flush_scheduled(&self) -> bool {
        let mut kept_back = lock(&self.kept_back);
        !kept_back.sessions.is_empty() && !std::mem::replace(&mut kept_back.scheduled, true)
    }

    /// Sends what was held back. Call it once the loop's current turn has made all its calls.
    pub fn flush(&self) {
        if self.is_inherited() {
            return;
        }
        let kept_back = std::mem::take(&mut *lock(&self.kept_back));
        for session in kept_back.sessions {
            session.flush();
        }
    }

    pub(crate) fn keep_back(&self, session: &Arc<Session>) {
        let sessions = &mut lock(&self.kept_back).sessions;
        if !sessions.iter().any(|kept| Arc::ptr_eq(kept, session)) {
            sessions.push(session.clone());
        }
    }

    /// Blocks this thread until something may have arrived, or `limit` has passed; for loops that cannot watch a
    /// descriptor. Tells which of the two.
    pub fn wait(&self, limit: Duration) -> bool {
        let limit = rustix::event::Timespec::try_from(limit).ok();
        let descriptor = self.descriptor();
        let mut fds = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, limit.as_ref()).is_ok_and(|ready| ready > 0)
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
            queue.rung = true;
            self.wake.ring();
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Takes `pipe` to read on the loop's thread, where the system allows it.
    pub(crate) fn adopt(&self, pipe: &Arc<Pipe>) -> bool {
        let mut lent = lock(&self.lent);
        let adopted = self.wake.add(pipe.stdout().as_fd());
        if adopted {
            lent.push(pipe.clone());
        }
        adopted
    }

    pub(crate) fn release(&self, pipe: &Pipe) {
        let mut lent = lock(&self.lent);
        self.wake.remove(pipe.stdout().as_fd());
        lent.retain(|lent| !std::ptr::eq(&**lent, pipe));
    }
}

#[cfg(target_os = "linux")]
struct Wake {
    epoll: OwnedFd,
    bell: OwnedFd,
}

#[cfg(target_os = "linux")]
impl Wake {
    fn new() -> std::io::Result<Wake> {
        use rustix::event::{EventfdFlags, epoll, eventfd};
        let wake = Wake {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        wake.add(wake.bell.as_fd());
        Ok(wake)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn add(&self, fd: BorrowedFd<'_>) -> bool {
        use rustix::event::epoll;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN).is_ok()
    }

    fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = rustix::event::epoll::delete(&self.epoll, fd);
    }

    fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn silence(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
    }
}

#[cfg(not(target_os = "linux"))]
struct Wake {
    read: OwnedFd,
    write: OwnedFd,
}

#[cfg(not(target_os = "linux"))]
impl Wake {
    fn new() -> std::io::Result<Wake> {
        let (read, write) = rustix::pipe::pipe()?;
        for fd in [&read, &write] {
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(Wake { read, write })
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }

    fn add(&self, _fd: BorrowedFd<'_>) -> bool {
        false
    }

    fn remove(&self, _fd: BorrowedFd<'_>) {}

    fn ring(&self) {
        let _ = rustix::io::write(&self.write, &[1]);
    }

    fn silence(&self) {
        let _ = rustix::io::read(&self.read, &mut [0u8; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(mailbox: &Mailbox) -> bool {
        let descriptor = mailbox.descriptor();
        let mut fds = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).unwrap() == 1
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
    fn many_letters_ring_once_and_drain_whole() {
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
