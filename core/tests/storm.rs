//! Hazard: under load, while servers die, freeze and recover, a call is lost or runs twice, or something leaks.

mod common;
#[path = "storm/plan.rs"]
mod storm;

use std::time::Duration;

use storm::Plan;

#[test]
fn a_storm_passes_and_leaves_nothing_behind() {
    let length = Duration::from_secs(8);
    let plan = Plan { pipes: 6, sites: 4, tasks: 8, loops: 2, length, kills: 60, room: 100_000 };
    let report = storm::run(plan);
    assert!(report.broken.is_empty(), "{report}");
}
