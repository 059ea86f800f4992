//! Owns the queue of a manager's events. All readers share it; it is as long as the slowest reader needs, up to a
//! bound.
//! Invariant: each reader gets every event since it joined, once and in order, or a `lost` event.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::{Event, EventKind};
use crate::caller::Identity;
use crate::time::now_ms;

/// How far a reader may lag behind, in events and in bytes of memory.
pub(super) const MAX_EVENTS: usize = 16 << 10;
pub(super) const MAX_BYTES: usize = 32 << 20;
/// The capacity that is kept when a lag is over.
const KEPT_CAPACITY: usize = 256;

#[derive(Default)]
pub(super) struct EventQueue {
    events: VecDeque<QueuedEvent>,
    bytes: usize,
    /// The number of the last event.
    last: u64,
    readers: Vec<ReaderPosition>,
    next_reader: u64,
    closed: bool,
}

struct QueuedEvent {
    event: Arc<Event>,
    size: usize,
}

struct ReaderPosition {
    id: u64,
    /// The number of the event that it reads next.
    next: u64,
}

impl EventQueue {
    /// Adds an event; without a reader it is only counted.
    pub(super) fn push(&mut self, server: &str, identity: Option<&Identity>, kind: EventKind) {
        if self.closed {
            return;
        }
        self.last += 1;
        if self.readers.is_empty() {
            return;
        }
        let identity = identity.map(Identity::to_string);
        let (seq, server) = (self.last, server.to_owned());
        let event = Event { seq, time_ms: now_ms(), server, identity, kind };
        let size = size(&event);
        self.bytes += size;
        self.events.push_back(QueuedEvent { event: Arc::new(event), size });
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            self.pop();
        }
    }

    /// Adds a reader of events from now on; returns its id.
    pub(super) fn join(&mut self) -> u64 {
        self.next_reader += 1;
        self.readers.push(ReaderPosition { id: self.next_reader, next: self.last + 1 });
        self.next_reader
    }

    pub(super) fn leave(&mut self, id: u64) {
        self.readers.retain(|reader| reader.id != id);
        self.forget_read();
    }

    pub(super) fn has_events(&self, id: u64) -> bool {
        self.readers.iter().any(|reader| reader.id == id && reader.next <= self.last)
    }

    /// The next events of a reader, `limit` at most. A `lost` event comes first and counts as one.
    pub(super) fn take(&mut self, id: u64, limit: usize) -> (Option<Event>, Vec<Arc<Event>>) {
        let first = self.first();
        let Some(reader) = self.readers.iter_mut().find(|reader| reader.id == id) else {
            return (None, Vec::new());
        };
        let count = first.saturating_sub(reader.next);
        let lost = (count > 0).then(|| {
            reader.next = first;
            let kind = EventKind::Lost { count };
            let (time_ms, server) = (now_ms(), String::new());
            Event { seq: first - 1, time_ms, server, identity: None, kind }
        });
        let limit = limit - usize::from(lost.is_some());
        let from = (reader.next - first) as usize;
        let waiting = self.events.range(from.min(self.events.len())..).take(limit);
        let events: Vec<_> = waiting.map(|waiting| waiting.event.clone()).collect();
        reader.next += events.len() as u64;
        self.forget_read();
        (lost, events)
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The number of the oldest kept event, or of the next one if none is kept.
    fn first(&self) -> u64 {
        self.last + 1 - self.events.len() as u64
    }

    fn pop(&mut self) {
        if let Some(gone) = self.events.pop_front() {
            self.bytes -= gone.size;
        }
    }

    /// Drops the events that every reader has read.
    fn forget_read(&mut self) {
        let needed = self.readers.iter().map(|reader| reader.next).min().unwrap_or(self.last + 1);
        while self.first() < needed {
            self.pop();
        }
        if self.events.capacity() > KEPT_CAPACITY && self.events.len() < self.events.capacity() / 8
        {
            self.events.shrink_to(KEPT_CAPACITY.max(self.events.len() * 2));
        }
    }
}

/// The memory that one write of the serializer adds beside its bytes: a value takes one to four writes.
const WRITE_OVERHEAD: usize = 16;

