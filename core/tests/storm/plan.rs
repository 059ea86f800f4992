//! A storm: many servers and many callers under all faults, for a while. `run` runs it and returns its report; the test
//! runs a short one, `make soak` a long one.

mod callers;
mod census;
mod ledger;
mod report;
mod site;
mod weather;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcpool::{Config, EventKind, Events, Manager, Reason};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::common::{apart, stdio};
use callers::{call_from_loop, call_from_task};
use census::{Census, resident};
use ledger::Ledger;
pub(crate) use report::Report;
use report::{Journals, Standing};
use site::Site;
use weather::Weather;

/// How long a condition that holds eventually may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Plan {
    /// Servers over pipes.
    pub(crate) pipes: usize,
    /// Servers over HTTP.
    pub(crate) sites: usize,
    /// Callers that await their calls, one at a time.
    pub(crate) tasks: usize,
    /// Callers that are event loops with a mailbox and several calls in flight.
    pub(crate) loops: usize,
    pub(crate) length: Duration,
    /// At least that many processes are killed.
    pub(crate) kills: u32,
    /// How many calls there can be.
    pub(crate) room: usize,
}

/// The directory of one storm's journals, removed with it. Its path also marks the storm's processes.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        let dir = std::env::temp_dir().join(format!("mcpool-storm-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        Place(dir)
    }

    fn mark(&self) -> &str {
        self.0.to_str().expect("a readable path")
    }

    fn journal(&self, server: &str) -> String {
        format!("{}/{server}.jsonl", self.mark())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the storm.
pub(crate) fn run(plan: Plan) -> Report {
    // Idle threads end at once, because threads are counted at the end.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::from_millis(100))
        .enable_all()
        .build();
    runtime.expect("the system gives threads").block_on(pass(plan))
}

async fn pass(plan: Plan) -> Report {
    let place = Place::new();
    warm_up(&place).await;
    let ledger = Arc::new(Ledger::new(plan.room));
    let before = Census::take();

    let sites: Vec<Arc<Site>> = (0..plan.sites)
        .map(|n| Arc::new(Site::start(n, &place.journal(&format!("site{n}")))))
        .collect();
    let servers = servers(&plan, &place, &sites);
    let names: Arc<Vec<String>> = Arc::new(servers.keys().cloned().collect());
    let manager = manager_of(servers);
    manager.connect_all().await.expect("nothing is required");

    let over = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..plan.tasks)
        .map(|n| {
            let (manager, names) = (manager.clone(), names.clone());
            tokio::spawn(call_from_task(n as u64, manager, names, ledger.clone(), over.clone()))
        })
        .collect();
    let loops: Vec<_> = (0..plan.loops)
        .map(|n| {
            let (manager, names) = (manager.clone(), names.clone());
            let (ledger, over) = (ledger.clone(), over.clone());
            tokio::task::spawn_blocking(move || {
                call_from_loop(n as u64, &manager, &names, &ledger, &over)
            })
        })
        .collect();

    let probed = tokio::spawn(count_failed_probes(manager.events()));
    let weather = Weather::new(manager.clone(), sites.clone(), plan.pipes);
    let pipes = (0..plan.pipes).map(|n| place.journal(&format!("pipe{n}"))).collect();
    let watch = tokio::spawn(watch_for_twins(pipes, over.clone()));
    let (fifths, weather) =
        tokio::join!(fifths(plan.length), weather.rage(plan.length, plan.kills));

    over.store(true, Ordering::Relaxed);
    let mut stuck = 0;
    for caller in tasks.into_iter().chain(loops) {
        stuck += usize::from(timeout(PATIENCE, caller).await.is_err());
    }
    let twins = watch.await.expect("it only looks");
    let unwell = recover(&manager, &names).await;
    let in_flight = manager.status().iter().map(|server| server.calls.in_flight).sum();

    let began = Instant::now();
    manager.close().await;
    let closing = began.elapsed();
    drop(manager);
    // The stream of events ends with the manager.
    let failed_probes = probed.await.expect("it only counts");
    // What the servers keep open ends with them; the rest has to end by itself.
    drop(sites);
    let after = Census::settled_at(&before, PATIENCE).await;
    let left_behind = census::processes_of(place.mark());
    let journals = Journals::read(&names, |name| place.journal(name), plan.room);
    let standing = Standing {
        stuck,
        in_flight,
        failed_probes,
        twins,
        unwell,
        closing,
        before,
        after,
        left_behind,
        fifths,
    };
    Report::new(&plan, &ledger, &journals, weather, standing)
}

