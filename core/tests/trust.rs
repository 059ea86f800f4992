//! Hazard: a cloned repository starts programs or reads our keys before the user has agreed.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{apart, fixture, stdio, until};
use mcpool::{
    Arguments, CallOptions, DiscoverOptions, EventKind, HostEnv, Manager, ManagerOptions,
    PendingWithoutCache, Pool, PoolOptions, State, Trust, TrustQuestion,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// A home with a cloned project, which declares one program and further content.
struct Site {
    _dir: TempDir,
    project: PathBuf,
    host_env: HostEnv,
}

impl Site {
    fn new(servers: Value) -> Site {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("home/project");
        std::fs::create_dir_all(&project).unwrap();
        let env = [("PATH", std::env::var("PATH").unwrap()), ("TOKEN", "marker-77".to_owned())];
        let env: BTreeMap<_, _> = env.map(|(name, value)| (name.to_owned(), value)).into();
        let host_env = HostEnv::new(Some(env), Some(dir.path().join("home")), None);
        let site = Site { _dir: dir, project, host_env };
        site.write(servers);
        site
    }

    fn file(&self) -> PathBuf {
        self.project.join(".mcp.json")
    }

    fn write(&self, servers: Value) {
        std::fs::write(self.file(), json!({"mcpServers": servers}).to_string()).unwrap();
    }

    async fn manager(&self, trust: Trust) -> Manager {
        self.with(apart().trust(trust)).await
    }

    async fn with(&self, options: ManagerOptions) -> Manager {
        let discover =
            DiscoverOptions::default().cwd(self.project.clone()).host_env(self.host_env.clone());
        Manager::discover(discover, options).await.unwrap()
    }

    fn trust(&self, path: &Path, only: Option<&[&str]>) -> mcpool::Result<Vec<mcpool::Trusted>> {
        let names = |only: &[&str]| only.iter().map(|&name| name.to_owned()).collect();
        let only: Option<Vec<String>> = only.map(names);
        mcpool::trust(path, only.as_deref(), &self.host_env)
    }
}

fn state(manager: &Manager, server: &str) -> State {
    manager.status().into_iter().find(|status| status.name == server).unwrap().state
}

async fn call(manager: &Manager, server: &str) -> mcpool::Result<String> {
    let arguments = Arguments::new(&json!({"text": "hi"})).unwrap();
    let options = CallOptions::default();
    Ok(manager.call_tool(server, "echo", arguments, options).await?.text().to_string())
}

/// Counts the questions and answers each with `answer`, once it may.
fn asking(answer: bool, gate: Option<Arc<Notify>>) -> (Trust, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let callback = move |_: TrustQuestion| -> std::pin::Pin<Box<dyn Future<Output = bool> + Send>> {
        counter.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.notified().await;
            }
            answer
        })
    };
    (Trust::Ask(Arc::new(callback)), asked)
}

#[tokio::test]
async fn a_projects_program_is_blocked_until_it_is_trusted() {
    let site = Site::new(json!({"s": stdio(&[])}));
    let manager = site.manager(Trust::Stored).await;
    let events = manager.events();
    let report = manager.connect_all().await.unwrap();
    assert_eq!((report.blocked, report.failed.len()), (vec!["s".to_owned()], 0));
    let status = &manager.status()[0];
    assert_eq!((status.state, status.attempt, status.next_retry_ms), (State::Blocked, 0, None));
    let error = status.error.clone().unwrap();
    let path = site.file().display().to_string();
    assert_eq!(error.code(), "UNTRUSTED");
    assert_eq!(
        error.message(),
        format!("Refused to start stdio server \"s\" because {path} is not trusted")
    );
    assert_eq!(error.hint(), Some(&*format!("mcpool trust {path}")));
    assert_eq!(call(&manager, "s").await.unwrap_err().code(), "UNTRUSTED");
    assert_eq!(manager.connect("s").await.unwrap_err().code(), "UNTRUSTED");
    let event = events.next().await.unwrap();
    assert!(matches!(event.kind, EventKind::Status { state: State::Blocked, .. }), "{event:?}");

    let trusted = site.trust(&site.file(), None).unwrap();
    assert_eq!(trusted.len(), 1);
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    assert_eq!(call(&manager, "s").await.unwrap(), "hi");
    manager.close().await;
}

