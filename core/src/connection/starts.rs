//! Limits how many programs start at the same time. Each takes a permit; the others queue, with awaited ones first. A
//! permit is returned when the server has answered its first request or has ended, or when it has used no CPU for a
//! moment: it then waits for something that more starts do not slow down. While cores are idle, there are more permits.
//! Invariant: a permit, or the place in the queue for it, is returned when its [`StartPermit`] is dropped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::fork::PerProcess;
use crate::platform::portable;
use crate::process::Activity;
use crate::runtime;
use crate::sync::lock;

/// How often starting programs are sampled while others queue.
const SAMPLE: Duration = Duration::from_millis(100);
/// A program without activity in this many samples counts as silent.
const SILENT_SAMPLES: u32 = 3;
/// If activity cannot be measured, a permit is returned after this time.
const BLIND: Duration = Duration::from_secs(1);
/// Permits per core. Starting programs also wait for the disk, so one per core would leave cores idle.
const PERMITS: usize = 4;
/// How many extra permits per core there may be while cores are idle, and after how many idle samples.
const EXTRA_PERMITS: usize = 12;
const IDLE_SAMPLES: u32 = 2;

static STARTS: PerProcess<StartLimiter> = PerProcess::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    StartLimiter(Mutex::new(StartQueue::new(cores)))
});

struct StartLimiter(Mutex<StartQueue>);

/// One attempt's request for a permit.
pub(super) struct StartRequest {
    awaited: AtomicBool,
}

impl StartRequest {
    pub(super) fn new(awaited: bool) -> Arc<StartRequest> {
        Arc::new(StartRequest { awaited: awaited.into() })
    }

    /// Marks the start as awaited.
    pub(super) fn promote(&self) {
        self.awaited.store(true, Ordering::Relaxed);
    }
}

/// A permit to start a program, or the place in the queue for it.
pub(super) struct StartPermit {
    number: u64,
}

impl StartPermit {
    /// Waits for a permit, without a limit.
    pub(super) async fn acquire(request: &Arc<StartRequest>) -> StartPermit {
        let starts = STARTS.get();
        let (number, turn) = lock(&starts.0).enter(request.clone());
        // Made before the wait, so that dropping the future leaves the queue.
        let permit = StartPermit { number };
        if let Some(turn) = turn {
            starts.watch();
            let _ = turn.await;
        }
        permit
    }

    /// The program runs.
    pub(super) fn started(&self, pid: u32) {
        lock(&STARTS.get().0).started(self.number, pid);
    }
}

impl Drop for StartPermit {
    fn drop(&mut self) {
        lock(&STARTS.get().0).leave(self.number);
    }
}

impl StartLimiter {
    /// Samples the starting programs while others queue.
    fn watch(&'static self) {
        if std::mem::replace(&mut lock(&self.0).is_watched, true) {
            return;
        }
        runtime::spawn(async move {
            loop {
                tokio::time::sleep(SAMPLE).await;
                let programs = lock(&self.0).programs();
                let sample = move || {
                    let activities =
                        programs.into_iter().map(|(number, pid)| (number, Activity::sample(pid)));
                    (activities.collect::<Vec<_>>(), running_tasks())
                };
                let sampled = runtime::handle().spawn_blocking(sample).await;
                let (activities, running) = sampled.unwrap_or_default();
                let mut queue = lock(&self.0);
                queue.note_programs(activities);
                queue.note_machine(running);
                queue.grant_permits();
                if queue.waiting.is_empty() {
                    queue.is_watched = false;
                    return;
                }
            }
        });
    }
}

/// The bookkeeping, without waiting.
struct StartQueue {
    cores: usize,
    permits: usize,
    /// How many samples in a row found idle cores while others queued.
    idle_samples: u32,
    last: u64,
    /// The holders of a permit.
    starting: HashMap<u64, Option<StartedProgram>>,
    /// The queue, in order of arrival.
    waiting: Vec<QueuedStart>,
    is_watched: bool,
}

