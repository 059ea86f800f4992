//! The ledger of calls: each is entered once and has to end once. All its memory is allocated at the start, so that the
//! ledger itself is not taken for a leak.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use mcpool::{ErrorKind, Executed, Result, ToolResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Ok,
    /// The caller did not wait for it.
    GivenUp,
    /// An answer that belongs to another call.
    Wrong,
    Failed(ErrorKind, Option<Executed>),
}

/// What a call asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Echo,
    /// It is in flight for a while, so that something can happen to it.
    Sleep,
}

impl Task {
    pub(super) fn of(key: usize) -> Task {
        if key % 4 == 3 { Task::Sleep } else { Task::Echo }
    }
}

struct Entry {
    ends: AtomicU8,
    how: AtomicU8,
    micros: AtomicU32,
}

pub(super) struct Ledger {
    entries: Vec<Entry>,
    next: AtomicUsize,
    opened: Instant,
}

const OK: u8 = 0;
const WRONG: u8 = 1;
const GIVEN_UP: u8 = 2;
const FAILED: u8 = 3;
const EXECUTED: [Option<Executed>; 4] =
    [None, Some(Executed::No), Some(Executed::Yes), Some(Executed::Unknown)];

impl Ledger {
    pub(super) fn new(room: usize) -> Ledger {
        let untouched = || Entry { ends: 0.into(), how: u8::MAX.into(), micros: u32::MAX.into() };
        let entries = std::iter::repeat_with(untouched).take(room).collect();
        Ledger { entries, next: AtomicUsize::new(0), opened: Instant::now() }
    }

    /// A new call, unless the ledger is full.
    pub(super) fn begin(&self) -> Option<usize> {
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        let entry = self.entries.get(key)?;
        entry.micros.store(self.now(), Ordering::Relaxed);
        Some(key)
    }

    pub(super) fn give_up(&self, key: usize) {
        self.note(key, GIVEN_UP);
    }

    /// `expected` is what a good answer says.
    pub(super) fn end(&self, key: usize, outcome: &Result<ToolResult>, expected: &str) {
        let how = match outcome {
            Ok(result) if result.text() == expected => OK,
            Ok(_) => WRONG,
            Err(error) => {
                let place = |found: Option<usize>| found.expect("it is in the list") as u8;
                let kind = place(ErrorKind::ALL.iter().position(|kind| *kind == error.kind()));
                let executed = place(EXECUTED.iter().position(|one| *one == error.executed()));
                FAILED + 4 * kind + executed
            }
        };
        self.note(key, how);
    }

    fn note(&self, key: usize, how: u8) {
        let entry = &self.entries[key];
        let took = self.now().wrapping_sub(entry.micros.load(Ordering::Relaxed));
        entry.micros.store(took, Ordering::Relaxed);
        entry.how.store(how, Ordering::Relaxed);
        entry.ends.fetch_add(1, Ordering::Release);
    }

    /// Wraps after an hour; differences stay correct.
    fn now(&self) -> u32 {
        self.opened.elapsed().as_micros() as u32
    }

    pub(super) fn len(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(self.entries.len())
    }

    /// How often each call has ended, and its last outcome.
    pub(super) fn ends(&self) -> impl Iterator<Item = (u8, Option<End>)> {
        self.entries[..self.len()].iter().map(|entry| {
            let end = match entry.how.load(Ordering::Relaxed) {
                u8::MAX => None,
                OK => Some(End::Ok),
                WRONG => Some(End::Wrong),
                GIVEN_UP => Some(End::GivenUp),
                how => {
                    let (kind, executed) = ((how - FAILED) / 4, (how - FAILED) % 4);
                    Some(End::Failed(ErrorKind::ALL[kind as usize], EXECUTED[executed as usize]))
                }
            };
            (entry.ends.load(Ordering::Acquire), end)
        })
    }

    /// The number of calls by outcome; errors by their code and whether the tool ran.
    pub(super) fn by_end(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (_, end) in self.ends() {
            let name = match end {
                None => "(none)".to_owned(),
                Some(End::Ok) => "ok".to_owned(),
                Some(End::Wrong) => "(wrong answer)".to_owned(),
                Some(End::GivenUp) => "given up".to_owned(),
                Some(End::Failed(kind, executed)) => {
                    let executed = executed.map_or("not said".into(), |one| format!("{one:?}"));
                    format!("{}, executed: {}", kind.code(), executed.to_lowercase())
                }
            };
            *counts.entry(name).or_insert(0) += 1;
        }
        counts
    }

    /// A quantile of the latency of good answers, in milliseconds, for calls that the server answers at once.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let prompt = self.entries[..self.len()].iter().enumerate();
        let prompt = prompt.filter(|(key, _)| Task::of(*key) == Task::Echo).map(|(_, entry)| entry);
        let good = prompt.filter(|entry| entry.how.load(Ordering::Relaxed) == OK);
        let mut took: Vec<u32> = good.map(|entry| entry.micros.load(Ordering::Relaxed)).collect();
        took.sort_unstable();
        let at = (took.len() as f64 * part) as usize;
        took.get(at.min(took.len().saturating_sub(1))).map_or(0.0, |&us| f64::from(us) / 1000.0)
    }
}
