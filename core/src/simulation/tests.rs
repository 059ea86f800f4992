use std::panic::{AssertUnwindSafe, catch_unwind};

use super::checks::Reached;
use super::session;

/// `SOAK_SESSIONS` asks for more.
const SESSIONS: u64 = 10_000;

/// The seed of one session that failed, to run it alone.
const SEED: &str = "SIMULATION_SEED";

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

#[test]
fn random_sessions_keep_every_promise() {
    let seeds = match (number(SEED), number("SOAK_SESSIONS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, sessions) => 0..sessions.unwrap_or(SESSIONS),
    };
    let mut reached = Reached::default();
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| session::run(seed, &mut reached))) {
            let words = panic.downcast::<String>().map_or_else(|_| "a panic".to_owned(), |it| *it);
            panic!("the session of {SEED}={seed} failed: {words}");
        }
    }
    if number(SEED).is_some() {
        return;
    }
    let outcomes: Vec<&str> = reached.outcomes.keys().map(String::as_str).collect();
    let expected = [
        "CLOSED",
        "CONFIG_CONFLICT",
        "CONNECTION_LOST",
        "CONNECT_FAILED",
        "TOOL_REJECTED",
        "TOOL_TIMEOUT",
        "TOOL_UNAVAILABLE",
        "cancelled",
        "mcp_restart_failed",
        "mcp_restart_in_progress",
        "ok",
    ];
    assert_eq!(outcomes, expected, "the outcomes of calls");
    assert!(reached.repeated > 0, "no call was repeated");
    assert!(reached.restarts > 0, "no server was restarted");
    assert!(reached.tasks > 0, "no task has ended");
    assert!(reached.questions > 0, "no question was answered");
}