struct QueuedStart {
    number: u64,
    request: Arc<StartRequest>,
    turn: oneshot::Sender<()>,
}

struct StartedProgram {
    pid: u32,
    since: Instant,
    activity: Option<Activity>,
    silent_samples: u32,
}

impl StartQueue {
    fn new(cores: usize) -> StartQueue {
        StartQueue {
            cores,
            permits: PERMITS * cores,
            idle_samples: 0,
            last: 0,
            starting: HashMap::new(),
            waiting: Vec::new(),
            is_watched: false,
        }
    }

    /// Takes a permit, or a place in the queue with a receiver that signals the permit.
    fn enter(&mut self, request: Arc<StartRequest>) -> (u64, Option<oneshot::Receiver<()>>) {
        self.last += 1;
        let number = self.last;
        if self.starting.len() < self.permits {
            self.starting.insert(number, None);
            return (number, None);
        }
        let (turn, told) = oneshot::channel();
        self.waiting.push(QueuedStart { number, request, turn });
        (number, Some(told))
    }

    fn leave(&mut self, number: u64) {
        self.starting.remove(&number);
        self.waiting.retain(|waiting| waiting.number != number);
        if self.waiting.is_empty() {
            (self.permits, self.idle_samples) = (PERMITS * self.cores, 0);
        }
        self.grant_permits();
    }

    fn started(&mut self, number: u64, pid: u32) {
        if let Some(program) = self.starting.get_mut(&number) {
            let since = Instant::now();
            *program = Some(StartedProgram { pid, since, activity: None, silent_samples: 0 });
        }
    }

    fn programs(&self) -> Vec<(u64, u32)> {
        let program = |(&number, program): (&u64, &Option<StartedProgram>)| {
            program.as_ref().map(|program| (number, program.pid))
        };
        self.starting.iter().filter_map(program).collect()
    }

    /// Returns the permits of programs that are silent or gone.
    fn note_programs(&mut self, activities: Vec<(u64, Option<Activity>)>) {
        for (number, activity) in activities {
            let Some(Some(program)) = self.starting.get_mut(&number) else { continue };
            let is_silent = match activity {
                Some(activity) => {
                    let moved = activity.is_running || program.activity != Some(activity);
                    program.silent_samples = if moved { 0 } else { program.silent_samples + 1 };
                    program.activity = Some(activity);
                    program.silent_samples >= SILENT_SAMPLES
                }
                None => program.since.elapsed() >= BLIND,
            };
            if is_silent {
                self.starting.remove(&number);
            }
        }
    }

    /// Adds permits while half of the cores are idle: the starting programs then wait for something else.
    fn note_machine(&mut self, running: Option<usize>) {
        let is_idle = running.is_some_and(|running| running <= (self.cores / 2).max(1));
        self.idle_samples = if is_idle { self.idle_samples + 1 } else { 0 };
        if self.idle_samples >= IDLE_SAMPLES {
            self.permits = (self.permits + self.cores).min((PERMITS + EXTRA_PERMITS) * self.cores);
        }
    }

    fn grant_permits(&mut self) {
        while !self.waiting.is_empty() && self.starting.len() < self.permits {
            let is_awaited =
                |waiting: &QueuedStart| waiting.request.awaited.load(Ordering::Relaxed);
            let next = self.waiting.iter().position(is_awaited).unwrap_or(0);
            let QueuedStart { number, turn, .. } = self.waiting.remove(next);
            self.starting.insert(number, None);
            // A start that is gone in the meantime leaves through its `StartPermit`.
            let _ = turn.send(());
        }
    }
}

