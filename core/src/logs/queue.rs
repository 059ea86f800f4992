//! Owns the queue of records between loggers and the one reader.
//! Invariant: the queue is bounded, and a forked child neither adds to its parent's records nor waits for its locks.

use std::collections::VecDeque;
use std::process;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::record::LogRecord;
use crate::sync::lock;

const CAPACITY: usize = 1024;

pub(super) struct LogQueue {
    owner: u32,
    level: ArcSwap<LevelFilter>,
    state: Mutex<LogQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogQueueState {
    records: VecDeque<LogRecord>,
    lost: u64,
    closed: bool,
}

impl LogQueue {
    pub(super) fn new(owner: u32) -> Self {
        let level = ArcSwap::from_pointee(LevelFilter::OFF);
        LogQueue { owner, level, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn level(&self) -> LevelFilter {
        **self.level.load()
    }

    /// Returns whether the level changed.
    pub(super) fn set_level(&self, level: LevelFilter) -> bool {
        if !self.is_ours() {
            return false;
        }
        let state = lock(&self.state);
        !state.closed && *self.level.swap(level.into()) != level
    }

    pub(super) fn wants(&self, level: Level) -> bool {
        level <= self.level() && self.is_ours()
    }

    pub(super) fn push(&self, record: LogRecord) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        if state.records.len() == CAPACITY {
            state.records.pop_front();
            state.lost += 1;
        }
        state.records.push_back(record);
        self.changed.notify_one();
    }

    pub(super) fn take(&self, limit: Duration) -> Option<Vec<LogRecord>> {
        let nothing = |state: &mut LogQueueState| state.records.is_empty() && !state.closed;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(lock(&self.state), limit, nothing)
            .unwrap_or_else(PoisonError::into_inner);
        if state.records.is_empty() && state.closed {
            return None;
        }
        let lost = std::mem::take(&mut state.lost);
        let lost_record = (lost > 0).then(|| {
            let text =
                format!("{lost} log records were lost: they came faster than they were read");
            LogRecord::new(Level::WARN, "mcpool::logs", text)
        });
        Some(lost_record.into_iter().chain(state.records.drain(..)).collect())
    }

    /// The level stays off from now on.
    pub(super) fn close(&self) {
        if self.is_ours() {
            lock(&self.state).closed = true;
            self.level.store(LevelFilter::OFF.into());
            self.changed.notify_all();
        }
    }

    fn is_ours(&self) -> bool {
        self.owner == process::id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: usize) -> LogRecord {
        LogRecord::new(Level::INFO, "mcpool", number.to_string())
    }

    fn texts(batch: Option<Vec<LogRecord>>) -> Vec<String> {
        batch.unwrap().into_iter().map(|record| record.message).collect()
    }

    #[test]
    fn a_slow_reader_loses_the_oldest_and_gets_their_number() {
        let queue = LogQueue::new(process::id());
        (0..CAPACITY + 7).for_each(|number| queue.push(record(number)));
        let batch = texts(queue.take(Duration::ZERO));
        assert_eq!(batch.len(), 1 + CAPACITY);
        assert!(batch[0].starts_with("7 log records were lost"), "{}", batch[0]);
        assert_eq!((&*batch[1], &*batch[CAPACITY]), ("7", "1030"));
        queue.push(record(1));
        assert_eq!(texts(queue.take(Duration::ZERO)), ["1"]);
    }

    #[test]
    fn a_closed_queue_is_read_to_its_end() {
        let queue = LogQueue::new(process::id());
        queue.push(record(1));
        queue.close();
        queue.push(record(2));
        assert_eq!(texts(queue.take(Duration::MAX)), ["1"]);
        assert!(queue.take(Duration::MAX).is_none());
        assert!(!queue.set_level(LevelFilter::INFO));
    }

    #[test]
    fn a_waiting_reader_is_woken() {
        let queue = LogQueue::new(process::id());
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| texts(queue.take(Duration::from_secs(60))));
            queue.push(record(1));
            assert_eq!(reader.join().unwrap(), ["1"]);
            let reader = scope.spawn(|| queue.take(Duration::from_secs(60)));
            queue.close();
            assert!(reader.join().unwrap().is_none());
        });
    }

    #[test]
    fn records_above_the_level_or_of_another_process_are_not_wanted() {
        let queue = LogQueue::new(process::id());
        assert!(!queue.wants(Level::ERROR));
        assert!(queue.set_level(LevelFilter::INFO) && !queue.set_level(LevelFilter::INFO));
        assert!(queue.wants(Level::INFO) && !queue.wants(Level::DEBUG));
        let foreign = LogQueue::new(process::id() + 1);
        foreign.level.store(LevelFilter::TRACE.into());
        assert!(!foreign.wants(Level::ERROR));
    }
}
