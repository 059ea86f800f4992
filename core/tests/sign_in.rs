//! Hazard: somebody else answers a sign-in, a login of one identity serves another one, or a sign-in hangs or leaves
//! something behind.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use common::page::{load, visit};
use common::{Journal, Web, agreeing, call, logged, manager_at_home, texts, until};
use mcpool::host::logs::{LevelFilter, LogReader};
use mcpool::{
    Arguments, AuthorizeOptions, CallOptions, ErrorKind, Identity, Manager, OnAuth, State,
};
use serde_json::{Value, json};
use url::Url;

fn manager(url: &str, auth: Value, home: &Path, on_auth: Option<OnAuth>) -> Manager {
    let server = json!({"url": url, "auth": auth, "restart": "never"});
    manager_at_home(server, home, on_auth)
}

/// The page that the server's error names.
async fn page(manager: &Manager) -> Url {
    let error = manager.connect("s").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRequired);
    Url::parse(error.auth_url().unwrap()).unwrap()
}

fn parameter(url: &Url, name: &str) -> String {
    url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
}

/// The status of the answer to a request with this head; 0 if there is none.
fn status_of(port: u16, head: &str) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let _ = stream.write_all(format!("{head}\r\n\r\n").as_bytes());
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap_or(0);
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_at_the_callback_change_nothing() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("strangers"));
    let (_web, url) = Web::start(["--oauth", "--journal", journal.path()]);
    let manager = manager(&url, json!({}), home.path(), None);
    let page = page(&manager).await;
    let callback = Url::parse(&parameter(&page, "redirect_uri")).unwrap();
    let (port, state) = (callback.port().unwrap(), parameter(&page, "state"));
    assert_eq!(callback.host_str(), Some("127.0.0.1"));
    let own = format!("Host: 127.0.0.1:{port}");
    for (head, status) in [
        (format!("GET /callback?code=x&state=other HTTP/1.1\r\n{own}"), 400),
        (format!("GET /callback?code=x HTTP/1.1\r\n{own}"), 400),
        (format!("GET /callback?error=access_denied&state= HTTP/1.1\r\n{own}"), 400),
        (format!("GET / HTTP/1.1\r\n{own}"), 404),
        (format!("POST /callback?code=x&state={state} HTTP/1.1\r\n{own}"), 404),
        // A name that somebody made to lead to this machine.
        (format!("GET /callback?code=x&state={state} HTTP/1.1\r\nHost: evil.example:{port}"), 421),
        (format!("GET /callback?code=x&state={state} HTTP/1.1\r\nHost: localhost:{port}"), 421),
        (format!("GET /callback?code=x&state={state} HTTP/1.1"), 421),
    ] {
        assert_eq!(status_of(port, &head), status, "{head}");
    }
    let huge = format!("GET /callback?code={} HTTP/1.1\r\n{own}", "x".repeat(100_000));
    assert_ne!(status_of(port, &huge), 200);
    // Visitors who say nothing.
    let silent: Vec<_> = (0..8).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let answer = load(page.as_str()).location.unwrap();
    let answer = Url::parse(&answer).unwrap();
    let target = &answer[url::Position::BeforePath..];
    assert_eq!(status_of(port, &format!("GET {target} HTTP/1.1\r\n{own}")), 200);
    until("the sign-in", || manager.status()[0].state == State::Connected).await;
    drop(silent);
    assert_eq!(journal.count(json!({"event": "oauth", "at": "token"})), 1);
    // The address is gone with the sign-in.
    until("the end of the listener", || TcpStream::connect(("127.0.0.1", port)).is_err()).await;
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_used_once() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("once"));
    let knobs = ["--oauth", "--oauth-fault", "hang:token", "--journal", journal.path()];
    let (_web, url) = Web::start(knobs);
    let manager = manager(&url, json!({}), home.path(), None);
    let page = page(&manager).await;
    let answer = load(page.as_str()).location.unwrap();
    let first = {
        let (manager, answer) = (manager.clone(), answer.clone());
        tokio::spawn(async move { manager.complete_auth(&answer).await })
    };
    until("the first answer", || journal.count(json!({"at": "token"})) == 1).await;
    // The second ends as the first. A token endpoint that never answers is given up.
    let second = manager.complete_auth(&answer).await.unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AuthFailed);
    assert_eq!(first.await.unwrap().unwrap_err().kind(), ErrorKind::AuthFailed);
    assert_eq!(journal.count(json!({"at": "token"})), 1);
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_is_received_on_the_port_of_the_settings_or_not_at_all() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("port"));
    let (_web, url) =
        Web::start(["--oauth", "--oauth-exact-redirect", "--journal", journal.path()]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let manager = manager(&url, json!({"callbackPort": port}), home.path(), None);
    let error = manager.connect("s").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthFailed);
    assert!(error.hint().unwrap().contains("\"auth.callbackPort\""), "{error}");
    assert_eq!(journal.count(json!({"at": "register"})), 0);
    drop(taken);
    let page = page(&manager).await;
    assert_eq!(visit(page.as_str()).status, 200);
    until("the sign-in", || manager.status()[0].state == State::Connected).await;
    manager.close().await;
    let callback = format!("http://127.0.0.1:{port}/callback");
    for at in ["register", "authorize", "token"] {
        let wanted = json!({"at": at, "redirect_uri": callback});
        assert_eq!(journal.count(wanted), 1, "{at}");
        assert_eq!(journal.count(json!({"at": at})), 1, "{at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_manager_leaves_no_sign_in_behind() {
    let home = tempfile::tempdir().unwrap();
    let (_web, url) = Web::start(["--oauth", "--oauth-idle-user"]);
    let manager = manager(&url, json!({}), home.path(), None);
    let page = page(&manager).await;
    let port = Url::parse(&parameter(&page, "redirect_uri")).unwrap().port().unwrap();
    TcpStream::connect(("127.0.0.1", port)).unwrap();
    let waiting = {
        let manager = manager.clone();
        tokio::spawn(async move { manager.authorize("s", AuthorizeOptions::default()).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    manager.close().await;
    drop(manager);
    waiting.await.unwrap().unwrap_err();
    until("the end of the listener", || TcpStream::connect(("127.0.0.1", port)).is_err()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_identity_has_a_login_of_its_own() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("logins"));
    let knobs = ["--oauth", "--journal", journal.path(), "--journal-peers"];
    let (_web, url) = Web::start(knobs);
    let manager = manager(&url, json!({}), home.path(), Some(agreeing()));
    manager.connect_all().await.unwrap();
    for name in ["ann", "bob", "ann"] {
        let options = CallOptions::default().identity(Identity::new(name).unwrap());
        let arguments = Arguments::new(&json!({"text": name})).unwrap();
        let answer = manager.call_tool("s", "echo", arguments, options).await.unwrap();
        assert_eq!(answer.text(), name);
    }
    call(&manager, "echo", json!({"text": "own"})).await.unwrap();
    manager.close().await;
    assert_eq!(journal.count(json!({"at": "token", "outcome": "ok"})), 3);
    // Each session belongs to one token.
    let calls: Vec<Value> = journal.entries();
    let calls = calls.iter().filter(|entry| entry["method"] == "tools/call");
    let callers: Vec<&str> = calls.filter_map(|entry| entry["caller"].as_str()).collect();
    let distinct: std::collections::BTreeSet<&str> = callers.iter().copied().collect();
    assert_eq!(distinct.len(), 3, "{callers:?}");
    assert_eq!(std::fs::read_dir(home.path().join(".config/mcpool/logins")).unwrap().count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_of_another_server_is_not_used() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("swapped"));
    let (_one, one_url) = Web::start(["--oauth"]);
    let (_other, other_url) =
        Web::start(["--oauth", "--journal", journal.path(), "--journal-peers"]);
    let first = manager(&one_url, json!({}), home.path(), Some(agreeing()));
    first.connect_all().await.unwrap();
    first.close().await;
    let logins = home.path().join(".config/mcpool/logins");
    let stored = std::fs::read_dir(&logins).unwrap().next().unwrap().unwrap().path();
    let second = manager(&other_url, json!({}), home.path(), None);
    page(&second).await;
    second.close().await;
    let mut of_second = std::fs::read_dir(&logins).unwrap().flatten().map(|entry| entry.path());
    let of_second = of_second.find(|path| *path != stored).unwrap();
    std::fs::copy(stored.join("login.json"), of_second.join("login.json")).unwrap();
    let third = manager(&other_url, json!({}), home.path(), None);
    page(&third).await;
    third.close().await;
    let foreign = |entry: &Value| entry["caller"].as_str().is_some_and(|it| !it.is_empty());
    assert_eq!(journal.entries().iter().filter(|entry| foreign(entry)).count(), 0);
    // The same by name: the login of a credential belongs to the server that issued it.
    let named = json!({"credentialId": "work"});
    let fourth = manager(&one_url, named.clone(), home.path(), Some(agreeing()));
    assert_eq!(fourth.connect_all().await.unwrap().connected, ["s"]);
    fourth.close().await;
    let fifth = manager(&other_url, named, home.path(), None);
    page(&fifth).await;
    fifth.close().await;
    assert_eq!(journal.entries().iter().filter(|entry| foreign(entry)).count(), 0);
    assert!(texts(&logins).contains("at-"), "the test reads the right files");
}

/// The tokens, codes and secrets of the fixture begin so, and are long.
fn leak(said: &str) -> Option<&str> {
    let marks = ["at-", "rt-", "code-", "secret-", "swordfish"];
    let is_secret = |at: usize| {
        let rest = &said[at..];
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap();
        word.len() > 16 && word.bytes().any(|byte| byte.is_ascii_digit()) || word == "swordfish"
    };
    let found =
        marks.iter().flat_map(|mark| said.match_indices(mark)).find(|(at, _)| is_secret(*at));
    found.map(|(at, _)| &said[at.saturating_sub(100)..(at + 60).min(said.len())])
}

/// A server that repeats its token, an authorisation server that repeats what it is sent, expiries and refusals.
#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_told_to_anybody() {
    let logs = LogReader::claim().expect("the only one");
    logs.set_level(LevelFilter::TRACE);
    let echo = ["--oauth-refuse-token", "invalid_grant", "--oauth-token-error", "echo"];
    let parrot = ["--parrot", "call", "--parrot", "greeting", "--parrot", "tools"];
    for (knobs, secret) in [
        (&parrot[..], false),
        (&["--oauth-expire-at-call", "1", "--oauth-refuse-refresh", "invalid_grant"], false),
        (&["--oauth-expire-at-call", "1", "--oauth-rotate", "--oauth-dpop"], false),
        (&echo, false),
        (&[&echo[..], &["--oauth-client", "ours:swordfish"]].concat(), true),
        (&["--oauth-client-auth", "client_secret_basic", "--oauth-token-error", "echo"], false),
    ] {
        let home = tempfile::tempdir().unwrap();
        let (_web, url) = Web::start([&["--oauth"], knobs].concat());
        let auth = match secret {
            true => json!({"clientId": "ours", "clientSecret": "swordfish"}),
            false => json!({}),
        };
        let manager = manager(&url, auth, home.path(), Some(agreeing()));
        let events = manager.events();
        let report = manager.connect_all().await.unwrap();
        let mut said = format!("{report:?} {}", serde_json::to_string(&report).unwrap());
        for _ in 0..2 {
            if let Err(error) = call(&manager, "echo", json!({"text": "hi"})).await {
                said += &format!("{error:?} {error} {}", serde_json::to_string(&error).unwrap());
            }
        }
        said += &format!("{:?} {:?}", manager.status(), manager.warnings());
        said += &format!("{:?}", manager.get_tools().tools());
        manager.close().await;
        while let Some(event) = events.next().await {
            said += &serde_json::to_string(&event).unwrap();
        }
        said += &logged(&logs);
        assert_eq!(leak(&said), None, "{knobs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_is_closed_too_early_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let hold = home.path().join("hold");
    std::fs::write(&hold, "hold").unwrap();
    let (journal, held) = (Journal::new("closed"), format!("token={}", hold.display()));
    let knobs = ["--oauth", "--oauth-hold", &held, "--journal", journal.path()];
    let (_web, url) = Web::start(knobs);
    let manager = manager(&url, json!({}), home.path(), None);
    let page = page(&manager).await;
    let answer = Url::parse(&load(page.as_str()).location.unwrap()).unwrap();
    let port = answer.port().unwrap();
    let mut browser = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let target = &answer[url::Position::BeforePath..];
    write!(browser, "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").unwrap();
    until("the exchange", || journal.count(json!({"at": "token"})) == 1).await;
    drop(browser);
    tokio::time::sleep(Duration::from_millis(200)).await;
    std::fs::write(&hold, "go").unwrap();
    until("the sign-in", || manager.status()[0].state == State::Connected).await;
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_cannot_be_stored_is_refreshed_all_the_same() {
    let (home, journal) = (tempfile::tempdir().unwrap(), Journal::new("unstored"));
    std::fs::write(home.path().join(".config"), "no directory").unwrap();
    let expire = ["--oauth-expire-at-call", "2", "--oauth-expire-at-call", "4"];
    let knobs = [&["--oauth", "--oauth-rotate", "--journal", journal.path()], &expire[..]].concat();
    let (_web, url) = Web::start(knobs);
    let manager = manager(&url, json!({}), home.path(), Some(agreeing()));
    assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
    for _ in 0..4 {
        call(&manager, "echo", json!({"text": "hi"})).await.unwrap();
    }
    assert_eq!(journal.count(json!({"at": "token", "grant": "refresh_token"})), 2);
    assert_eq!(journal.count(json!({"at": "authorize"})), 1);
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_metadata_document_of_the_docs_describes_us() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/client-metadata.json");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let journal = Journal::new(&format!("document-{host}"));
        let file = file.to_str().unwrap();
        let knobs = ["--oauth", "--oauth-cimd", file, "--journal", journal.path()];
        let (_web, url) = Web::start(knobs);
        let home = tempfile::tempdir().unwrap();
        let auth = json!({"clientMetadataUrl": document["client_id"], "callbackHost": host});
        let manager = manager(&url, auth, home.path(), Some(agreeing()));
        assert_eq!(manager.connect_all().await.unwrap().connected, ["s"]);
        manager.close().await;
        assert_eq!(journal.count(json!({"at": "register"})), 0);
        assert_eq!(journal.count(json!({"at": "token", "outcome": "ok"})), 1);
    }
}
