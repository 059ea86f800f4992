//! The faults of a storm: servers are killed, sites go down and come up again, servers are stopped for a while or for
//! good, and users disconnect and connect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use mcpool::Manager;
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;

use super::census::parent_of;
use super::site::Site;

/// A probe takes six seconds at most, an end by force two.
const GIVEN_UP: Duration = Duration::from_secs(12);

pub(super) struct Weather {
    manager: Manager,
    sites: Vec<Arc<Site>>,
    pipes: usize,
    /// Stopped servers that get no other fault: supervision has to find them.
    frozen: Vec<(String, u32, Instant)>,
    under_way: JoinSet<()>,
    rng: Rng,
    done: Done,
}

/// What was done to the servers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    pub(super) killed_pipes: u32,
    pub(super) killed_sites: u32,
    pub(super) frozen: u32,
    pub(super) disconnected: u32,
    pub(super) visits: u32,
}

impl Done {
    pub(crate) fn kills(self) -> u32 {
        self.killed_pipes + self.killed_sites
    }
}

impl Weather {
    pub(super) fn new(manager: Manager, sites: Vec<Arc<Site>>, pipes: usize) -> Weather {
        let (frozen, under_way) = (Vec::new(), JoinSet::new());
        let rng = Rng::with_seed(7);
        Weather { manager, sites, pipes, frozen, under_way, rng, done: Done::default() }
    }

    /// Runs for this long, and longer if it has not killed enough processes by then.
    pub(super) async fn rage(mut self, length: Duration, kills: u32) -> Done {
        let began = Instant::now();
        // Some faults hit a server that is down already.
        let pause = length / (kills + kills / 2);
        let mut strokes = 0;
        while began.elapsed() < length
            || (self.done.kills() < kills && began.elapsed() < 2 * length)
        {
            strokes += 1;
            tokio::time::sleep_until((began + pause * strokes).into()).await;
            let passed = began.elapsed();
            self.strike(passed < length / 4 || passed + GIVEN_UP < length);
        }
        self.under_way.join_all().await;
        self.done
    }

    /// Finding a stopped server takes time, so servers are stopped early or not at all.
    fn strike(&mut self, early: bool) {
        match self.rng.u8(..100) {
            0..82 => self.kill_pipe(),
            82..90 => self.restart_site(),
            90..94 => self.disconnect(),
            94..96 => self.visit(),
            _ if early => self.freeze(),
            _ => self.kill_pipe(),
        }
    }

    /// A stdio server that is up and not stopped, and its process, which is certainly our child.
    fn pick_pipe(&mut self) -> Option<(String, Pid)> {
        let status = self.manager.status();
        let pid_of = |name: &str| status.iter().find(|server| server.name == name)?.pid;
        self.frozen
            .retain(|(name, pid, until)| pid_of(name) == Some(*pid) && Instant::now() < *until);
        let name = format!("pipe{}", self.rng.usize(..self.pipes));
        if self.frozen.iter().any(|(frozen, ..)| *frozen == name) {
            return None;
        }
        let pid = pid_of(&name).filter(|&pid| parent_of(pid) == Some(std::process::id()))?;
        Some((name, Pid::from_raw(pid as i32)?))
    }

    fn kill_pipe(&mut self) {
        if let Some((_, pid)) = self.pick_pipe()
            && kill_process(pid, Signal::KILL).is_ok()
        {
            self.done.killed_pipes += 1;
        }
    }

    fn restart_site(&mut self) {
        let Some(site) = self.rng.choice(&self.sites).cloned() else { return };
        self.done.killed_sites += 1;
        let pause = Duration::from_millis(self.rng.u64(..100));
        self.under_way.spawn_blocking(move || site.restart_after(pause));
    }

    fn disconnect(&mut self) {
        self.done.disconnected += 1;
        let (manager, all) = (self.manager.clone(), self.manager.status());
        let name = all[self.rng.usize(..all.len())].name.clone();
        let pause = Duration::from_millis(self.rng.u64(..100));
        self.under_way.spawn(async move {
            let _ = manager.disconnect(&name).await;
            tokio::time::sleep(pause).await;
            let _ = manager.connect(&name).await;
        });
    }

    /// Another manager shares the connections for a while, and is closed or forgotten.
    fn visit(&mut self) {
        self.done.visits += 1;
        let visitor = self.manager.child().expect("it is open");
        let pause = Duration::from_millis(self.rng.u64(..2_000));
        let closes = self.rng.bool();
        self.under_way.spawn(async move {
            let _ = visitor.connect_all().await;
            tokio::time::sleep(pause).await;
            if closes {
                visitor.close().await;
            }
        });
    }

    /// Half of them continue in time for the probe; the others have to be found and ended by supervision.
    fn freeze(&mut self) {
        let thaws = self.rng.bool();
        if self.rng.u8(..4) == 0
            && let Some(site) = self.rng.choice(&self.sites).cloned()
        {
            self.done.frozen += 1;
            let pause = Duration::from_secs(if thaws { 2 } else { 8 });
            self.under_way.spawn_blocking(move || site.freeze_for(pause));
            return;
        }
        let Some((name, pid)) = self.pick_pipe() else { return };
        self.done.frozen += 1;
        let _ = kill_process(pid, Signal::STOP);
        let patience = if thaws { Duration::from_secs(2) } else { GIVEN_UP };
        self.frozen.push((name, pid.as_raw_nonzero().get() as u32, Instant::now() + patience));
        if thaws {
            self.under_way.spawn(async move {
                tokio::time::sleep(patience).await;
                let _ = kill_process(pid, Signal::CONT);
            });
        }
    }
}
