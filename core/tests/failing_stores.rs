//! Hazard: a store of logins that fails for a while brings an old login back, or a forgotten one, or loses the newest.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use common::{Journal, Web, agreeing, apart, call};
use mcpool::{
    Config, ErrorKind, HostEnv, LoginStore, LoginStoreRequest, Manager, ManagerOptions, OnAuth,
    Pool, PoolOptions,
};
use serde_json::{Value, json};

/// Keeps one login. What it cannot do fails.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<StoreState>>);

#[derive(Default)]
struct StoreState {
    text: Option<String>,
    fails: bool,
    /// The next save is done, told as failed, and the last thing that works.
    goes_down: bool,
}

impl Store {
    fn set_failing(&self, fails: bool) {
        self.0.lock().unwrap().fails = fails;
    }

    fn text(&self) -> Option<String> {
        self.0.lock().unwrap().text.clone()
    }

    fn access(&self) -> Value {
        let text = self.text().expect("a login");
        serde_json::from_str::<Value>(&text).unwrap()["token"]["access"].clone()
    }

    /// Changes the stored login.
    fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut record: Value = serde_json::from_str(&self.text().expect("a login")).unwrap();
        edit(&mut record);
        self.0.lock().unwrap().text = Some(record.to_string());
    }

    fn option(&self) -> LoginStore {
        let state = self.0.clone();
        LoginStore::new(move |request| {
            let answer = answer(&mut state.lock().unwrap(), request);
            async move { answer }
        })
    }
}

fn answer(state: &mut StoreState, request: LoginStoreRequest) -> Result<Option<String>, String> {
    if state.fails {
        return Err("the store is down".to_owned());
    }
    match request {
        LoginStoreRequest::Load { .. } => Ok(state.text.clone()),
        LoginStoreRequest::Save { value, .. } => {
            state.text = Some(value.expose().to_owned());
            state.fails = std::mem::take(&mut state.goes_down);
            if state.fails { Err("it took too long".to_owned()) } else { Ok(None) }
        }
        LoginStoreRequest::Remove { .. } => {
            state.text = None;
            Ok(None)
        }
        other => panic!("there is no {other:?}"),
    }
}

fn at_home(home: &Path) -> ManagerOptions {
    apart().host_env(HostEnv::new(Some(BTreeMap::new()), Some(home.to_owned()), None))
}

/// A manager that shares connections with nobody.
fn manager(server: &Value, home: &Path, store: &Store, on_auth: Option<OnAuth>) -> Manager {
    let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
    let options = at_home(home).pool(Some(Pool::new(PoolOptions::default())));
    Manager::new(config, options.login_store(Some(store.option())).on_auth(on_auth))
}

async fn connected(manager: &Manager) -> bool {
    manager.connect_all().await.unwrap().connected == ["s"]
}

async fn echo(manager: &Manager) {
    call(manager, "echo", json!({"text": "hi"})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_was_not_stored_replaces_an_older_one() {
    let (home, store) = (tempfile::tempdir().unwrap(), Store::default());
    let (_web, url) = Web::start(["--oauth"]);
    let server = json!({"url": url});
    let first = manager(&server, home.path(), &store, Some(agreeing()));
    assert!(connected(&first).await);
    first.close().await;
    let old = store.access();
    store.set_failing(true);
    let second = manager(&server, home.path(), &store, Some(agreeing()));
    assert!(connected(&second).await);
    store.set_failing(false);
    second.close().await;
    assert_ne!(store.access(), old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_refresh_token_does_not_come_back() {
    let (home, store) = (tempfile::tempdir().unwrap(), Store::default());
    let journal = Journal::new("used-up");
    let expire = ["--oauth-expire-at-call", "1", "--oauth-expire-at-call", "3"];
    let knobs = [&["--oauth", "--oauth-rotate"][..], &expire].concat();
    let (_web, url) = Web::start([&knobs[..], &["--journal", journal.path()]].concat());
    let server = json!({"url": url});
    let first = manager(&server, home.path(), &store, Some(agreeing()));
    assert!(connected(&first).await);
    // The first refresh is stored but not known to be, the second is not.
    store.0.lock().unwrap().goes_down = true;
    echo(&first).await;
    echo(&first).await;
    assert_eq!(journal.count(json!({"grant": "refresh_token"})), 2);
    store.set_failing(false);
    first.close().await;
    let second = manager(&server, home.path(), &store, None);
    assert!(connected(&second).await);
    second.close().await;
    assert_eq!(journal.count(json!({"event": "family_revoked"})), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_login_does_not_come_back() {
    let (home, store) = (tempfile::tempdir().unwrap(), Store::default());
    let (_web, url) = Web::start(["--oauth", "--oauth-expire-at-call", "1"]);
    let server = json!({"url": url});
    let first = manager(&server, home.path(), &store, Some(agreeing()));
    assert!(connected(&first).await);
    let other = manager(&server, home.path(), &store, None);
    assert!(connected(&other).await);
    store.set_failing(true);
    echo(&first).await;
    store.set_failing(false);
    other.forget_auth("s").await.unwrap();
    first.close().await;
    other.close().await;
    assert_eq!(store.text(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refreshed_login_of_a_program_is_stored_at_the_latest_when_it_ends() {
    let (home, store) = (tempfile::tempdir().unwrap(), Store::default());
    let journal = Journal::new("given");
    let (_web, url) = Web::start(["--oauth", "--oauth-rotate", "--journal", journal.path()]);
    let auth = json!({"type": "oauth", "credentialId": "work"});
    let web = manager(&json!({"url": url, "auth": auth}), home.path(), &store, Some(agreeing()));
    assert!(connected(&web).await);
    web.close().await;
    store.edit(|record| record["token"]["expires_at_ms"] = json!(1));
    store.0.lock().unwrap().goes_down = true;
    let mut program = common::stdio(&[]);
    program["auth"] = auth;
    let before = store.access();
    let given = manager(&program, home.path(), &store, None);
    assert!(connected(&given).await);
    // As if the save that failed had changed nothing.
    store.set_failing(false);
    store.edit(|record| {
        record["token"]["access"] = before.clone();
        record["token"]["issued_at_ms"] = json!(1);
    });
    given.close().await;
    assert_ne!(store.access(), before);
    assert_eq!(journal.count(json!({"grant": "refresh_token"})), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_does_not_outlive_the_manager_that_keeps_its_login() {
    let (home, store) = (tempfile::tempdir().unwrap(), Store::default());
    let (_web, url) = Web::start(["--oauth"]);
    let server = json!({"url": url, "keepAlive": "always"});
    let (pool, option) = (Pool::new(PoolOptions::default()), store.option());
    let open = |on_auth: Option<OnAuth>| {
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
        let options = at_home(home.path()).pool(Some(pool.clone())).on_auth(on_auth);
        Manager::new(config, options.login_store(Some(option.clone())))
    };
    let first = open(Some(agreeing()));
    assert!(connected(&first).await);
    first.close().await;
    store.0.lock().unwrap().text = None;
    let second = open(None);
    let report = second.connect_all().await.unwrap();
    assert_eq!(report.failed["s"].kind(), ErrorKind::AuthRequired);
    second.close().await;
}
