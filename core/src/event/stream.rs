//! Owns delivering events: one log per manager, and the streams that read it. A slow reader loses the oldest events and
//! learns how many; no writer waits for it.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::queue::EventQueue;
use super::{Event, EventKind};
use crate::caller::Identity;
use crate::fork::ProcessLocal;
use crate::sync::lock;

/// The most events that are delivered at once.
const BATCH: usize = 256;

/// The sending side, one per manager.
#[derive(Default)]
pub(crate) struct EventLog(Arc<EventChannel>);

/// What the log of a manager shares with its readers.
#[derive(Default)]
struct EventChannel {
    queue: Mutex<EventQueue>,
    changed: Notify,
}

impl EventChannel {
    fn emit(&self, server: &str, identity: Option<&Identity>, kind: EventKind) {
        lock(&self.queue).push(server, identity, kind);
        self.changed.notify_waiters();
    }
}

impl EventLog {
    pub(crate) fn emit(&self, server: &str, kind: EventKind) {
        self.0.emit(server, None, kind);
    }

    /// Emits an event about the connection of an identity.
    pub(crate) fn emit_for(&self, server: &str, identity: Option<&Identity>, kind: EventKind) {
        self.0.emit(server, identity, kind);
    }

    pub(crate) fn subscribe(&self) -> Events {
        let id = lock(&self.0.queue).join();
        Events { channel: ProcessLocal::new(self.0.clone()), id, lost: AtomicU64::new(0) }
    }

    /// Every stream ends after the events that were already sent.
    pub(crate) fn close(&self) {
        lock(&self.0.queue).close();
        self.0.changed.notify_waiters();
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.close();
    }
}

/// A stream of the events since it was created.
pub struct Events {
    channel: ProcessLocal<Arc<EventChannel>>,
    id: u64,
    lost: AtomicU64,
}

impl Events {
    /// The next event; `None` when the manager is gone. Concurrent callers get different events.
    pub async fn next(&self) -> Option<Event> {
        while self.ready().await {
            if let Some(event) = self.take_up_to(1).pop() {
                return Some(event);
            }
        }
        None
    }

    /// Waits until [`Events::take`] has events; false when the manager is gone. Cancelling it loses nothing.
    pub async fn ready(&self) -> bool {
        // Events of a parent process never arrive in a forked child.
        if self.channel.is_inherited() {
            return false;
        }
        loop {
            let mut notified = pin!(self.channel.changed.notified());
            // Registered before the check, so that no event is missed in between.
            notified.as_mut().enable();
            {
                let queue = lock(&self.channel.queue);
                if queue.has_events(self.id) {
                    return true;
                }
                if queue.is_closed() {
                    return false;
                }
            }
            notified.await;
        }
    }

    /// The events since the last call, a few hundred at most; empty if there are none.
    pub fn take(&self) -> Vec<Event> {
        self.take_up_to(BATCH)
    }

    fn take_up_to(&self, limit: usize) -> Vec<Event> {
        if self.channel.is_inherited() {
            return Vec::new();
        }
        let (lost, events) = lock(&self.channel.queue).take(self.id, limit);
        if let Some(Event { kind: EventKind::Lost { count }, .. }) = lost {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
        lost.into_iter().chain(events.into_iter().map(Arc::unwrap_or_clone)).collect()
    }

    /// How many events this reader has lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if !self.channel.is_inherited() {
            lock(&self.channel.queue).leave(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue;
    use super::*;

    #[tokio::test]
    async fn a_slow_reader_loses_the_oldest_and_gets_a_lost_event() {
        let log = EventLog::default();
        let events = log.subscribe();
        for _ in 0..queue::MAX_EVENTS + 10 {
            log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
        }
        let read = events.next().await.unwrap();
        assert!(matches!(read.kind, EventKind::Lost { count: 10 }), "{read:?}");
        assert_eq!((read.seq, events.lost()), (10, 10));
        assert_eq!(events.next().await.unwrap().seq, 11);
    }

    #[tokio::test]
    async fn a_reader_that_gives_up_waiting_loses_nothing() {
        let log = EventLog::default();
        let events = log.subscribe();
        for number in 1..100 {
            let waits = std::future::poll_fn(|cx| {
                let _ = pin!(events.next()).poll(cx);
                std::task::Poll::Ready(())
            });
            waits.await;
            log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
            assert_eq!(events.next().await.unwrap().seq, number);
        }
    }

    #[tokio::test]
    async fn the_stream_ends_with_the_manager() {
        let log = EventLog::default();
        let events = log.subscribe();
        drop(log);
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn a_closed_log_is_read_to_its_end() {
        let log = EventLog::default();
        let events = log.subscribe();
        log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
        log.close();
        assert_eq!(events.next().await.unwrap().seq, 1);
        assert!(events.next().await.is_none());
        assert!(log.subscribe().next().await.is_none());
    }
}