#[tokio::test]
async fn trust_may_be_given_to_a_directory_and_by_name_and_taken_back() {
    let site = Site::new(json!({"a": stdio(&[]), "b": stdio(&[])}));
    assert_eq!(site.trust(&site.file(), Some(&["c"])).unwrap_err().code(), "SERVER_NOT_FOUND");
    assert_eq!(site.trust(&site.project, Some(&[])).unwrap(), []);
    site.trust(&site.project, Some(&["a"])).unwrap();
    let manager = site.manager(Trust::Stored).await;
    let report = manager.connect_all().await.unwrap();
    assert_eq!((report.connected, report.blocked), (vec!["a".to_owned()], vec!["b".to_owned()]));
    site.trust(&site.project, None).unwrap();
    let report = manager.reload().await.unwrap();
    assert_eq!((report.unchanged.len(), report.connect.connected), (2, vec!["b".to_owned()]));
    let taken = mcpool::untrust(&site.project, None, &site.host_env).unwrap();
    assert_eq!(taken.len(), 2);
    manager.reload().await.unwrap();
    assert_eq!((state(&manager, "a"), state(&manager, "b")), (State::Blocked, State::Blocked));
    manager.close().await;
}

#[tokio::test]
async fn a_changed_definition_is_one_that_nobody_has_trusted() {
    let site = Site::new(json!({"s": stdio(&[])}));
    site.trust(&site.file(), None).unwrap();
    let manager = site.manager(Trust::Stored).await;
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    let mut changed = stdio(&[]);
    changed["env"] = json!({"A": "1"});
    site.write(json!({"s": changed}));
    let report = manager.reload().await.unwrap();
    assert_eq!(
        (report.restarted, report.connect.blocked),
        (vec!["s".to_owned()], vec!["s".to_owned()])
    );
    assert_eq!(state(&manager, "s"), State::Blocked);
    site.write(json!({"s": stdio(&[])}));
    assert_eq!(manager.reload().await.unwrap().connect.connected, ["s"]);
    manager.close().await;
}

#[tokio::test]
async fn trust_that_was_taken_back_counts_also_when_a_setting_changes() {
    let site = Site::new(json!({"s": stdio(&[])}));
    site.trust(&site.file(), None).unwrap();
    let manager = site.manager(Trust::Stored).await;
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    mcpool::untrust(&site.file(), None, &site.host_env).unwrap();
    let mut slower = stdio(&[]);
    slower["timeout"] = json!(40_000);
    site.write(json!({"s": slower}));
    let report = manager.reload().await.unwrap();
    assert_eq!((report.updated.len(), report.connect.blocked), (0, vec!["s".to_owned()]));
    assert_eq!(state(&manager, "s"), State::Blocked);
    manager.close().await;
}

#[tokio::test]
async fn a_program_that_moves_into_the_projects_file_is_the_projects() {
    let site = Site::new(json!({}));
    let mut program = stdio(&[]);
    program["cwd"] = json!("/");
    let users = site.project.parent().unwrap().join(".cursor/mcp.json");
    std::fs::create_dir_all(users.parent().unwrap()).unwrap();
    std::fs::write(&users, json!({"mcpServers": {"s": program}}).to_string()).unwrap();
    let manager = site.manager(Trust::Stored).await;
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    std::fs::remove_file(&users).unwrap();
    site.write(json!({"s": program}));
    assert_eq!(manager.reload().await.unwrap().connect.blocked, ["s"]);
    manager.close().await;
}

#[tokio::test]
async fn a_link_to_a_trusted_file_borrows_no_trust() {
    let site = Site::new(json!({"s": {"command": "./server"}}));
    site.trust(&site.file(), None).unwrap();
    let clone = site.project.with_file_name("clone");
    for (link, target) in [(".mcp.json", "../project/.mcp.json"), ("server", "/bin/false")] {
        std::fs::create_dir_all(&clone).unwrap();
        std::os::unix::fs::symlink(target, clone.join(link)).unwrap();
    }
    let discover = DiscoverOptions::default().cwd(clone.clone()).host_env(site.host_env.clone());
    let manager = Manager::discover(discover, apart()).await.unwrap();
    assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);

    // By its own path it can be trusted and revoked like any other file.
    let link = clone.join(".mcp.json");
    assert_eq!(site.trust(&link, None).unwrap().len(), 1);
    let report = manager.connect_all().await.unwrap();
    assert_eq!((report.blocked.len(), report.failed.len()), (0, 1));
    assert_eq!(mcpool::untrust(&link, None, &site.host_env).unwrap().len(), 1);
    assert_eq!(mcpool::trusted(&site.host_env).unwrap().len(), 1);
    manager.close().await;
}

