//! Hazard: a refresh token that is used once is sent twice, by calls of one process or of several, or its successor is lost
//! with a killed process: then the login is lost.

mod common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Journal, Web, agreeing, call, manager_at_home, until};
use mcpool::{Manager, OnAuth};
use serde_json::json;

const PROCESSES: usize = 4;
const CALLS: usize = 64;
const KILLS: u64 = 12;
/// The environment of a caller's process: the server, the directory of the test, and which caller it is.
const URL: &str = "MCPOOL_TEST_URL";
const HOME: &str = "MCPOOL_TEST_HOME";
const CALLER: &str = "MCPOOL_TEST_CALLER";
/// Set if its refreshes run in processes of their own.
const APART: &str = "MCPOOL_TEST_APART";

fn manager(url: &str, home: &Path, on_auth: Option<OnAuth>) -> Manager {
    manager_at_home(json!({"url": url}), home, on_auth)
}

/// A server, and the login of a person who has agreed.
struct Site {
    test: &'static str,
    journal: Journal,
    _web: Web,
    url: String,
    home: tempfile::TempDir,
    /// Signed in at the beginning.
    first: Manager,
}

impl Site {
    async fn new(test: &'static str, knobs: &[&str]) -> Site {
        let journal = Journal::new(test);
        let always = ["--oauth", "--oauth-rotate", "--oauth-expire-at-call", "1"];
        let (web, url) = Web::start([&always, &["--journal", journal.path()][..], knobs].concat());
        let home = tempfile::tempdir().unwrap();
        let first = manager(&url, home.path(), Some(agreeing()));
        assert_eq!(first.connect_all().await.unwrap().connected, ["s"]);
        Site { test, journal, _web: web, url, home, first }
    }

    /// Runs this same test in another process, as a caller. It waits for [`Site::go`].
    async fn caller(&self, number: usize, is_apart: bool) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", self.test, "--nocapture"]).stdout(Stdio::null());
        command.env(URL, &self.url).env(HOME, self.home.path()).env(CALLER, number.to_string());
        if is_apart {
            command.env(APART, "");
        }
        let child = command.spawn().unwrap();
        let ready = self.home.path().join(format!("ready-{number}"));
        until("a caller", || ready.exists()).await;
        child
    }

    fn go(&self) {
        std::fs::write(self.home.path().join("go"), "").unwrap();
    }

    fn refreshes(&self) -> usize {
        self.journal.count(json!({"event": "oauth", "grant": "refresh_token"}))
    }

    /// The directory of the login.
    fn login(&self) -> PathBuf {
        let logins = self.home.path().join(".config/mcpool/logins");
        std::fs::read_dir(logins).unwrap().next().unwrap().unwrap().path()
    }

    /// Nobody had to sign in again, here or in another process, and one refresh was enough.
    async fn survived(self) {
        // The first process has only the old token.
        assert_eq!(call(&self.first, "echo", json!({"text": "hi"})).await.unwrap().text(), "hi");
        self.first.close().await;
        let last = manager(&self.url, self.home.path(), None);
        assert_eq!(last.connect_all().await.unwrap().connected, ["s"], "the login has survived");
        last.close().await;
        assert_eq!(self.refreshes(), 1);
        assert_eq!(self.journal.count(json!({"event": "oauth", "at": "authorize"})), 1);
        assert_eq!(self.journal.count(json!({"event": "family_revoked"})), 0);
    }
}

/// Whether this process is a caller: then it has made its calls.
async fn was_caller() -> bool {
    let Ok(number) = std::env::var(CALLER) else { return false };
    let (url, home) = (std::env::var(URL).unwrap(), PathBuf::from(std::env::var(HOME).unwrap()));
    if std::env::var_os(APART).is_some() {
        mcpool::set_relaunch(vec![env!("CARGO_BIN_EXE_mcpool").to_owned()]);
    }
    let manager = manager(&url, &home, None);
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected, ["s"], "{:?}", report.failed);
    std::fs::write(home.join(format!("ready-{number}")), "").unwrap();
    until("the signal", || home.join("go").exists()).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let manager = manager.clone();
        calls.spawn(async move { call(&manager, "echo", json!({"text": "hi"})).await });
    }
    while let Some(answer) = calls.join_next().await {
        assert_eq!(answer.unwrap().unwrap().text(), "hi");
    }
    manager.close().await;
    true
}

