//! Owns how many sockets the messages of one link may use. Calls beyond that wait for a free socket, each within its
//! own deadline. Control requests do not wait: a probe must get through while all sockets are busy.
//! Invariant: a call that waits here was not sent, and one that is withdrawn while it waits is never sent.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Version;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::sync::lock;

/// For calls under way.
pub(super) const CALLS: usize = 100;
/// For notifications.
const NOTIFICATIONS: usize = 16;

pub(super) struct Sockets {
    calls: Semaphore,
    notifications: Semaphore,
    waiting: Mutex<HashSet<u64>>,
    /// Signalled by each call that starts to wait.
    bell: Notify,
    /// The server speaks HTTP/2: all messages share one socket.
    shared: AtomicBool,
}

/// The caller cancelled before there was a socket.
pub(super) struct Withdrawn;

impl Sockets {
    pub(super) fn new() -> Self {
        Sockets {
            calls: Semaphore::new(CALLS),
            notifications: Semaphore::new(NOTIFICATIONS),
            waiting: Mutex::default(),
            bell: Notify::new(),
            shared: AtomicBool::new(false),
        }
    }

    /// A socket for this call.
    pub(super) async fn for_call(&self, id: u64) -> Result<Option<SemaphorePermit<'_>>, Withdrawn> {
        if self.shared.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if let Ok(free) = self.calls.try_acquire() {
            return Ok(Some(free));
        }
        let waiting = Waiting::begin(self, id);
        self.bell.notify_waiters();
        let free = self.calls.acquire().await.ok();
        if waiting.end() { Ok(free) } else { Err(Withdrawn) }
    }

    pub(super) async fn for_notification(&self) -> Option<SemaphorePermit<'_>> {
        self.notifications.acquire().await.ok()
    }

    /// Withdraws a call that has no socket yet; returns whether it was waiting.
    pub(super) fn withdraw(&self, id: u64) -> bool {
        lock(&self.waiting).remove(&id)
    }

    /// Resolves when a call waits for a socket.
    pub(super) async fn wanted(&self) {
        let rung = self.bell.notified();
        if lock(&self.waiting).is_empty() {
            rung.await;
        }
    }

    /// Records the HTTP version of a response.
    pub(super) fn note(&self, version: Version) {
        if version == Version::HTTP_2 {
            self.shared.store(true, Ordering::Relaxed);
        }
    }
}

/// A call's place in the queue, returned when this is dropped.
struct Waiting<'a> {
    sockets: &'a Sockets,
    id: u64,
}

impl<'a> Waiting<'a> {
    fn begin(sockets: &'a Sockets, id: u64) -> Self {
        lock(&sockets.waiting).insert(id);
        Waiting { sockets, id }
    }

    /// Whether it is still in the queue.
    fn end(self) -> bool {
        self.sockets.withdraw(self.id)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.sockets.withdraw(self.id);
    }
}
