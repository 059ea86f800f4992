//! Takes the steps of one simulated session: what the program that uses a manager does, and what time does.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::checks::{self, Reached};
use super::server::{LOOK, Server, WRITE};
use crate::call::{Arguments, CallOptions, Retry};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::Result;
use crate::manager::{CacheDir, Manager, ManagerOptions};
use crate::pool::{Pool, PoolOptions};
use crate::result::ToolResult;
use crate::runtime::{self, simulated};
use crate::wire::scripted;

/// A call of the simulated program.
pub(super) struct SimulatedCall {
    pub(super) key: u64,
    /// Whether it may run twice.
    pub(super) is_repeatable: bool,
    pub(super) end: CallEnd,
}

pub(super) enum CallEnd {
    Open(JoinHandle<Result<ToolResult>>),
    /// The caller has given up.
    Cancelled,
    Ended(Result<ToolResult>),
}

pub(super) struct SimulatedSession {
    random: Rng,
    pub(super) server: Server,
    /// The managers that share the server's connection; the first is closed last.
    pub(super) managers: Vec<Manager>,
    clock: Clock,
    limits: Clock,
    pub(super) calls: Vec<SimulatedCall>,
    verbs: Vec<(&'static str, JoinHandle<()>)>,
    pub(super) is_remote: bool,
    is_stateless: bool,
}

/// Runs the session of this seed; panics if something does not hold. Adds what it has come to.
pub(super) fn run(seed: u64, reached: &mut Reached) {
    let mut random = Rng::with_seed(seed);
    let limits = Clock::manual();
    let is_remote = random.bool();
    let is_stateless = random.bool();
    let server = Server::new(is_remote);
    scripted::play(Some(server.script.clone()));
    simulated::run(&limits, async {
        let clock = Clock::manual();
        let pool = Pool::new(PoolOptions::default().clock(clock.clone()));
        let options = ManagerOptions::default().pool(pool).cache_dir(CacheDir::Off);
        let options = options.roots(Some(Vec::new()));
        let managers = vec![Manager::new(definition(&mut random, is_stateless), options)];
        let tasks = runtime::alive_tasks();
        let (calls, verbs) = (Vec::new(), Vec::new());
        let session = SimulatedSession {
            random,
            server,
            managers,
            clock,
            limits: limits.clone(),
            calls,
            verbs,
            is_remote,
            is_stateless,
        };
        session.live(reached).await;
        scripted::play(None);
        checks::nothing_runs_on(tasks).await;
    });
}

/// A random definition of the one server.
fn definition(random: &mut Rng, is_stateless: bool) -> Config {
    let restart = random.choice([
        json!("never"),
        json!("once"),
        json!({"delays": [0, 1000], "forever": true}),
        json!({"delays": [0, 0, 5000]}),
    ]);
    let mut server: Value = json!({
        "type": "http",
        "url": format!("http://{}/{}", scripted::HOST, random.u8(..2)),
        "auth": {"type": "none"},
        "restart": restart.expect("a policy"),
        "timeout": 3_600_000,
        "toolTimeout": 60_000,
    });
    if is_stateless {
        server["protocol"] = json!("2026-07-28");
    }
    if random.bool() {
        server["maxConcurrency"] = json!(random.u8(1..4));
    }
    if random.u8(..4) == 0 {
        server["pingInterval"] = json!(10_000);
    }
    if random.u8(..8) == 0 {
        server["lazy"] = json!(true);
    }
    if random.u8(..4) == 0 {
        server["idleShutdown"] = json!(30_000);
    }
    Config::from_value(json!({"mcpServers": {"s": server}})).expect("a valid config")
}

impl SimulatedSession {
    async fn live(mut self, reached: &mut Reached) {
        // Most begin with a server that is up.
        if self.random.u8(..8) > 0 {
            self.connect_all();
            for _ in 0..4 {
                runtime::yield_turns(2).await;
                self.server.work(&mut self.random);
            }
        }
        for _ in 0..self.random.usize(4..60) {
            self.step();
            runtime::yield_turns(self.random.usize(..4)).await;
            checks::holds_always(&self);
        }
        // Half of them end in the middle of everything, half after their server has worked for a while.
        if self.random.bool() {
            for _ in 0..8 {
                self.server.work(&mut self.random);
                runtime::yield_turns(2).await;
            }
        }
        // What was cancelled leaves the tables in these turns.
        runtime::yield_turns(8).await;
        checks::counts_are_true(&self);
        reached.restarts += self.managers[0].status().remove(0).restarts;
        self.close(reached).await;
    }

