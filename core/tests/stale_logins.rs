//! Hazard: a stored token, registration or login is used although it is over, or belongs to somebody else.

mod common;

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use common::{Journal, Web, agreeing, call, manager_at_home};
use mcpool::{ErrorKind, Manager, OnAuth};
use serde_json::{Value, json};

fn manager(url: &str, auth: Value, home: &Path, on_auth: Option<OnAuth>) -> Manager {
    let server = json!({"url": url, "auth": auth, "restart": "never"});
    manager_at_home(server, home, on_auth)
}

/// The file of the one login.
fn login_file(home: &Path) -> PathBuf {
    let mut logins = std::fs::read_dir(home.join(".config/mcpool/logins")).unwrap();
    logins.next().unwrap().unwrap().path().join("login.json")
}

/// Changes the one login.
fn edit_login(home: &Path, edit: impl FnOnce(&mut Value)) {
    let file = login_file(home);
    let mut login: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    edit(&mut login);
    std::fs::write(&file, login.to_string()).unwrap();
}

async fn sign_in(url: &str, auth: Value, home: &Path) {
    let manager = manager(url, auth, home, Some(agreeing()));
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_refresh_token_is_not_sent_again_by_the_next_process() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("refused-refresh"));
    let refuse = ["--oauth-refuse-refresh", "invalid_grant", "--oauth-expire-at-call", "1"];
    let knobs = [&["--oauth", "--journal", journal.path()][..], &refuse].concat();
    let (_web, url) = Web::start(knobs);
    sign_in(&url, json!({}), home.path()).await;
    let first = manager(&url, json!({}), home.path(), None);
    first.connect_all().await.unwrap();
    let error = call(&first, "echo", json!({"text": "hi"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRequired);
    first.close().await;
    let second = manager(&url, json!({}), home.path(), None);
    let report = second.connect_all().await.unwrap();
    assert_eq!(report.failed["s"].kind(), ErrorKind::AuthRequired);
    second.close().await;
    assert_eq!(journal.count(json!({"at": "token", "grant": "refresh_token"})), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_registered_anew_if_its_port_is_taken_or_its_secret_has_expired() {
    for stale in ["port", "secret", "nothing"] {
        let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new(stale));
        let (_web, url) =
            Web::start(["--oauth", "--oauth-exact-redirect", "--journal", journal.path()]);
        sign_in(&url, json!({}), home.path()).await;
        let mut taken = None;
        edit_login(home.path(), |login| {
            login["token"] = Value::Null;
            let client = &mut login["client"];
            let uri = url::Url::parse(client["redirect_uri"].as_str().unwrap()).unwrap();
            match stale {
                "port" => taken = TcpListener::bind(("127.0.0.1", uri.port().unwrap())).ok(),
                "secret" => client["secret_expires_at_ms"] = json!(1),
                _ => {}
            }
        });
        assert_eq!(taken.is_some(), stale == "port");
        sign_in(&url, json!({}), home.path()).await;
        let expected = if stale == "nothing" { 1 } else { 2 };
        assert_eq!(journal.count(json!({"at": "register"})), expected, "{stale}");
        assert_eq!(journal.count(json!({"at": "authorize", "outcome": "ok"})), 2, "{stale}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_of_another_issuer_or_server_is_not_used() {
    for (member, value) in [("issuer", "https://other.example"), ("server_hash", "other")] {
        let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new(member));
        let knobs = ["--oauth", "--journal", journal.path(), "--journal-peers"];
        let (_web, url) = Web::start(knobs);
        let origin = url::Url::parse(&url).unwrap().origin().ascii_serialization();
        let auth = json!({"issuer": origin});
        sign_in(&url, auth.clone(), home.path()).await;
        edit_login(home.path(), |login| login[member] = json!(value));
        let before = journal.entries().len();
        let manager = manager(&url, auth, home.path(), None);
        let report = manager.connect_all().await.unwrap();
        assert_eq!(report.failed["s"].kind(), ErrorKind::AuthRequired, "{member}");
        manager.close().await;
        // The server may read the stream of the sign-in's own manager later.
        let carries = |entry: &Value| {
            let caller = entry["caller"].as_str();
            entry["method"] == "initialize" && caller.is_some_and(|it| !it.is_empty())
        };
        assert!(!journal.entries()[before..].iter().any(carries), "{member}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_others_can_read_or_that_is_theirs_is_not_used() {
    type Change = fn(&Path);
    const ANOTHER: Option<u32> = Some(54_321);
    let mut changes: Vec<(&str, Change)> = vec![
        ("readable", |file| std::fs::set_permissions(file, Permissions::from_mode(0o640)).unwrap()),
        ("writable", |file| std::fs::set_permissions(file, Permissions::from_mode(0o602)).unwrap()),
    ];
    // SAFETY: it only asks for a number.
    if unsafe { libc::geteuid() } == 0 {
        // Others cannot give a file away.
        changes.push(("file", |file| chown(file, ANOTHER, None).unwrap()));
        changes.push(("directory", |file| chown(file.parent().unwrap(), ANOTHER, None).unwrap()));
    }
    changes.push(("unchanged", |_| {}));
    for (what, change) in changes {
        let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new(what));
        let (_web, url) = Web::start(["--oauth", "--journal", journal.path(), "--journal-peers"]);
        sign_in(&url, json!({}), home.path()).await;
        change(&login_file(home.path()));
        let before = journal.entries().len();
        let manager = manager(&url, json!({}), home.path(), None);
        let report = manager.connect_all().await.unwrap();
        manager.close().await;
        // The server may read the stream of the sign-in's own manager later.
        let carries = |entry: &Value| {
            let caller = entry["caller"].as_str();
            entry["method"] == "initialize" && caller.is_some_and(|it| !it.is_empty())
        };
        let is_used = journal.entries()[before..].iter().any(carries);
        assert_eq!(is_used, what == "unchanged", "{what}");
        let failure = report.failed.get("s").map(|error| error.kind());
        assert_eq!(failure, (!is_used).then_some(ErrorKind::AuthRequired), "{what}");
    }
}