#[tokio::test]
async fn policies_decide_without_the_store() {
    let site = Site::new(json!({"s": stdio(&[])}));
    let manager = site.manager(Trust::All).await;
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    manager.close().await;
    site.trust(&site.file(), None).unwrap();
    let manager = site.manager(Trust::None).await;
    assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);
    manager.close().await;
}

#[tokio::test]
async fn one_managers_trust_is_not_anothers() {
    let site = Site::new(json!({"s": stdio(&[])}));
    let pool = Pool::new(PoolOptions::default());
    let open = |trust| apart().trust(trust).pool(pool.clone());
    let (trusting, wary) =
        (site.with(open(Trust::All)).await, site.with(open(Trust::Stored)).await);
    assert_eq!(trusting.connect_all().await.unwrap().connected, ["s"]);
    assert_eq!(wary.connect_all().await.unwrap().blocked, ["s"]);
    assert!(call(&trusting, "s").await.is_ok());
    assert_eq!(call(&wary, "s").await.unwrap_err().code(), "UNTRUSTED");
    assert!(wary.get_tools().tools().is_empty());
    trusting.close().await;
    wary.close().await;
}

#[tokio::test]
async fn everybody_who_connects_shares_one_question_and_children_its_answer() {
    let site = Site::new(json!({"s": stdio(&[])}));
    let (trust, asked) = asking(true, None);
    let manager = site.manager(trust).await;
    let all: Vec<_> = (0..8).map(|_| tokio::spawn(manager.connect_all())).collect();
    for one in all {
        assert_eq!(one.await.unwrap().unwrap().connected, ["s"]);
    }
    let child = manager.child().unwrap();
    assert_eq!(child.connect_all().await.unwrap().connected, ["s"]);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    child.close().await;
    manager.close().await;
}

#[tokio::test]
async fn a_no_is_kept_until_the_store_says_yes() {
    let site = Site::new(json!({"s": stdio(&[])}));
    let (trust, asked) = asking(false, None);
    let manager = site.manager(trust).await;
    for _ in 0..2 {
        assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    site.trust(&site.file(), None).unwrap();
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    manager.close().await;
}

#[tokio::test]
async fn an_open_question_holds_up_nobody_else_and_a_late_yes_connects() {
    let mut slow = stdio(&[]);
    slow["timeout"] = json!(2000);
    let site = Site::new(json!({"s": slow}));
    let home = site.project.parent().unwrap().join(".config/mcpool");
    std::fs::create_dir_all(&home).unwrap();
    let users = json!({"mcpServers": {"mine": stdio(&[])}});
    std::fs::write(home.join("mcp.json"), users.to_string()).unwrap();
    let gate = Arc::new(Notify::new());
    let (trust, _) = asking(true, Some(gate.clone()));
    let pending_without_cache = PendingWithoutCache::Skip;
    let manager =
        site.with(apart().trust(trust).pending_without_cache(pending_without_cache)).await;
    // Even on a slow machine, only the open question is late when the gate closes.
    manager.connect("mine").await.unwrap();
    let report = manager.connect_all().await.unwrap();
    assert_eq!((report.connected, report.pending), (vec!["mine".to_owned()], vec!["s".to_owned()]));
    assert_eq!(manager.connect("s").await.unwrap_err().code(), "UNTRUSTED");
    // The product's "timeout" also limits the call: with a longer one, the question ends first.
    let options = CallOptions::default().timeout(Duration::from_secs(60));
    let arguments = Arguments::new(&json!({"text": "hi"})).unwrap();
    let refused = manager.call_tool("s", "echo", arguments, options).await.unwrap_err();
    assert_eq!(refused.code(), "UNTRUSTED");
    assert_eq!(state(&manager, "s"), State::Blocked);
    gate.notify_one();
    until("the late yes connects it", || state(&manager, "s") == State::Connected).await;
    assert!(call(&manager, "s").await.is_ok());
    manager.close().await;
}

#[tokio::test]
async fn who_never_answers_or_panics_has_said_no() {
    let mut slow = stdio(&[]);
    slow["timeout"] = json!(300);
    let site = Site::new(json!({"s": slow}));
    let (trust, _) = asking(true, Some(Arc::default()));
    let manager = site.manager(trust).await;
    assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);
    manager.close().await;
    let panics = Trust::Ask(Arc::new(|_| panic!("as it happens")));
    let manager = site.manager(panics).await;
    assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);
    manager.close().await;
}