fn manager_of(servers: Map<String, Value>) -> Manager {
    let config = Config::from_value(json!({"mcpServers": servers})).expect("a valid config");
    let options = apart().restart_wait(Duration::from_secs(2));
    Manager::new(config, options)
}

fn servers(plan: &Plan, place: &Place, sites: &[Arc<Site>]) -> Map<String, Value> {
    let mut servers = Map::new();
    for n in 0..plan.pipes {
        let name = format!("pipe{n}");
        let server = stdio(&["--journal", &place.journal(&name)]);
        servers.insert(name, server);
    }
    for (n, site) in sites.iter().enumerate() {
        servers.insert(format!("site{n}"), json!({"url": site.url()}));
    }
    for (n, server) in servers.values_mut().enumerate() {
        server["restart"] = json!({"delays": [0, 20, 50, 100], "forever": true});
        server["timeout"] = json!(5_000);
        server["toolTimeout"] = json!(1_000);
        if n % 5 == 0 {
            server["pingInterval"] = json!(2_000);
        }
    }
    servers
}

/// Creates what lives as long as the process, so that it is not taken for a leak.
async fn warm_up(place: &Place) {
    let site = Site::start(0, &place.journal("warm-site"));
    let mut servers = Map::new();
    servers.insert("pipe".into(), stdio(&["--journal", &place.journal("warm-pipe")]));
    servers.insert("site".into(), json!({"url": site.url()}));
    let names = Arc::new(servers.keys().cloned().collect::<Vec<_>>());
    let manager = manager_of(servers);
    manager.connect_all().await.expect("nothing is required");
    let (ledger, over) = (Arc::new(Ledger::new(30)), Arc::new(AtomicBool::new(false)));
    call_from_task(0, manager.clone(), names.clone(), ledger.clone(), over.clone()).await;
    manager.close().await;
    drop((manager, site));
    Census::quiet(PATIENCE).await;
}

/// The memory after each fifth of the storm.
async fn fifths(length: Duration) -> Vec<usize> {
    let mut fifths = Vec::new();
    for _ in 0..5 {
        tokio::time::sleep(length / 5).await;
        fifths.push(resident());
    }
    fifths
}

/// Checks repeatedly whether a server runs twice; returns those that did.
async fn watch_for_twins(journals: Vec<String>, over: Arc<AtomicBool>) -> Vec<String> {
    let mut seen = Vec::new();
    while !over.load(Ordering::Relaxed) {
        seen.extend(census::twins(&journals));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    seen
}

/// How often supervision itself found a server dead.
async fn count_failed_probes(events: Events) -> usize {
    let mut count = 0;
    while let Some(event) = events.next().await {
        if let EventKind::Status { reason: Some(Reason::ProbeFailure), next_retry_ms, .. } =
            event.kind
        {
            // The event of the decision has the time of the attempt; that of the attempt has none.
            count += usize::from(next_retry_ms.is_some());
        }
    }
    count
}

/// Waits for every server to come up again; returns those that did not.
async fn recover(manager: &Manager, names: &[String]) -> Vec<String> {
    let mut unwell = Vec::new();
    for name in names {
        let _ = manager.connect(name).await;
        if let Err(error) = manager.wait_for(name, Some(PATIENCE)).await {
            unwell.push(format!("{name}: {error}"));
        }
    }
    unwell
}
