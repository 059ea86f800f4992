//! Hazard: this process runs out of descriptors, and its servers are blamed for it.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::sync::Arc;

use common::{Web, descriptors, manager, stdio};
use mcpool::{Arguments, CallOptions, Executed, Manager, ServerStatus, State};
use serde_json::json;

/// Every descriptor that this process could still open.
struct Taken {
    files: Vec<File>,
    limit: libc::rlimit,
}

impl Taken {
    fn all() -> Taken {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: it only writes to its argument.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
        // Few are quickly taken.
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
    // None at all, and enough for a part of the work.
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
