//! Hazard: a refresh token is used up although there is no room on the disk for the next one.
// Alone in its process: the limit is one of the process.

mod common;

use common::{Journal, Web, agreeing, call, manager_at_home};
use serde_json::json;

/// Lets no file of this process, and of those that it starts, have any bytes.
fn fill_disk(is_full: bool) {
    let size = if is_full { 0 } else { libc::RLIM_INFINITY };
    let limit = libc::rlimit { rlim_cur: size, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is valid, and its signal is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_refreshed_while_the_disk_is_full() {
    for words in [vec![], vec![env!("CARGO_BIN_EXE_mcpool").to_owned()]] {
        mcpool::set_relaunch(words);
        let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("full-disk"));
        let always = ["--oauth", "--oauth-rotate", "--oauth-expire-at-call", "1"];
        let (_web, url) = Web::start([&always[..], &["--journal", journal.path()]].concat());
        let manager = |on_auth| manager_at_home(json!({"url": url}), home.path(), on_auth);
        let first = manager(Some(agreeing()));
        assert_eq!(first.connect_all().await.unwrap().connected, ["s"]);
        fill_disk(true);
        let refused = call(&first, "echo", json!({"text": "hi"})).await;
        fill_disk(false);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("the login could not be stored"), "{text}");
        let refreshes = || journal.count(json!({"at": "token", "grant": "refresh_token"}));
        assert_eq!(refreshes(), 0);
        first.close().await;
        let second = manager(None);
        assert_eq!(second.connect_all().await.unwrap().connected, ["s"]);
        assert_eq!(call(&second, "echo", json!({"text": "hi"})).await.unwrap().text(), "hi");
        second.close().await;
        assert_eq!(refreshes(), 1);
    }
}
