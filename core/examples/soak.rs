//! A long storm over fifty servers; `SOAK_SECONDS` says how long. Prints what is left of it, and fails when a promise
//! was not kept.
#![allow(clippy::print_stdout)]

#[path = "../tests/common.rs"]
mod common;
#[path = "../tests/storm/plan.rs"]
mod storm;

use std::process::ExitCode;
use std::time::Duration;

use storm::Plan;

fn main() -> ExitCode {
    let seconds = std::env::var("SOAK_SECONDS").map_or(Ok(180), |text| text.parse::<u32>());
    let Ok(seconds @ 10..=3600) = seconds else {
        println!("SOAK_SECONDS must be a number from 10 to 3600");
        return ExitCode::from(2);
    };
    let report = storm::run(Plan {
        pipes: 40,
        sites: 10,
        tasks: 32,
        loops: 4,
        length: Duration::from_secs(seconds.into()),
        kills: 6 * seconds,
        room: 20_000 * seconds as usize,
    });
    println!("{report}");
    if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