    fn step(&mut self) {
        match self.random.u8(..32) {
            0..7 => self.call(),
            7 => self.cancel(),
            8 | 9 => self.connect_all(),
            10 => self.connect_one(),
            11 => self.leave(),
            12 => self.reload(),
            13 => self.managers.extend(self.managers[0].child().ok()),
            14 => self.release(),
            15 | 16 => self.pass_time(),
            17..20 => self.server.work(&mut self.random),
            _ => self.server.step(&mut self.random),
        }
    }

    fn any_manager(&mut self) -> Manager {
        self.random.choice(&self.managers).expect("a manager").clone()
    }

    fn verb<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &'static str,
        verb: impl FnOnce(Manager) -> F,
    ) {
        let manager = self.any_manager();
        self.verbs.push((name, runtime::spawn(verb(manager))));
    }

    fn connect_all(&mut self) {
        self.verb("connect_all", |manager| async move { drop(manager.connect_all().await) });
    }

    fn connect_one(&mut self) {
        self.verb("connect", |manager| async move { drop(manager.connect("s").await) });
    }

    /// Rarely disconnects, because calls fail from then on.
    fn leave(&mut self) {
        if self.random.u8(..4) == 0 {
            self.verb("disconnect", |manager| async move { drop(manager.disconnect("s").await) });
        }
    }

    fn call(&mut self) {
        let key = self.calls.len() as u64;
        let tool = if self.random.bool() { WRITE } else { LOOK };
        let retry = if self.random.bool() { Retry::Safe } else { Retry::Never };
        let mut options = CallOptions::default().retry(Some(retry));
        if self.random.u8(..3) == 0 {
            options = options.timeout(Some(Duration::from_secs(self.random.u64(1..20))));
        }
        let arguments = Arguments::new(&json!({"key": key})).expect("an object");
        let manager = self.any_manager();
        let call = manager.call_tool("s", tool, arguments, options);
        let is_repeatable = tool == LOOK && retry == Retry::Safe;
        let end = CallEnd::Open(runtime::spawn(call));
        self.calls.push(SimulatedCall { key, is_repeatable, end });
    }

    fn cancel(&mut self) {
        if let Some(at) = (!self.calls.is_empty()).then(|| self.random.usize(..self.calls.len()))
            && let CallEnd::Open(call) = &self.calls[at].end
        {
            call.abort();
            self.calls[at].end = CallEnd::Cancelled;
        }
    }

    fn reload(&mut self) {
        let config = definition(&mut self.random, self.is_stateless);
        self.verb("reload", |manager| async move { drop(manager.reload_with(config).await) });
    }

    /// Closes a manager that is not the first.
    fn release(&mut self) {
        if self.managers.len() > 1 {
            let manager = self.managers.pop().expect("a second manager");
            self.verbs
                .push(("close of another", runtime::spawn(async move { manager.close().await })));
        }
    }

    fn pass_time(&mut self) {
        let time = Duration::from_millis(self.random.u64(..20_000));
        self.clock.advance(time);
        if self.random.bool() {
            self.limits.advance(time);
        }
    }

    /// Ends everything. The server does nothing any more: an end must not need it.
    async fn close(mut self, reached: &mut Reached) {
        let closing: Vec<_> = self
            .managers
            .iter()
            .map(|manager| ("close", runtime::spawn(manager.close())))
            .collect();
        // The end of a session waits a moment for its tasks to be cancelled.
        runtime::yield_turns(8).await;
        self.limits.advance(Duration::from_secs(2));
        checks::end_in_time(closing).await;
        checks::end_in_time(std::mem::take(&mut self.verbs)).await;
        for call in &mut self.calls {
            if let CallEnd::Open(handle) = &mut call.end {
                let end = checks::end_of("a call", handle).await;
                call.end = CallEnd::Ended(end);
            }
        }
        checks::holds_at_the_end(&self, reached);
        let script: Arc<_> = self.server.script.clone();
        drop(self);
        checks::no_link_is_left(&script).await;
    }
}
