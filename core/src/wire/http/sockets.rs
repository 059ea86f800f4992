//! Owns how many sockets the messages of one link may use: a few while calls are answered quickly, and one more for each
//! call that waits while no other one ends, or waits for long, up to a limit. Calls beyond that wait for a free socket, each within its own
//! deadline. Control requests do not wait: a probe must get through while all sockets are busy.
//! Invariant: a call that waits here was not sent, and one that is withdrawn while it waits is never sent.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::Version;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::sync::lock;

/// The sockets for calls, at most.
pub(super) const CALLS: usize = 100;
/// The sockets for calls while calls are answered quickly. With the standing stream and a dial that was overtaken by a free
/// socket there are eight.
const FEW_CALLS: usize = 6;
/// A call that waits for this long while no other one ends adds a socket: the calls in flight are slow.
const STANDSTILL: Duration = Duration::from_millis(50);
/// A call that waits for this long adds a socket in any case.
const LONG_WAIT: Duration = Duration::from_millis(500);
/// The sockets for notifications.
const NOTIFICATIONS: usize = 16;

pub(super) struct Sockets {
    calls: Semaphore,
    /// When a call last gave its socket back.
    freed_at: Mutex<Instant>,
    /// How many permits `calls` has in all.
    open_to_calls: Mutex<usize>,
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
            calls: Semaphore::new(FEW_CALLS),
            freed_at: Mutex::new(Instant::now()),
            open_to_calls: Mutex::new(FEW_CALLS),
            notifications: Semaphore::new(NOTIFICATIONS),
            waiting: Mutex::default(),
            bell: Notify::new(),
            shared: AtomicBool::new(false),
        }
    }

    /// A socket for this call.
    pub(super) async fn for_call(&self, id: u64) -> Result<Option<CallSocket<'_>>, Withdrawn> {
        if self.shared.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if let Ok(free) = self.calls.try_acquire() {
            self.shrink_if_quiet();
            return Ok(Some(CallSocket { sockets: self, _permit: free }));
        }
        let waiting = QueuedCall::enter(self, id);
        self.bell.notify_waiters();
        let (began, mut free) = (Instant::now(), pin!(self.calls.acquire()));
        let free = loop {
            match timeout(STANDSTILL, &mut free).await {
                Ok(free) => break free,
                Err(_) => {
                    let stands_still = lock(&self.freed_at).elapsed() >= STANDSTILL;
                    if stands_still || began.elapsed() >= LONG_WAIT {
                        self.grow();
                    }
                }
            }
        };
        let free = free.ok().map(|_permit| CallSocket { sockets: self, _permit });
        if waiting.leave() { Ok(free) } else { Err(Withdrawn) }
    }

    fn grow(&self) {
        let mut open = lock(&self.open_to_calls);
        if *open < CALLS {
            *open += 1;
            self.calls.add_permits(1);
        }
    }

    /// Returns to a few sockets once only the caller's call is under way.
    fn shrink_if_quiet(&self) {
        if self.calls.available_permits() < FEW_CALLS {
            return;
        }
        let mut open = lock(&self.open_to_calls);
        if self.calls.available_permits() + 1 == *open {
            *open -= self.calls.forget_permits(*open - FEW_CALLS);
        }
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
    pub(super) fn note_version(&self, version: Version) {
        if version == Version::HTTP_2 {
            self.shared.store(true, Ordering::Relaxed);
        }
    }
}

/// The socket of a call.
pub(super) struct CallSocket<'a> {
    sockets: &'a Sockets,
    _permit: SemaphorePermit<'a>,
}

impl Drop for CallSocket<'_> {
    fn drop(&mut self) {
        *lock(&self.sockets.freed_at) = Instant::now();
    }
}

/// A call's place in the queue, given up when this is dropped.
struct QueuedCall<'a> {
    sockets: &'a Sockets,
    id: u64,
}

impl<'a> QueuedCall<'a> {
    fn enter(sockets: &'a Sockets, id: u64) -> Self {
        lock(&sockets.waiting).insert(id);
        QueuedCall { sockets, id }
    }

    /// Whether it is still in the queue.
    fn leave(self) -> bool {
        self.sockets.withdraw(self.id)
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.sockets.withdraw(self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::runtime::block_on;

    #[test]
    fn slow_calls_get_more_sockets_until_the_link_is_quiet() {
        let sockets = Sockets::new();
        block_on(async {
            let calls = (0..CALLS as u64).map(|id| sockets.for_call(id));
            let held = join_all(calls).await;
            assert_eq!(*lock(&sockets.open_to_calls), CALLS);
            let one_more = timeout(STANDSTILL * 2, sockets.for_call(1000));
            assert!(one_more.await.is_err(), "all are taken");
            drop(held);
            let _one = sockets.for_call(1001).await;
        });
        assert_eq!(*lock(&sockets.open_to_calls), FEW_CALLS);
    }

    #[test]
    fn fast_calls_share_a_few_sockets() {
        let sockets = Sockets::new();
        let call = async |id| {
            let _socket = sockets.for_call(id).await;
            tokio::task::yield_now().await;
        };
        block_on(join_all((0..100).map(call)));
        assert_eq!(*lock(&sockets.open_to_calls), FEW_CALLS);
    }
}
