//! Runs every file of `tests/scenarios` against the Rust API. Their README explains the steps.

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Trial};
use serde_json::json;

mod common;
#[path = "scenarios/matching.rs"]
mod matching;
#[path = "scenarios/place.rs"]
mod place;
#[path = "scenarios/runner.rs"]
mod runner;
#[path = "scenarios/steps.rs"]
mod steps;
#[path = "scenarios/verbs.rs"]
mod verbs;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace").into()
}

fn main() {
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("MCPOOL_SCENARIO", "outside") };
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(4);
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("tests/scenarios"))
        .expect("the scenarios are part of the repository")
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are no scenarios");
    let trials = files.into_iter().map(|file| {
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        Trial::test(name, move || runner::run(&root(), &file).map_err(Into::into))
    });
    let refused = Trial::test("a_step_that_is_not_in_the_table_is_refused", || {
        refused_steps().map_err(Into::into)
    });
    libtest_mimic::run(&arguments, trials.chain([refused]).collect()).exit();
}

fn refused_steps() -> Result<(), String> {
    let refused = [
        json!({"do": "dance"}),
        json!({"do": "tools", "colour": "blue"}),
        json!({"do": "connect"}),
        json!({"do": "repeat", "times": 2, "step": {"do": "dance"}}),
    ];
    for step in refused {
        let scenario = json!({"about": "x", "spec": [], "steps": [step]});
        if steps::check_scenario(&scenario).is_ok() {
            return Err(format!("{step} was accepted"));
        }
    }
    Ok(())
}