/// Many processes make calls with a token that has expired. `is_apart` says whose refreshes run in processes of their own.
async fn many_processes_share_one_refresh(
    test: &'static str,
    knobs: &[&str],
    is_apart: impl Fn(usize) -> bool,
) {
    if was_caller().await {
        return;
    }
    let site = Site::new(test, knobs).await;
    let mut callers = Vec::new();
    for number in 0..PROCESSES {
        callers.push(site.caller(number, is_apart(number)).await);
    }
    site.go();
    for caller in &mut callers {
        assert!(caller.wait().unwrap().success());
    }
    assert_eq!(site.journal.count(json!({"event": "ran", "tool": "echo"})), PROCESSES * CALLS);
    site.survived().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_one_refresh() {
    let knobs = ["--oauth-refresh-delay", "300"];
    many_processes_share_one_refresh("processes_share_one_refresh", &knobs, |_| false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_one_refresh_apart() {
    let knobs = ["--oauth-refresh-delay", "300"];
    many_processes_share_one_refresh("processes_share_one_refresh_apart", &knobs, |_| true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_one_refresh_that_ends_earlier_tokens() {
    let test = "processes_share_one_refresh_that_ends_earlier_tokens";
    let knobs = ["--oauth-refresh-delay", "300", "--oauth-revoke-earlier"];
    many_processes_share_one_refresh(test, &knobs, |number| number % 2 == 0).await;
}

fn kill(mut caller: Child) {
    caller.kill().unwrap();
    caller.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_survives_a_kill_before_the_refresh() {
    if was_caller().await {
        return;
    }
    let site = Site::new("the_login_survives_a_kill_before_the_refresh", &[]).await;
    let caller = site.caller(0, true).await;
    let lock = File::open(site.login()).unwrap();
    lock.lock().unwrap();
    site.go();
    until("the refusal", || site.journal.count(json!({"at": "refused_resource"})) > 0).await;
    kill(caller);
    assert_eq!(site.refreshes(), 0);
    lock.unlock().unwrap();
    site.survived().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_survives_a_kill_before_the_answer() {
    if was_caller().await {
        return;
    }
    let held = tempfile::NamedTempFile::new().unwrap();
    let hold = format!("token={}", held.path().display());
    let test = "the_login_survives_a_kill_before_the_answer";
    let site = Site::new(test, &["--oauth-hold", &hold]).await;
    std::fs::write(&held, "hold").unwrap();
    let caller = site.caller(0, true).await;
    site.go();
    until("the rotation", || site.refreshes() == 1).await;
    kill(caller);
    std::fs::write(&held, "").unwrap();
    site.survived().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_survives_a_kill_after_it_is_stored() {
    if was_caller().await {
        return;
    }
    let site = Site::new("the_login_survives_a_kill_after_it_is_stored", &[]).await;
    let caller = site.caller(0, true).await;
    let record = || std::fs::read(site.login().join("login.json")).unwrap();
    let before = record();
    site.go();
    until("the new record", || record() != before).await;
    kill(caller);
    site.survived().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_survives_a_kill_at_any_moment() {
    if was_caller().await {
        return;
    }
    for round in 0..KILLS {
        let test = "the_login_survives_a_kill_at_any_moment";
        let site = Site::new(test, &["--oauth-refresh-delay", "5"]).await;
        let caller = site.caller(0, true).await;
        site.go();
        tokio::time::sleep(Duration::from_millis(6 * round)).await;
        kill(caller);
        site.survived().await;
    }
}