/// The approximate memory of an event: many small values take more than one long text.
fn size(event: &Event) -> usize {
    struct SizeCounter(usize);
    impl io::Write for SizeCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() + WRITE_OVERHEAD;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut scales = SizeCounter(size_of::<QueuedEvent>());
    let _ = serde_json::to_writer(&mut scales, event);
    scales.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut EventQueue, count: usize) {
        for _ in 0..count {
            queue.push("s", None, EventKind::ToolsChanged { tool_count: 0 });
        }
    }

    /// The numbers of the events that were read, and how many were reported lost.
    fn read(queue: &mut EventQueue, id: u64, limit: usize) -> (Vec<u64>, u64) {
        let (lost, events) = queue.take(id, limit);
        let count = lost.map_or(0, |event| match event.kind {
            EventKind::Lost { count } => count,
            other => panic!("{other:?}"),
        });
        (events.iter().map(|event| event.seq).collect(), count)
    }

    #[test]
    fn every_reader_gets_all_events_since_it_joined_in_batches() {
        let mut queue = EventQueue::default();
        push(&mut queue, 2);
        let early = queue.join();
        push(&mut queue, 3);
        let late = queue.join();
        push(&mut queue, 1);
        assert_eq!(read(&mut queue, early, 2), (vec![3, 4], 0));
        assert_eq!(read(&mut queue, late, 9), (vec![6], 0));
        assert_eq!(read(&mut queue, early, 9), (vec![5, 6], 0));
        assert_eq!(read(&mut queue, early, 9), (vec![], 0));
        assert!(queue.events.is_empty());
    }

    #[test]
    fn the_queue_grows_with_a_slow_reader_and_shrinks_again() {
        let mut queue = EventQueue::default();
        let reader = queue.join();
        push(&mut queue, MAX_EVENTS);
        let (read, lost) = read(&mut queue, reader, usize::MAX);
        assert_eq!((read.len(), lost), (MAX_EVENTS, 0));
        assert!(queue.events.capacity() <= 2 * KEPT_CAPACITY, "{}", queue.events.capacity());
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn over_the_bound_a_slow_reader_loses_the_oldest_and_gets_a_lost_event_first() {
        let mut queue = EventQueue::default();
        let (slow, quick) = (queue.join(), queue.join());
        push(&mut queue, MAX_EVENTS);
        assert_eq!(read(&mut queue, quick, usize::MAX).0.len(), MAX_EVENTS);
        push(&mut queue, 10);
        assert_eq!(read(&mut queue, quick, 100).1, 0);
        assert_eq!(read(&mut queue, slow, 1), (vec![], 10));
        assert_eq!(read(&mut queue, slow, 2), (vec![11, 12], 0));
        push(&mut queue, MAX_EVENTS);
        assert_eq!(
            read(&mut queue, slow, 2),
            (vec![MAX_EVENTS as u64 + 11], MAX_EVENTS as u64 - 2)
        );
    }

    #[test]
    fn large_events_count_by_their_size() {
        let mut queue = EventQueue::default();
        let reader = queue.join();
        let log = |data: serde_json::Value| EventKind::Log {
            origin: crate::event::LogOrigin::Server,
            level: String::new(),
            logger: None,
            data,
        };
        for _ in 0..1000 {
            queue.push("s", None, log("x".repeat(64 << 10).into()));
        }
        assert!(queue.events.len() < MAX_BYTES >> 16, "{}", queue.events.len());
        let (events, lost) = read(&mut queue, reader, usize::MAX);
        assert_eq!(events.len() as u64 + lost, 1000);
        queue.push("s", None, log(vec![0; 1000].into()));
        assert!(queue.bytes > 1000 * 2 * WRITE_OVERHEAD, "{}", queue.bytes);
    }

    #[test]
    fn a_reader_that_left_keeps_no_events() {
        let mut queue = EventQueue::default();
        let (gone, stays) = (queue.join(), queue.join());
        push(&mut queue, 100);
        assert_eq!(read(&mut queue, stays, 100).0.len(), 100);
        queue.leave(gone);
        assert!(queue.events.is_empty());
        queue.leave(stays);
        push(&mut queue, 5);
        let next = queue.join();
        push(&mut queue, 1);
        assert_eq!(read(&mut queue, next, 9), (vec![106], 0));
    }
}