/// How many tasks of the machine are running or runnable, including this one; `None` if that cannot be read, as by
/// portable means.
fn running_tasks() -> Option<usize> {
    if portable() {
        return None;
    }
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue with two permits.
    fn queue() -> StartQueue {
        StartQueue { permits: 2, ..StartQueue::new(0) }
    }

    fn enter(queue: &mut StartQueue, awaited: bool) -> (u64, Option<oneshot::Receiver<()>>) {
        queue.enter(StartRequest::new(awaited))
    }

    fn activity(ticks: u64) -> Option<Activity> {
        Some(Activity { ticks, is_running: false })
    }

    /// The numbers of the queued requests.
    fn waiting(queue: &StartQueue) -> Vec<u64> {
        queue.waiting.iter().map(|waiting| waiting.number).collect()
    }

    #[test]
    fn starts_without_a_permit_queue_in_order() {
        let mut queue = queue();
        assert!((0..2).all(|_| enter(&mut queue, true).1.is_none()));
        let turns: Vec<_> = (0..2).map(|_| enter(&mut queue, true).1.unwrap()).collect();
        assert_eq!(waiting(&queue), [3, 4]);
        queue.leave(1);
        assert_eq!(waiting(&queue), [4]);
        drop(turns);
        queue.leave(4);
        queue.leave(3);
        assert_eq!(queue.starting.len(), 1, "whoever gave up has no permit");
    }

    #[test]
    fn awaited_starts_come_first() {
        let mut queue = queue();
        (0..2).for_each(|_| drop(enter(&mut queue, true)));
        let background = StartRequest::new(false);
        let _turn = queue.enter(background.clone());
        let _turns: Vec<_> = [false, true, true].map(|awaited| enter(&mut queue, awaited)).into();
        queue.leave(1);
        assert_eq!(waiting(&queue), [3, 4, 6]);
        background.promote();
        queue.leave(2);
        assert_eq!(waiting(&queue), [4, 6], "somebody has come to wait for it");
        queue.leave(3);
        queue.leave(5);
        assert_eq!(waiting(&queue), [0; 0]);
    }

    #[test]
    fn a_program_without_activity_loses_its_permit() {
        let mut queue = queue();
        (0..3).for_each(|_| drop(enter(&mut queue, true)));
        queue.started(1, 11);
        queue.started(2, 22);
        assert_eq!(queue.programs().len(), 2);
        for sample in 0..=u64::from(SILENT_SAMPLES) {
            assert_eq!(waiting(&queue), [3]);
            queue.note_programs(vec![(1, activity(7)), (2, activity(sample))]);
        }
        queue.grant_permits();
        assert!(waiting(&queue).is_empty());
        assert_eq!(queue.programs(), [(2, 22)], "the one that works has kept its permit");
        queue.leave(1);
        assert_eq!(queue.starting.len(), 2, "a permit is given back once");
    }

    #[test]
    fn there_are_more_permits_only_while_cores_are_idle() {
        let mut queue = StartQueue { permits: 2, ..StartQueue::new(4) };
        let _turns: Vec<_> = (0..20).map(|_| enter(&mut queue, true)).collect();
        let mut look = |running| {
            queue.note_machine(running);
            queue.grant_permits();
            queue.starting.len()
        };
        assert_eq!([Some(9), None, Some(2), Some(9), Some(2)].map(&mut look), [2; 5]);
        assert_eq!([Some(2), Some(2), Some(3)].map(&mut look), [6, 10, 10]);
        assert_eq!((0..100).map(|_| look(Some(0))).max(), Some(20));
        assert_eq!(queue.permits, (PERMITS + EXTRA_PERMITS) * 4);
    }

    #[test]
    fn a_program_that_waits_for_a_core_is_not_silent() {
        let mut queue = queue();
        (0..3).for_each(|_| drop(enter(&mut queue, true)));
        queue.started(1, 11);
        for _ in 0..10 {
            queue.note_programs(vec![(1, Some(Activity { ticks: 7, is_running: true }))]);
        }
        assert_eq!(waiting(&queue), [3]);
    }
}
