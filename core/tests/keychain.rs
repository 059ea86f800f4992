//! Hazard: a login is readable without the keychain, a keychain that does not answer stops a program, or a key that is
//! lost or created twice takes a login with it.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

#[path = "keychain/bus.rs"]
mod bus;
#[path = "cli/oauth.rs"]
mod oauth;
#[path = "cli/support.rs"]
mod support;

use bus::{Bus, Mood};
use oauth::{Running, Scene, visit};

/// A user with a session.
struct Desktop {
    scene: Scene,
    bus: Bus,
}

impl Desktop {
    fn new(test: &str, mood: Mood) -> Desktop {
        Desktop::with(test, mood, &[])
    }

    fn with(test: &str, mood: Mood, knobs: &[&str]) -> Desktop {
        let mut scene = Scene::new(&format!("keychain-{test}"), knobs);
        // The path of a socket is short.
        let directory = std::env::temp_dir().join(format!("mcpool-{}-{test}", std::process::id()));
        let bus = Bus::new(&directory, mood);
        scene.variables = vec![
            ("MCPOOL_KEYCHAIN", String::new()),
            ("DBUS_SESSION_BUS_ADDRESS", bus.address()),
            ("MCPOOL_LOG", "warn".to_owned()),
        ];
        Desktop { scene, bus }
    }

    fn sign_in(&self) {
        let ran = self.scene.sign_in(&["auth", "docs"]);
        assert_eq!(ran.code, 0, "{}", ran.all());
    }

    fn can_connect(&self) -> bool {
        self.scene.run(&["test", "docs"]).code == 0
    }

    fn login(&self) -> Value {
        self.scene.login()
    }

    /// Whether the one login is sealed, and nothing of it is readable.
    fn is_sealed(&self) -> bool {
        let is_sealed = self.login()["sealed"].is_u64();
        let places = [".config", "../cache"].map(|place| self.scene.home.home(place));
        let all: Vec<String> = places.iter().flat_map(|place| texts(place)).collect();
        let is_readable = all.iter().any(|text| {
            let of_login = ["at-1-", "rt-1-", "token_endpoint"];
            of_login.iter().any(|part| text.contains(part))
        });
        assert_ne!(is_sealed, is_readable);
        is_sealed
    }

    /// What doctor says about the login, and what it advises.
    fn doctor(&self) -> (String, String) {
        let ran = self.scene.run(&["doctor", "docs", "--json"]);
        let findings = ran.json()["servers"][0]["findings"].clone();
        let is_login = |finding: &&Value| finding["check"] == "login";
        let login = findings.as_array().unwrap().iter().find(is_login).cloned();
        let login = login.unwrap_or_else(|| panic!("{findings}"));
        let text = |member: &str| login[member].as_str().unwrap_or_default().to_owned();
        (text("detail"), text("advice"))
    }

    fn set(&mut self, name: &'static str, value: &str) {
        self.scene.variables.retain(|(known, _)| *known != name);
        self.scene.variables.push((name, value.to_owned()));
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let socket = self.bus.address().replace("unix:path=", "");
        let _ = std::fs::remove_dir_all(Path::new(&socket).parent().unwrap());
    }
}