#[tokio::test]
async fn the_time_of_an_answer_is_the_calls_own() {
    let mut lazy = stdio(&[]);
    lazy["lazy"] = json!(true);
    let site = Site::new(json!({}));
    std::fs::create_dir(site.project.join(".mcpool")).unwrap();
    let file = json!({"mcpServers": {"p": lazy}}).to_string();
    std::fs::write(site.project.join(".mcpool/mcp.json"), file).unwrap();
    let ask = |_: TrustQuestion| -> std::pin::Pin<Box<dyn Future<Output = bool> + Send>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(1000)).await;
            true
        })
    };
    let manager = site.manager(Trust::Ask(Arc::new(ask))).await;
    let arguments = Arguments::new(&json!({"ms": 1000})).unwrap();
    let options = CallOptions::default().timeout(Duration::from_millis(1600));
    let late = manager.call_tool("p", "sleep", arguments, options).await.unwrap_err();
    assert_eq!(late.code(), "TOOL_TIMEOUT", "{late}");
    manager.close().await;
}

#[tokio::test]
async fn closing_and_disconnecting_do_not_wait_for_an_answer() {
    let site = Site::new(json!({"s": stdio(&[])}));
    let (trust, asked) = asking(true, Some(Arc::default()));
    let manager = site.manager(trust).await;
    let connecting = tokio::spawn(manager.connect("s"));
    until("the question is put", || asked.load(Ordering::SeqCst) == 1).await;
    manager.disconnect("s").await.unwrap();
    let outcome = tokio::time::timeout(Duration::from_secs(5), connecting).await.unwrap();
    assert_eq!(outcome.unwrap().unwrap_err().code(), "TOOL_UNAVAILABLE");
    let connecting = tokio::spawn(manager.connect_all());
    until("it waits again", || state(&manager, "s") == State::Blocked).await;
    manager.close().await;
    let outcome = tokio::time::timeout(Duration::from_secs(5), connecting).await.unwrap();
    assert_eq!(outcome.unwrap().unwrap_err().code(), "CLOSED");
}

#[tokio::test]
async fn a_question_shows_what_the_project_wrote_and_nothing_of_the_user() {
    let mut server = stdio(&[]);
    server["env"] = json!({"API_KEY": "marker-99", "REFERENCE": "${TOKEN}"});
    let site = Site::new(json!({"s": server}));
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let callback =
        move |question: TrustQuestion| -> std::pin::Pin<Box<dyn Future<Output = bool> + Send>> {
            let _ = tell.send(question);
            Box::pin(std::future::ready(false))
        };
    let manager = site.manager(Trust::Ask(Arc::new(callback))).await;
    manager.connect_all().await.unwrap();
    let question = heard.recv().await.unwrap();
    assert_eq!((question.server.as_str(), question.path), ("s", site.file().display().to_string()));
    let shown = question.definition.to_string();
    assert!(shown.contains(fixture().to_str().unwrap()), "{shown}");
    assert!(shown.contains("marker-99") && !shown.contains("marker-77"), "{shown}");
    manager.close().await;
}

#[tokio::test]
async fn a_damaged_store_trusts_nothing_and_is_told_once() {
    let site = Site::new(json!({"s": stdio(&[])}));
    site.trust(&site.file(), None).unwrap();
    let store = site.host_env.config_dir().unwrap().join("trust.json");
    std::fs::write(&store, "nonsense").unwrap();
    let manager = site.manager(Trust::Stored).await;
    for _ in 0..2 {
        assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);
    }
    let warnings = manager.warnings();
    assert_eq!(
        warnings.iter().filter(|line| line.contains("trust.json")).count(),
        1,
        "{warnings:?}"
    );
    assert_eq!(std::fs::read_to_string(&store).unwrap(), "nonsense");
    manager.close().await;
}

