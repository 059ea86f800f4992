//! Hazard: this process runs out of descriptors, and its servers are blamed for it.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::process::Command;
use std::sync::Arc;

use common::{Web, apart, descriptors, manager, stdio};
use mcpool::host::Mailbox;
use mcpool::{Arguments, CallOptions, Error, Executed, Manager, ServerStatus, State};
use serde_json::json;
use tokio::sync::Mutex;

/// The limit applies to all tests of the process.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Holds every descriptor that this process could still open.
struct Taken {
    files: Vec<File>,
    limit: libc::rlimit,
}

impl Taken {
    fn all() -> Taken {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: it only writes to its argument.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
        // A low limit is reached quickly.
        set_limit(libc::rlimit { rlim_cur: descriptors() as u64 + 20, ..limit });
        let files = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        Taken { files, limit }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        set_limit(self.limit);
    }
}

fn set_limit(limit: libc::rlimit) {
    // SAFETY: it only reads its argument.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

fn status(manager: &Manager, server: &str) -> ServerStatus {
    manager.status().into_iter().find(|status| status.name == server).unwrap()
}

async fn sleep_at_once(manager: &Arc<Manager>, calls: usize) -> Vec<mcpool::Result<String>> {
    let calls: Vec<_> = (0..calls)
        .map(|_| {
            let manager = manager.clone();
            tokio::spawn(async move {
                let arguments = Arguments::new(&json!({"ms": 300})).unwrap();
                let result = manager.call_tool("web", "sleep", arguments, CallOptions::default());
                result.await.map(|result| result.text().to_string())
            })
        })
        .collect();
    let mut ends = Vec::new();
    for call in calls {
        ends.push(call.await.unwrap());
    }
    ends
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_shortage_of_descriptors_is_told_as_ours() {
    let _alone = ALONE.lock().await;
    let (_web, url) = Web::start(["--sessions"]);
    let env_file = std::env::temp_dir().join(format!("mcpool-shortage-{}.env", std::process::id()));
    std::fs::write(&env_file, "A=1\n").unwrap();
    let mut with_file = stdio(&[]);
    with_file["envFile"] = json!(env_file);
    let manager = Arc::new(manager(json!({
        "pipe": stdio(&[]),
        "web": {"url": url},
        "late-pipe": stdio(&[]),
        "late-web": {"url": url},
        "late-file": with_file,
    })));
    for server in ["pipe", "web"] {
        manager.connect(server).await.unwrap();
    }
    let late = ["late-pipe", "late-web", "late-file"];

    let mut taken = Taken::all();
    let ends = sleep_at_once(&manager, 16).await;
    let failed: Vec<_> = ends.into_iter().filter_map(Result::err).collect();
    assert!(!failed.is_empty(), "there were sockets left");
    for error in failed {
        assert_eq!(error.code(), "LIMIT_EXCEEDED", "{error:?}");
        assert_eq!(error.executed(), Some(Executed::No));
        assert!(error.hint().is_some());
    }
    let arguments = || Arguments::new(&json!({"text": "x"})).unwrap();
    for server in ["pipe", "web"] {
        let result = manager.call_tool(server, "echo", arguments(), CallOptions::default()).await;
        assert_eq!(result.expect("an answer").text(), "x", "{server}");
        let status = status(&manager, server);
        assert_eq!((status.state, status.restarts), (State::Connected, 0), "{server}");
    }
    // None at all, and enough for part of the work.
    for free in [0, 5] {
        taken.files.truncate(taken.files.len() - free);
        for server in late {
            let error = manager.connect(server).await.expect_err(server);
            assert_eq!(error.code(), "LIMIT_EXCEEDED", "{server}: {error:?}");
            assert!(error.hint().is_some());
            assert_eq!(status(&manager, server).state, State::Reconnecting, "{server}");
        }
    }
    drop(taken);
    for server in late {
        manager.connect(server).await.expect(server);
    }
    assert!(sleep_at_once(&manager, 8).await.iter().all(Result::is_ok));
    manager.close().await;
    std::fs::remove_file(env_file).unwrap();
}

const FRESH: &str = "MCPOOL_TEST_SHORTAGE_FRESH";

/// A fresh process shows what the first method does.
#[test]
fn the_first_verb_of_a_process_without_descriptors_fails_and_the_next_works() {
    let name = "the_first_verb_of_a_process_without_descriptors_fails_and_the_next_works";
    if std::env::var_os(FRESH).is_some() {
        return begin_in_a_shortage();
    }
    let _alone = ALONE.blocking_lock();
    let mut fresh = Command::new(std::env::current_exe().unwrap());
    let ended = fresh.args(["--exact", name, "--nocapture"]).env(FRESH, "1").output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn begin_in_a_shortage() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mcp.json");
    std::fs::write(&file, r#"{"mcpServers": {}}"#).unwrap();
    let mut lazy = stdio(&[]);
    lazy["lazy"] = json!(true);
    let manager = manager(json!({"s": stdio(&[]), "lazy": lazy}));
    let unused = common::manager(json!({"s": stdio(&[])}));
    let arguments = || Arguments::new(&json!({"text": "x"})).unwrap();
    let call = || manager.call_tool("lazy", "echo", arguments(), CallOptions::default());
    let follow = || Manager::open(&file, apart().watch(true));
    // Waits without its own descriptor.
    let here = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let check = |error: Error| {
        assert_eq!(error.code(), "LIMIT_EXCEEDED", "{error:?}");
        assert!(error.hint().is_some());
    };

    let mut taken = Taken::all();
    check(here.block_on(manager.connect("s")).expect_err("nothing to connect with"));
    check(here.block_on(manager.connect_all()).expect_err("nothing to connect with"));
    let error = here.block_on(call()).expect_err("nothing to start it with");
    assert_eq!(error.executed(), Some(Executed::No));
    check(error);
    check(Mailbox::new().err().expect("nothing to ring with"));
    let events = unused.events();
    here.block_on(unused.close());
    assert!(here.block_on(events.next()).is_none(), "whoever reads events is told of the end");

    // Enough for part of the work.
    for _ in 1..8 {
        taken.files.pop();
        check(here.block_on(manager.connect("s")).expect_err("too few"));
        check(follow().err().expect("too few"));
    }
    drop(taken);
    here.block_on(manager.connect("s")).unwrap();
    assert_eq!(here.block_on(call()).unwrap().text(), "x");
    assert_eq!(here.block_on(unused.connect("s")).expect_err("it is closed").code(), "CLOSED");
    Mailbox::new().unwrap();
    follow().unwrap();
    here.block_on(manager.close());
}