/// The contents of all files.
fn texts(directory: &Path) -> Vec<String> {
    let mut left: Vec<PathBuf> = vec![directory.to_owned()];
    let mut texts = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(bytes) = std::fs::read(&path) {
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    texts
}

#[test]
fn a_login_is_sealed_and_other_processes_read_it() {
    let desktop = Desktop::new("sealed", Mood::Obliging);
    desktop.sign_in();
    assert!(desktop.is_sealed());
    assert!(desktop.can_connect());
    assert_eq!(desktop.bus.with(|vault| (vault.created, vault.items.len())), (1, 1));
    assert!(desktop.doctor().0.contains("sealed"), "{:?}", desktop.doctor());
    let ran = desktop.scene.run(&["unauth", "docs"]);
    assert_eq!((ran.code, desktop.scene.count("revoke")), (0, 2), "{}", ran.all());
    // The key is for the next login too.
    desktop.sign_in();
    assert!(desktop.is_sealed());
    assert_eq!(desktop.bus.with(|vault| vault.created), 1);
}

#[test]
fn a_server_without_a_login_does_not_ask_the_keychain() {
    let desktop = Desktop::new("lazy", Mood::Obliging);
    assert!(!desktop.can_connect());
    assert_eq!(desktop.bus.with(|vault| vault.calls.clone()), Vec::<String>::new());
}

#[test]
fn a_refresh_reads_and_writes_a_sealed_login() {
    let knobs = ["--oauth-rotate", "--oauth-expire-at-call", "1"];
    let desktop = Desktop::with("refresh", Mood::Obliging, &knobs);
    desktop.sign_in();
    let before = desktop.login();
    let ran = desktop.scene.run(&["call", "docs", "echo", "text=hi"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(desktop.is_sealed());
    assert_ne!(before["data"], desktop.login()["data"]);
    assert_ne!(before["nonce"], desktop.login()["nonce"]);
    assert!(desktop.can_connect());
    assert_eq!(desktop.scene.count("authorize"), 1);
}

#[test]
fn processes_that_sign_in_at_once_create_one_key() {
    let desktop = Desktop::new("once", Mood::Obliging);
    desktop.bus.with(|vault| vault.delay = Duration::from_millis(100));
    let servers: Vec<String> = (0..4).map(|number| format!("docs{number}")).collect();
    let definition = |name: &String| {
        let auth = json!({"credentialId": name});
        (name.clone(), desktop.scene.definition(json!({"auth": auth})))
    };
    let definitions = servers.iter().map(definition).collect::<serde_json::Map<_, _>>();
    support::write(&desktop.scene.home.own(), Value::Object(definitions));
    let start = |name: &String| desktop.scene.start(&["auth", name, "--no-browser"]);
    let running: Vec<Running> = servers.iter().map(start).collect();
    let pages: Vec<String> = running.iter().map(Running::line).collect();
    for page in &pages {
        assert_eq!(visit(page), 200);
    }
    for running in running {
        let ran = running.end();
        assert_eq!(ran.code, 0, "{}", ran.all());
    }
    assert_eq!(desktop.scene.logins().len(), servers.len());
    for name in &servers {
        assert_eq!(desktop.scene.run(&["test", name]).code, 0, "{name}");
    }
    assert_eq!(desktop.bus.with(|vault| vault.created), 1);
    assert_eq!(desktop.scene.count("authorize"), servers.len());
}

#[test]
fn without_a_keychain_a_login_is_a_private_file() {
    let stays_plain = |test, mood| {
        let desktop = Desktop::new(test, mood);
        desktop.sign_in();
        assert!(!desktop.is_sealed(), "{test}");
        let file = desktop.scene.logins().remove(0);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(desktop.can_connect(), "{test}");
        let calls = desktop.bus.with(|vault| vault.calls.clone());
        let is_tried = calls.iter().any(|call| call == "CreateItem");
        assert_eq!(is_tried, mood == Mood::Forgetful, "{test} {calls:?}");
    };
    // Some make the program wait.
    std::thread::scope(|scope| {
        for (test, mood) in [
            ("deaf", Mood::Deaf),
            ("silent", Mood::Silent),
            ("failing", Mood::Failing),
            ("absent", Mood::Absent),
            ("forgetful", Mood::Forgetful),
            ("dismissed", Mood::Dismissed),
            ("unattended", Mood::Unattended),
        ] {
            scope.spawn(move || stays_plain(test, mood));
        }
    });
}

#[test]
fn without_a_bus_nothing_is_asked() {
    let mut desktop = Desktop::new("bus", Mood::Obliging);
    let socket = desktop.bus.address().replace("unix:path=", "");
    let directory = Path::new(&socket).parent().unwrap().display().to_string();
    for address in ["", "unix:path=/nowhere/bus", "tcp:host=127.0.0.1,port=1", "nonsense"] {
        desktop.set("DBUS_SESSION_BUS_ADDRESS", address);
        desktop.set("XDG_RUNTIME_DIR", "/nowhere");
        desktop.sign_in();
        assert!(!desktop.is_sealed(), "{address}");
        assert_eq!(desktop.scene.run(&["unauth", "docs"]).code, 0);
    }
    // Programs are not run for an address.
    let made = desktop.scene.home.home("made");
    let address = format!("unixexec:path=/usr/bin/touch,argv1={}", made.display());
    desktop.set("DBUS_SESSION_BUS_ADDRESS", &address);
    desktop.sign_in();
    assert!(!made.exists() && !desktop.is_sealed());
    // The usual place of a bus.
    desktop.set("DBUS_SESSION_BUS_ADDRESS", "");
    desktop.set("XDG_RUNTIME_DIR", &directory);
    assert_eq!(desktop.scene.sign_in(&["reauth", "docs"]).code, 0);
    assert!(desktop.is_sealed());
}

#[test]
fn an_answered_dialog_unlocks_the_keychain() {
    let desktop = Desktop::new("attended", Mood::Attended);
    desktop.sign_in();
    assert!(desktop.is_sealed() && desktop.can_connect());
}

#[test]
fn a_plain_login_stays_plain_until_somebody_signs_in() {
    let knobs = ["--oauth-rotate", "--oauth-expire-at-call", "1"];
    let mut desktop = Desktop::with("plain", Mood::Obliging, &knobs);
    desktop.set("MCPOOL_KEYCHAIN", "off");
    desktop.sign_in();
    assert!(!desktop.is_sealed());
    let (detail, _) = desktop.doctor();
    assert!(detail.contains("plain file") && detail.contains("MCPOOL_KEYCHAIN"), "{detail}");
    assert_eq!(desktop.bus.with(|vault| vault.calls.len()), 0);
    desktop.set("MCPOOL_KEYCHAIN", "");
    // Reading it changes nothing.
    assert!(desktop.can_connect() && !desktop.is_sealed());
    assert_eq!(desktop.scene.run(&["call", "docs", "echo", "text=hi"]).code, 0);
    assert!(!desktop.is_sealed() && desktop.can_connect());
    assert_eq!(desktop.scene.count("authorize"), 1);
    assert_eq!(desktop.bus.with(|vault| vault.calls.len()), 0);
    assert_eq!(desktop.scene.sign_in(&["reauth", "docs"]).code, 0);
    assert!(desktop.is_sealed() && desktop.can_connect());
}

#[test]
fn a_sealed_login_that_cannot_be_opened_is_not_used_and_stays() {
    let mut desktop = Desktop::new("shut", Mood::Obliging);
    desktop.sign_in();
    let before = desktop.login();
    for (mood, switch, why) in [
        (Mood::Absent, "", "no keychain"),
        (Mood::Failing, "", "Broken"),
        (Mood::Dismissed, "", "locked"),
        (Mood::Silent, "", "does not answer"),
        (Mood::Obliging, "off", "MCPOOL_KEYCHAIN"),
        (Mood::Obliging, "0", "MCPOOL_KEYCHAIN"),
    ] {
        desktop.bus.set_mood(mood);
        desktop.set("MCPOOL_KEYCHAIN", switch);
        let ran = desktop.scene.run(&["test", "docs"]);
        assert_eq!(ran.code, 1, "{mood:?}");
        assert!(ran.err.contains("the stored login is not used"), "{mood:?} {}", ran.all());
        assert!(ran.err.contains(why), "{mood:?} {}", ran.all());
        let (detail, advice) = desktop.doctor();
        assert!(detail.contains("sealed") && detail.contains(why), "{mood:?} {detail}");
        assert!(advice.contains("mcpool reauth docs"), "{advice}");
        assert_eq!(before, desktop.login(), "{mood:?}");
    }
    // With the keychain back, it is used again.
    desktop.bus.set_mood(Mood::Obliging);
    desktop.set("MCPOOL_KEYCHAIN", "");
    assert!(desktop.can_connect());
    assert_eq!(desktop.scene.count("authorize"), 1);
}

#[test]
fn a_login_whose_key_is_lost_is_replaced_by_signing_in() {
    let desktop = Desktop::new("lost", Mood::Obliging);
    desktop.sign_in();
    desktop.bus.with(|vault| vault.items.clear());
    let ran = desktop.scene.run(&["test", "docs"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("the key is not in the keychain any more"), "{}", ran.all());
    // Looking for it creates none.
    assert_eq!(desktop.bus.with(|vault| vault.created), 1);
    desktop.sign_in();
    assert!(desktop.is_sealed() && desktop.can_connect());
    assert_eq!(desktop.bus.with(|vault| vault.created), 2);
    // A key that another program has put there.
    let other = b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_vec();
    desktop.bus.with(|vault| vault.items.values_mut().for_each(|item| item.1 = other.clone()));
    let ran = desktop.scene.run(&["test", "docs"]);
    assert!(ran.code == 1 && ran.err.contains("another key"), "{}", ran.all());
    desktop.sign_in();
    assert!(desktop.is_sealed() && desktop.can_connect());
}

#[test]
fn a_sealed_file_is_that_of_its_own_login_only() {
    let desktop = Desktop::new("swapped", Mood::Obliging);
    for name in ["one", "two"] {
        desktop.scene.define(json!({"auth": {"credentialId": name}}));
        desktop.sign_in();
    }
    let files = desktop.scene.logins();
    let texts: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    std::fs::write(&files[0], &texts[1]).unwrap();
    std::fs::write(&files[1], &texts[0]).unwrap();
    for name in ["one", "two"] {
        desktop.scene.define(json!({"auth": {"credentialId": name}}));
        let ran = desktop.scene.run(&["test", "docs"]);
        assert!(ran.code == 1 && ran.err.contains("of another login"), "{}", ran.all());
    }
}

#[test]
fn further_items_take_no_login_away() {
    let desktop = Desktop::new("items", Mood::Obliging);
    desktop.sign_in();
    // Other homes, or other versions, may have stored them.
    for text in [&b"no key"[..], &[b'A'; 43], &[b'z'; 43]] {
        desktop.bus.with(|vault| {
            let attributes = vault.items.values().next().unwrap().0.clone();
            let item = format!("/org/freedesktop/secrets/collection/login/of{}", vault.items.len());
            vault.items.insert(item, (attributes, text.to_vec()));
        });
        assert!(desktop.is_sealed() && desktop.can_connect());
    }
    assert_eq!(desktop.scene.sign_in(&["reauth", "docs"]).code, 0);
    assert!(desktop.is_sealed() && desktop.can_connect());
    assert_eq!(desktop.bus.with(|vault| (vault.items.len(), vault.created)), (4, 1));
}
