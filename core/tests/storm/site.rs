//! A fixture over HTTP that can be killed, stopped and started again at the same address.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::fixture;

/// The knobs of the sites: faults of web servers, sessions, lost sessions, answers as event streams.
const KINDS: [&[&str]; 7] = [
    &["--unruly", "9"],
    &[
        "--sse",
        "--unruly",
        "6",
        "--lose-session-every",
        "70",
        "--retry",
        "0",
        "--close-get-after",
        "5",
    ],
    &[],
    &["--lose-session-every", "50"],
    &["--sessions"],
    &["--lose-session-every", "40", "--sessions-forget-with-400"],
    &["--sse", "--lose-session-every", "60"],
];

pub(super) struct Site {
    port: u16,
    knobs: Vec<String>,
    child: Mutex<Child>,
}

impl Site {
    pub(super) fn start(number: usize, journal: &str) -> Site {
        let port = free_port();
        let kind = KINDS[number % KINDS.len()].iter().copied();
        let knobs: Vec<String> = kind.chain(["--journal", journal]).map(str::to_owned).collect();
        let child = begin(port, &knobs).expect("the fixture starts");
        Site { port, knobs, child: Mutex::new(child) }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Kills it and starts it again after a while. Blocks.
    pub(super) fn restart_after(&self, pause: Duration) {
        let mut child = self.child.lock().expect("nobody panics with it");
        end(&mut child);
        std::thread::sleep(pause);
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match begin(self.port, &self.knobs) {
                Some(begun) => break *child = begun,
                None => assert!(Instant::now() < deadline, "port {} stays taken", self.port),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops its process for this long. Blocks.
    pub(super) fn freeze_for(&self, pause: Duration) {
        let child = self.child.lock().expect("nobody panics with it");
        let pid = Pid::from_raw(child.id() as i32).expect("a process");
        let _ = kill_process(pid, Signal::STOP);
        std::thread::sleep(pause);
        let _ = kill_process(pid, Signal::CONT);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        end(self.child.get_mut().expect("nobody panics with it"));
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn begin(port: u16, knobs: &[String]) -> Option<Child> {
    let mut child = Command::new(fixture())
        .args(["http", "--port", &port.to_string()])
        .args(knobs)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut line = String::new();
    let _ = BufReader::new(child.stdout.take()?).read_line(&mut line);
    if line.is_empty() {
        end(&mut child);
        return None;
    }
    Some(child)
}

/// A port outside of the system's ephemeral range, so that nothing takes it while the site is down.
fn free_port() -> u16 {
    let mut candidates = std::iter::repeat_with(|| fastrand::u16(20_000..30_000));
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    candidates.find(is_free).expect("some port is free")
}
