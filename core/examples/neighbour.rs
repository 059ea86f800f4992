//! Measures the calls of a quiet server alone, and beside a hostile one of each kind, in turns. Prints the 99th percentile
//! of both and their ratio; it asserts nothing. `NEIGHBOUR_CALLS` says how many calls are timed in each turn.
#![allow(clippy::print_stdout)]

#[path = "../tests/common.rs"]
mod common;
#[path = "../tests/raw/everywhere.rs"]
mod everywhere;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use common::{call, manager, stdio};
use everywhere::{Fixture, call_other, serve};
use mcpool::Manager;
use serde_json::{Value, json};

const TURNS: usize = 5;
/// The ratio that is aimed at.
const GOAL: f64 = 3.0;
const OWN: &str = r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}"#;

/// A hostile server, and the arguments of the calls that set it off.
struct Hostile {
    name: &'static str,
    fixture: Fixture,
    tool: &'static str,
    arguments: Value,
}

/// A server over this transport that sends `line` very often before it answers a call.
fn repeating(place: &Path, name: &'static str, transport: &str, line: &str) -> Hostile {
    let file = place.join(name.replace(' ', "-"));
    std::fs::write(&file, format!("{line}\n{OWN}")).expect("a file");
    let knob = format!("tools/call={}", file.display());
    let fixture = serve(transport, &["--say", &knob, "--say-times", "100000"]);
    Hostile { name, fixture, tool: "echo", arguments: json!({"text": "x"}) }
}

fn all(place: &Path) -> Vec<Hostile> {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a line of a log"}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let plain = |name, knobs: &[&str], tool, arguments| {
        let mut fixture = serve("stdio", knobs);
        fixture.definition["restart"] = json!({"delays": [0, 100], "forever": true});
        Hostile { name, fixture, tool, arguments }
    };
    let echo = || json!({"text": "x"});
    vec![
        repeating(place, "log messages over stdio", "stdio", log),
        repeating(place, "log messages over websocket", "websocket", log),
        repeating(place, "log messages over sse", "sse", log),
        repeating(place, "changed lists", "stdio", changed),
        repeating(place, "pings without readers", "stdio", ping),
        plain("lines of 100 MB", &["--huge-line", "100000000"], "echo", echo()),
        plain("20 MB on stderr", &["--stderr-flood", "20000000"], "echo", echo()),
        plain("results of 8 MB", &[], "big", json!({"bytes": 8_000_000})),
        plain("exit in each call", &["--exit-at", "tools/call"], "echo", echo()),
    ]
}

/// Times this many calls of the quiet server.
async fn time_calls(manager: &Manager, calls: usize, into: &mut Vec<Duration>) {
    for _ in 0..calls {
        let began = Instant::now();
        call_other(manager).await;
        into.push(began.elapsed());
    }
}

fn p99(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() * 99 / 100].as_secs_f64() * 1e6
}

/// The 99th percentiles alone and beside the hostile server, in microseconds, and the number of hostile calls.
async fn measure(hostile: &Hostile, calls: usize) -> (f64, f64, usize) {
    let (mut alone, mut beside, mut set_off) = (Vec::new(), Vec::new(), 0);
    let manager = manager(json!({"s": hostile.fixture.definition, "other": stdio(&[])}));
    manager.connect_all().await.expect("a report");
    time_calls(&manager, calls, &mut Vec::new()).await;
    for _ in 0..TURNS {
        time_calls(&manager, calls, &mut alone).await;
        let attack = async {
            loop {
                // Its outcome does not matter.
                let _ = call(&manager, hostile.tool, hostile.arguments.clone()).await;
                set_off += 1;
            }
        };
        tokio::select! {
            () = time_calls(&manager, calls, &mut beside) => {}
            () = attack => {}
        }
        // What is still on its way belongs to the hostile turn.
        let _ = call(&manager, hostile.tool, hostile.arguments.clone()).await;
    }
    manager.close().await;
    (p99(&mut alone), p99(&mut beside), set_off)
}

#[tokio::main]
async fn main() -> ExitCode {
    let calls = std::env::var("NEIGHBOUR_CALLS").map_or(Ok(2000), |text| text.parse::<usize>());
    let Ok(calls @ 100..=100_000) = calls else {
        println!("NEIGHBOUR_CALLS must be a number from 100 to 100000");
        return ExitCode::from(2);
    };
    let place = tempfile::tempdir().expect("a directory");
    println!("| beside | p99 alone, µs | p99 beside, µs | ratio | hostile calls |");
    println!("|---|---|---|---|---|");
    let mut worst: f64 = 0.0;
    for hostile in all(place.path()) {
        let (alone, beside, set_off) = measure(&hostile, calls).await;
        let ratio = beside / alone;
        worst = worst.max(ratio);
        println!("| {} | {alone:.0} | {beside:.0} | {ratio:.1} | {set_off} |", hostile.name);
    }
    println!("\nThe highest ratio is {worst:.1}; the goal is {GOAL:.0} on an idle machine.");
    ExitCode::SUCCESS
}
