//! Shared by the tests: the fixture server, its journal, and inspecting processes.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcpool::host::logs::LogReader;
use mcpool::{
    Arguments, CacheDir, CallOptions, Config, HostEnv, Manager, ManagerOptions, OnAuth, Pool,
    PoolOptions, ToolResult,
};
use serde_json::{Value, json};

#[path = "common/page.rs"]
pub(crate) mod page;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The fixture's program; `make test` builds it first.
pub(crate) fn fixture() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/mcpool-fixture");
    let path = std::env::var_os("MCPOOL_FIXTURE").map_or(built, PathBuf::from);
    assert!(path.exists(), "build it first: make fixture");
    path
}

/// A definition that starts the fixture over stdio with these knobs.
pub(crate) fn stdio(knobs: &[&str]) -> Value {
    let args: Vec<&str> = std::iter::once("stdio").chain(knobs.iter().copied()).collect();
    json!({"command": fixture(), "args": args})
}

/// A manager on its own pool, without a cache, so that tests in one process are independent.
pub(crate) fn manager(servers: Value) -> Manager {
    let config = Config::from_value(json!({"mcpServers": servers})).expect("a valid config");
    Manager::new(config, apart())
}

/// Options that share nothing with other tests.
pub(crate) fn apart() -> ManagerOptions {
    ManagerOptions::default().pool(Pool::new(PoolOptions::default())).cache_dir(CacheDir::Off)
}

pub(crate) async fn call(
    manager: &Manager,
    tool: &str,
    arguments: Value,
) -> mcpool::Result<ToolResult> {
    let arguments = Arguments::new(&arguments).expect("an object");
    manager.call_tool("s", tool, arguments, CallOptions::default()).await
}

/// A fixture over a network that is ended on drop.
pub(crate) struct Web(Child);

impl Web {
    /// Starts it over HTTP with these knobs; returns its URL too.
    pub(crate) fn start<'a>(knobs: impl IntoIterator<Item = &'a str>) -> (Web, String) {
        Web::start_over("http", knobs)
    }

    /// Starts it over this transport; returns its URL too.
    pub(crate) fn start_over<'a>(
        transport: &str,
        knobs: impl IntoIterator<Item = &'a str>,
    ) -> (Web, String) {
        let mut child = Command::new(fixture())
            .arg(transport)
            .args(knobs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fixture starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it is");
        let said: Value = serde_json::from_str(&line).expect("in JSON");
        (Web(child), said["url"].as_str().expect("a url").to_owned())
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Signs in as a person would who sees the page and agrees.
pub(crate) fn agreeing() -> OnAuth {
    OnAuth::new(|prompt| async move {
        tokio::task::spawn_blocking(move || page::load(&prompt.url).location).await.unwrap()
    })
}

/// A manager of one server, "s", that keeps its logins in this home.
pub(crate) fn manager_at_home(server: Value, home: &Path, on_auth: Option<OnAuth>) -> Manager {
    let config = Config::from_value(json!({"mcpServers": {"s": server}})).expect("a valid config");
    let host_env = HostEnv::new(Some(BTreeMap::new()), Some(home.to_owned()), None);
    Manager::new(config, apart().host_env(host_env).on_auth(on_auth))
}

/// All that is logged and not read yet.
pub(crate) fn logged(logs: &LogReader) -> String {
    let mut said = String::new();
    while let Some(records) = logs.next_batch(Duration::ZERO).filter(|records| !records.is_empty())
    {
        said += &format!("{records:?}");
    }
    said
}

/// The entries of a fixture's journal.
pub(crate) fn read_journal(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The content of all files in a directory, recursively.
pub(crate) fn texts(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let text = |path: PathBuf| match path.is_dir() {
        true => texts(&path),
        false => std::fs::read_to_string(path).unwrap_or_default(),
    };
    entries.map(text).collect()
}

/// A file that is removed with the test.
pub(crate) struct Journal(PathBuf);

impl Journal {
    pub(crate) fn new(name: &str) -> Journal {
        let file = std::env::temp_dir().join(format!("mcpool-{name}-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&file);
        Journal(file)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a readable path")
    }

    pub(crate) fn entries(&self) -> Vec<Value> {
        read_journal(&self.0)
    }

    /// How many entries have these members.
    pub(crate) fn count(&self, wanted: Value) -> usize {
        let wanted = wanted.as_object().expect("an object");
        let matches = |entry: &&Value| wanted.iter().all(|(key, value)| entry[key] == *value);
        self.entries().iter().filter(matches).count()
    }

    pub(crate) fn pids(&self) -> Vec<i64> {
        self.entries().iter().filter_map(|entry| entry["pid"].as_i64()).collect()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A zombie that waits for its parent does not count.
pub(crate) fn lives(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !matches!(rest.trim().chars().next(), None | Some('Z')))
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The resident memory of this process, in bytes.
pub(crate) fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = text.split(' ').nth(1).expect("a second field").parse().expect("a number");
    pages * 4096
}

/// How many file descriptors this process has open.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}
