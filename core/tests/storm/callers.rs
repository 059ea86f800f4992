//! The callers of a storm: tasks that await one call after the other, and event loops with a mailbox and many calls in
//! flight, like those of a host language.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use mcpool::ToolRef;
use mcpool::host::{Address, Letter, Mailbox};
use mcpool::{Arguments, CallOptions, Manager};
use tokio::time::timeout;

use super::PATIENCE;
use super::ledger::{Ledger, Task};

/// The longest pause between two calls of one caller.
const PAUSE_MS: u64 = 30;
/// How many calls a loop has in flight.
const ABREAST: usize = 8;

/// How long an impatient task waits for a call.
const IMPATIENCE: Duration = Duration::from_millis(5);

/// One call: the tool, its arguments, whose key the server's journal notes, and what it has to answer.
struct StormCall {
    tool: &'static str,
    arguments: Arguments,
    expected: String,
}

impl StormCall {
    fn of(key: usize) -> StormCall {
        let (tool, argument, expected) = match Task::of(key) {
            Task::Echo => ("echo", format!(r#""text":"{key}""#), key.to_string()),
            Task::Sleep => ("sleep", format!(r#""ms":{}"#, key % 150), "slept".to_owned()),
        };
        let arguments = Arguments::from_writer(format!(r#"{{{argument},"key":{key}}}"#).into());
        StormCall { tool, arguments: arguments.expect("an object"), expected }
    }
}

fn expected(key: usize) -> String {
    StormCall::of(key).expected
}

pub(super) async fn call_from_task(
    seed: u64,
    manager: Manager,
    names: Arc<Vec<String>>,
    ledger: Arc<Ledger>,
    over: Arc<AtomicBool>,
) {
    let mut rng = Rng::with_seed(seed);
    while !over.load(Ordering::Relaxed) {
        let Some(key) = ledger.begin() else { return };
        let server = rng.choice(&*names).expect("there are servers");
        let StormCall { tool, arguments, expected } = StormCall::of(key);
        let call = manager.call_tool(server, tool, arguments, CallOptions::default());
        let patience = if key % 50 == 3 { IMPATIENCE } else { PATIENCE };
        match timeout(patience, call).await {
            Ok(outcome) => ledger.end(key, &outcome, &expected),
            // A patient caller leaves it open in the ledger, which the report finds.
            Err(_) if patience == IMPATIENCE => ledger.give_up(key),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(..PAUSE_MS))).await;
    }
}

pub(super) fn call_from_loop(
    seed: u64,
    manager: &Manager,
    names: &[String],
    ledger: &Ledger,
    over: &AtomicBool,
) {
    let mut rng = Rng::with_seed(!seed);
    let mailbox = Mailbox::new().expect("a descriptor");
    let mut under_way = 0;
    let mut stopped_at = None;
    loop {
        if over.load(Ordering::Relaxed) {
            let since = *stopped_at.get_or_insert_with(Instant::now);
            // A second letter would come late.
            let done = under_way == 0 && since.elapsed() > Duration::from_millis(300);
            if done || since.elapsed() > PATIENCE {
                return;
            }
        }
        while under_way < ABREAST && stopped_at.is_none() {
            let Some(key) = ledger.begin() else {
                stopped_at = Some(Instant::now());
                break;
            };
            let StormCall { tool, arguments, expected } = StormCall::of(key);
            let tool = ToolRef::Of { server: rng.choice(names).expect("some"), tool };
            let address = Address { mailbox: mailbox.clone(), key: key as u64 };
            match manager.submit(tool, arguments, CallOptions::default(), address) {
                Ok(_) => under_way += 1,
                Err(error) => ledger.end(key, &Err(error), &expected),
            }
        }
        mailbox.flush();
        mailbox.wait(Duration::from_millis(rng.u64(5..2 * PAUSE_MS)));
        for (key, letter) in mailbox.drain() {
            let outcome = match letter {
                Letter::Result(result) => Ok(result),
                Letter::Failed(error) => Err(error),
                other => panic!("nobody asked for {other:?}"),
            };
            ledger.end(key as usize, &outcome, &expected(key as usize));
            under_way -= 1;
        }
        // Without a pause, a loop would only call.
        std::thread::sleep(Duration::from_millis(rng.u64(..PAUSE_MS)));
    }
}