#[tokio::test]
async fn a_projects_remote_server_gets_nothing_of_ours_but_what_a_trusted_command_says() {
    let (_web, url) = common::Web::start([]);
    let marker = "marker-77";
    let headers = json!({"A": "<${TOKEN}>", "B": "!echo $TOKEN", "C": "<${MINE}>"});
    let server =
        json!({"url": format!("{url}?k=${{TOKEN}}"), "headers": headers, "env": {"MINE": "own"}});
    let site = Site::new(json!({}));
    // In mcpool's own file, because others do not support commands.
    let file = site.project.join(".mcpool/mcp.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, json!({"mcpServers": {"s": server}}).to_string()).unwrap();
    let manager = site.manager(Trust::Stored).await;
    // The server is on this machine.
    assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"], "{:?}", manager.status());
    let warnings = manager.warnings();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    site.trust(&file, None).unwrap();
    let report = manager.reload().await.unwrap();
    assert_eq!(report.restarted, ["s"]);
    let seen = headers_seen(&manager).await;
    assert!(seen.contains("<>") && seen.contains("<own>"), "{seen}");
    assert_eq!(seen.matches(marker).count(), 1, "{seen}");
    manager.close().await;
}

async fn headers_seen(manager: &Manager) -> String {
    let none = Arguments::new(&json!({})).unwrap();
    let options = CallOptions::default();
    manager.call_tool("s", "headers", none, options).await.unwrap().text().to_string()
}

#[tokio::test]
async fn a_yes_is_to_what_was_shown() {
    let mut server = stdio(&[]);
    server["envFile"] = json!("vars");
    let site = Site::new(json!({"s": server}));
    let vars = site.project.join("vars");
    std::fs::write(&vars, "WHAT=hostile").unwrap();
    let (trust, asked) = asking(true, None);
    let manager = site.manager(trust).await;
    // The file is harmless when the question is made, but was not when it was found.
    std::fs::write(&vars, "WHAT=harmless").unwrap();
    assert_eq!(manager.connect_all().await.unwrap().blocked, ["s"]);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    std::fs::write(&vars, "WHAT=hostile").unwrap();
    assert_eq!(manager.connect("s").await.unwrap_err().code(), "UNTRUSTED");
    manager.close().await;
}

#[test]
fn a_question_shows_all_of_the_clone_and_nothing_outside_of_it() {
    let site = Site::new(json!({}));
    let sub = site.project.join("sub");
    std::fs::create_dir_all(site.project.join(".git")).unwrap();
    std::fs::create_dir_all(&sub).unwrap();
    let with_file = |path: &str| {
        let mut server = stdio(&[]);
        server["envFile"] = json!(path);
        server
    };
    let servers = json!({"a": with_file("../beside"), "b": with_file("../../secret"), "c": with_file("long")});
    std::fs::write(sub.join(".mcp.json"), json!({"mcpServers": servers}).to_string()).unwrap();
    let long = format!("A={}last words", "x".repeat(200_000));
    std::fs::write(site.project.join("beside"), "LD_PRELOAD=./x.so").unwrap();
    std::fs::write(site.project.join("../secret"), "SECRET=marker").unwrap();
    std::fs::write(sub.join("long"), &long).unwrap();
    let questions = mcpool::questions(&sub, &site.host_env).unwrap();
    let shown =
        |at: usize| (questions[at].files[0].text.as_deref(), questions[at].files[0].outside);
    assert_eq!(shown(0), (Some("LD_PRELOAD=./x.so"), false));
    assert_eq!(shown(1), (None, true));
    assert_eq!(shown(2), (Some(long.as_str()), false));
}

#[test]
fn one_broken_file_keeps_nobody_from_trusting_the_others() {
    let site = Site::new(json!({"s": stdio(&[])}));
    std::fs::create_dir_all(site.project.join(".cursor")).unwrap();
    std::fs::write(site.project.join(".cursor/mcp.json"), "{").unwrap();
    assert_eq!(site.trust(&site.project, None).unwrap().len(), 1);
    let broken = site.project.join(".cursor/mcp.json");
    assert_eq!(site.trust(&broken, None).unwrap_err().code(), "CONFIG_INVALID");
}

#[tokio::test]
async fn trust_in_a_bridge_is_trust_in_its_direct_way() {
    let (_web, url) = common::Web::start([]);
    let bridge = json!({"command": "npx", "args": ["-y", "mcp-remote", url]});
    let site = Site::new(json!({"s": bridge}));
    site.trust(&site.file(), None).unwrap();
    let discover = DiscoverOptions::default()
        .cwd(site.project.clone())
        .mcp_remote(mcpool::McpRemote::Use)
        .host_env(site.host_env.clone());
    let manager = Manager::discover(discover, apart()).await.unwrap();
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    manager.close().await;
}

#[tokio::test]
async fn the_callback_is_asked_about_tls_files_at_a_public_address() {
    let tls = json!({"ca": "ca.pem"});
    let site = Site::new(json!({"s": {"url": "https://public.example/", "tls": tls}}));
    let (trust, asked) = asking(false, None);
    let manager = site.manager(trust).await;
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.blocked, ["s"], "{report:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    manager.close().await;
}
