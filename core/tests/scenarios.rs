//! Runs every file of `tests/scenarios` against the Rust API. Their README explains the steps.

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};

mod common;
#[path = "scenarios/fixtures.rs"]
mod fixtures;
#[path = "scenarios/matching.rs"]
mod matching;
#[path = "scenarios/person.rs"]
mod person;
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
    let trials = files.iter().flat_map(|file| trials(file));
    let refused = Trial::test("a_step_that_is_not_in_the_table_is_refused", || {
        refused_steps().map_err(Into::into)
    });
    let named = "a_fixture_runs_over_the_transport_that_it_names";
    let named = Trial::test(named, move || {
        runner::run(&root(), named, &every_transport(), None).map_err(Into::into)
    });
    libtest_mimic::run(&arguments, trials.chain([refused, named]).collect()).exit();
}

/// One trial, or one for each transport of the scenario.
fn trials(file: &Path) -> Vec<Trial> {
    let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(file).expect("a readable file");
    let scenario: Value = match serde_json::from_str(&text) {
        Ok(scenario) => scenario,
        Err(error) => return vec![Trial::test(name, move || Err(error.into()))],
    };
    if scenario["linux_only"] == true && mcpool::host::portable() {
        return Vec::new();
    }
    let trial = |name: String, variant: Option<&str>| {
        let (label, scenario) = (name.clone(), scenario.clone());
        let variant = variant.map(str::to_owned);
        Trial::test(name, move || {
            runner::run(&root(), &label, &scenario, variant.as_deref()).map_err(Into::into)
        })
    };
    let variants: Vec<&str> = steps::variants(&scenario).collect();
    if variants.is_empty() {
        return vec![trial(name, None)];
    }
    let named = variants.iter().map(|variant| (format!("{name}[{variant}]"), Some(*variant)));
    named.map(|(name, variant)| trial(name, variant)).collect()
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
    for transports in [json!(["pigeon"]), json!([])] {
        let scenario = json!({"about": "x", "spec": [], "steps": [], "transports": transports});
        if steps::check_scenario(&scenario).is_ok() {
            return Err(format!("the transports {transports} were accepted"));
        }
    }
    Ok(())
}

/// A scenario that ends and starts a fixture of each kind.
fn every_transport() -> Value {
    let ended = ["plain", "http", "sse", "websocket"];
    let steps = ended.iter().flat_map(|name| {
        let verbs = ["end_fixture", "start_fixture", "end_fixture"];
        verbs.map(|verb| json!({"do": verb, "fixture": name}))
    });
    let connected = json!({"do": "connect_all", "expect": {"connected": ["a", "b"]}});
    json!({
        "about": "x",
        "spec": [],
        "fixtures": {
            "plain": [], "stdio": ["stdio"], "http": ["http"], "sse": ["sse"], "websocket": ["websocket"]
        },
        "config": {"mcpServers": {"a": "${stdio:server}", "b": "${http:server}"}},
        "steps": std::iter::once(connected).chain(steps).collect::<Vec<_>>(),
    })
}
