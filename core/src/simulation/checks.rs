//! Says what must hold in a simulated session, by the invariants of `ARCHITECTURE.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::task::JoinHandle;

use super::server::done;
use super::session::{CallEnd, SimulatedSession};
use crate::error::Executed;
use crate::runtime;
use crate::wire::scripted::Script;

/// How many rounds of the runtime an end may take.
const PATIENCE: usize = 500;

/// What the sessions have come to, so that a test sees whether they go everywhere.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// How many calls ended so.
    pub(super) outcomes: BTreeMap<String, u64>,
    /// How many calls ran twice, which they may.
    pub(super) repeated: u64,
    pub(super) restarts: u64,
    /// How many tasks were seen to end, and how many calls came again with answers.
    pub(super) tasks: u64,
    pub(super) questions: u64,
}

/// After every step.
pub(super) fn holds_always(session: &SimulatedSession) {
    let (dials, links) = session.server.script.most();
    assert!(dials <= 1, "{dials} attempts for one name at one time");
    // A lost remote link may still end its calls while the next one works.
    assert!(links <= 1 || session.is_remote, "{links} links for one name at one time");
}

/// When nothing is about to change: no call is counted that has ended.
pub(super) fn counts_are_true(session: &SimulatedSession) {
    let is_open = |end: &CallEnd| matches!(end, CallEnd::Open(task) if !task.is_finished());
    let open = session.calls.iter().filter(|call| is_open(&call.end)).count() as u64;
    for manager in &session.managers {
        let calls = manager.status().remove(0).calls;
        let (in_flight, queued) = (calls.in_flight, calls.queued);
        assert!(in_flight + queued <= open, "{in_flight} and {queued} of {open} calls");
    }
}

/// Once everything was closed.
pub(super) fn holds_at_the_end(session: &SimulatedSession, reached: &mut Reached) {
    for call in &session.calls {
        let runs = session.server.runs.get(&call.key).copied().unwrap_or(0);
        let most = if call.is_repeatable { 2 } else { 1 };
        assert!(runs <= most, "call {} ran {runs} times", call.key);
        reached.repeated += u64::from(runs > 1);
        let outcome = match &call.end {
            CallEnd::Open(_) => panic!("call {} has no outcome", call.key),
            CallEnd::Cancelled => "cancelled",
            CallEnd::Ended(Ok(result)) => {
                assert_eq!(result.text(), done(call.key), "not the answer: {}", result.json());
                assert!(runs > 0, "call {} has an answer and did not run", call.key);
                "ok"
            }
            CallEnd::Ended(Err(error)) => {
                let is_unrun = error.executed() == Some(Executed::No);
                assert!(!is_unrun || runs == 0, "call {} ran: {error:?}", call.key);
                error.code()
            }
        };
        *reached.outcomes.entry(outcome.to_owned()).or_default() += 1;
    }
    reached.tasks += session.server.ended_tasks;
    reached.questions += session.server.answered_questions;
    for manager in &session.managers {
        let calls = manager.status().remove(0).calls;
        assert_eq!((calls.in_flight, calls.queued), (0, 0), "calls are still counted");
        assert!(calls.ok <= session.calls.len() as u64, "a call was counted twice");
    }
}

/// Waits for the end of all tasks.
pub(super) async fn end_in_time(tasks: Vec<(&str, JoinHandle<()>)>) {
    for (what, mut task) in tasks {
        end_of(what, &mut task).await;
    }
}

/// Waits for the end of a task, for some rounds of the runtime.
pub(super) async fn end_of<T>(what: &str, task: &mut JoinHandle<T>) -> T {
    for _ in 0..PATIENCE {
        if let Some(end) = (&mut *task).now_or_never() {
            return end.expect("no panic");
        }
        runtime::yield_turns(1).await;
    }
    panic!("{what} did not end");
}

/// The server's end of every link was ended.
pub(super) async fn no_link_is_left(script: &Arc<Script>) {
    for _ in 0..PATIENCE {
        if script.links().is_empty() {
            return;
        }
        runtime::yield_turns(1).await;
    }
    panic!("{} links are left", script.links().len());
}

/// No more tasks are alive than at the beginning.
pub(super) async fn nothing_runs_on(tasks: usize) {
    for _ in 0..PATIENCE {
        if runtime::alive_tasks() <= tasks {
            return;
        }
        runtime::yield_turns(1).await;
    }
    panic!("{} tasks are left", runtime::alive_tasks() - tasks);
}
