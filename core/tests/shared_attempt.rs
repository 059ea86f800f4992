//! Hazard: concurrent connects start a server more than once.

mod common;

use std::time::Duration;

use common::{Journal, apart, lives, stdio, until};
use mcpool::{Config, Manager, Pool, PoolOptions, State};
use serde_json::{Map, json};

const SERVERS: usize = 4;
const MANAGERS: usize = 4;
const TASKS: usize = 32;

struct Crowd {
    managers: Vec<Manager>,
    journals: Vec<Journal>,
}

impl Crowd {
    fn new(name: &str) -> Crowd {
        let journals: Vec<Journal> =
            (0..SERVERS).map(|n| Journal::new(&format!("{name}{n}"))).collect();
        let servers: Map<_, _> = journals
            .iter()
            .enumerate()
            .map(|(n, journal)| {
                let knobs = ["--slow", "initialize=30", "--journal", journal.path()];
                let mut server = stdio(&knobs);
                server["restart"] = json!({"delays": [0, 50], "forever": true});
                (format!("s{n}"), server)
            })
            .collect();
        let config = Config::from_value(json!({"mcpServers": servers})).unwrap();
        let pool = Pool::new(PoolOptions::default());
        // Long enough that no cached tools are used, even on a slow machine.
        let gate = Duration::from_secs(60);
        let options = apart().pool(pool).gate(gate);
        let managers =
            (0..MANAGERS).map(|_| Manager::new(config.clone(), options.clone())).collect();
        Crowd { managers, journals }
    }

    fn starts(&self) -> Vec<usize> {
        self.journals.iter().map(|journal| journal.pids().len()).collect()
    }

    /// All connect at once.
    async fn connect(&self) {
        let tasks: Vec<_> =
            (0..TASKS).map(|n| tokio::spawn(self.managers[n % MANAGERS].connect_all())).collect();
        for task in tasks {
            let report = task.await.unwrap().unwrap();
            assert_eq!(report.connected.len(), SERVERS, "{report:?}");
        }
    }

    async fn close(self) {
        for manager in &self.managers {
            manager.close().await;
        }
        assert!(self.journals.iter().flat_map(Journal::pids).all(|pid| !lives(pid)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_of_managers_starts_each_server_once() {
    let crowd = Crowd::new("crowd");
    crowd.connect().await;
    assert_eq!(crowd.starts(), [1; SERVERS]);
    for manager in &crowd.managers {
        assert!(manager.status().iter().all(|server| server.refs == MANAGERS));
    }
    crowd.connect().await;
    assert_eq!(crowd.starts(), [1; SERVERS], "who is connected already is skipped");
    crowd.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_that_asks_while_a_server_restarts_joins_the_restart() {
    let crowd = Crowd::new("joins");
    crowd.connect().await;
    for round in 1..=5 {
        for server in crowd.managers[0].status() {
            let pid = rustix::process::Pid::from_raw(server.pid.expect("it is up") as i32);
            rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::KILL).unwrap();
        }
        let is_noticed = || {
            let status = crowd.managers[0].status();
            status.iter().all(|server| server.state != State::Connected || server.restarts == round)
        };
        until("the loss", is_noticed).await;
        crowd.connect().await;
        assert_eq!(crowd.starts(), [round as usize + 1; SERVERS]);
    }
    crowd.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_one_who_leaves_ends_the_servers_and_a_newcomer_never_meets_two() {
    let crowd = Crowd::new("leaves");
    for round in 1..=4 {
        crowd.connect().await;
        assert_eq!(crowd.starts(), [round; SERVERS]);
        let (last, others) = crowd.managers.split_last().expect("there are some");
        for manager in others {
            manager.disconnect_all().await;
        }
        assert!(last.status().iter().all(|server| server.state == State::Connected));
        let leaving = tokio::spawn(last.disconnect_all());
        tokio::time::sleep(Duration::from_millis(round as u64)).await;
        leaving.await.unwrap();
    }
    crowd.close().await;
}
