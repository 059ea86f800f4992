//! Hazard: a token, a code or a secret of a login is left where others can find it: in a log, in the cache, in what a
//! command prints, or in the command line or the environment of a process.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

#[path = "cli/oauth.rs"]
mod oauth;
#[path = "cli/support.rs"]
mod support;

use oauth::{PATIENCE, Running, Scene, redirect, visit};

/// How long a code verifier of ours is.
const VERIFIER: usize = 43;

/// What must be nowhere.
#[derive(Default)]
struct Secrets {
    texts: Vec<(&'static str, String)>,
    /// The hashes of code verifiers, which are never stored.
    challenges: Vec<String>,
}

impl Secrets {
    fn add_login(&mut self, login: &Value) {
        for (what, place) in [
            ("access token", "/token/access"),
            ("refresh token", "/token/refresh"),
            ("client secret", "/client/secret"),
        ] {
            let secret = login.pointer(place).and_then(Value::as_str).expect(what);
            assert!(secret.len() > 8, "{what}");
            self.texts.push((what, secret.to_owned()));
        }
    }

    /// The first secret of a text.
    fn find(&self, text: &str) -> Option<&'static str> {
        let is_in_text = |secret: &str| text.contains(secret);
        let found = self.texts.iter().find(|(_, secret)| is_in_text(secret));
        let verifier = || self.has_verifier(text).then_some("code verifier");
        found.map(|(what, _)| *what).or_else(verifier)
    }

    fn has_verifier(&self, text: &str) -> bool {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let words = text.as_bytes().split(|byte| !is_part(byte));
        let is_one = |part: &[u8]| self.challenges.contains(&hash(part));
        words.flat_map(|word| word.windows(VERIFIER)).any(is_one)
    }

    #[track_caller]
    fn assert_absent(&self, place: &str, text: &str) {
        assert!(!text.is_empty(), "{place} was read");
        assert_eq!(self.find(text), None, "{place}: {text}");
    }
}

fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

fn parameter(url: &str, name: &str) -> String {
    let url = Url::parse(url).unwrap();
    url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The content of all files in a directory, recursively.
fn texts(dir: &Path) -> String {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| match path.is_dir() {
        true => texts(&path),
        false => String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned(),
    };
    paths.map(text).collect()
}

/// What others see of a process.
#[cfg(target_os = "linux")]
struct Seen {
    command_line: String,
    environment: String,
}

/// A process and all that it has started.
#[cfg(target_os = "linux")]
fn family(root: u32) -> Vec<Seen> {
    let read = |pid: u32, file: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let parent = |pid: u32| {
        let stat = read(pid, "stat");
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u32)> = all.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let (mut found, mut next) = (vec![root], 0);
    while let Some(&pid) = found.get(next) {
        let children = parents.iter().filter(|(_, parent)| *parent == pid);
        found.extend(children.map(|(child, _)| child));
        next += 1;
    }
    let seen = |pid| Seen { command_line: read(pid, "cmdline"), environment: read(pid, "environ") };
    found.into_iter().map(seen).collect()
}

#[test]
fn a_verifier_is_found_by_its_challenge() {
    let challenges = vec!["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".to_owned()];
    let secrets = Secrets { challenges, ..Secrets::default() };
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(secrets.find(&format!("a=b&v=x{verifier}y&c")), Some("code verifier"));
    assert_eq!(secrets.find(&verifier[1..]), None);
}

#[test]
fn a_sign_in_and_a_refresh_leave_no_secret_behind() {
    let held = tempfile::NamedTempFile::new().unwrap();
    let hold = format!("token={}", held.path().display());
    let scene = Scene::new(
        "traces",
        &[
            "--oauth-rotate",
            "--oauth-client-auth",
            "client_secret_post",
            "--oauth-expire-at-call",
            "1",
            "--oauth-fault",
            "503:token:2-2",
            "--oauth-hold",
            &hold,
        ],
    );
    let start = |args: &[&str]| {
        let mut command = scene.command(args);
        command.env("MCPOOL_LOG", "trace");
        Running::new(command)
    };
    let mut secrets = Secrets::default();

    let signing_in = start(&["auth", "docs", "--no-browser"]);
    let page = signing_in.line();
    secrets.challenges.push(parameter(&page, "code_challenge"));
    let answer = redirect(&page);
    secrets.texts.push(("code", parameter(&answer, "code")));
    assert_eq!(visit(&answer), 200);
    let signed_in = signing_in.end();
    assert_eq!(signed_in.code, 0, "{}", signed_in.err);
    assert!(signed_in.err.contains("docs: attempt 1"), "the log is on: {}", signed_in.err);
    let before = scene.login();
    secrets.add_login(&before);

    // Refreshed ahead of time, which fails and is logged; then because the server refuses the token.
    scene.edit_login(|login| login["token"]["expires_at_ms"] = json!(1));
    std::fs::write(&held, "hold").unwrap();
    let calling = start(&["call", "docs", "echo", "text=hi"]);
    until("the refresh", || scene.count("token") == 2);
    #[cfg(target_os = "linux")]
    let family = family(calling.id());
    std::fs::write(&held, "").unwrap();
    let called = calling.end();
    assert_eq!((called.code, called.out.trim()), (0, "hi"), "{}", called.err);
    assert!(called.err.contains("docs: no refresh ahead of time"), "the log is on: {}", called.err);
    let after = scene.login();
    secrets.add_login(&after);
    assert_ne!(before["token"]["access"], after["token"]["access"]);
    assert_ne!(before["token"]["refresh"], after["token"]["refresh"]);

    #[cfg(target_os = "linux")]
    {
        let is_refreshing = |seen: &Seen| seen.command_line.contains("refresh-login");
        assert!(family.iter().any(is_refreshing), "the process that refreshes is seen");
        for Seen { command_line, environment } in &family {
            secrets.assert_absent("a command line", command_line);
            secrets.assert_absent("an environment", environment);
        }
    }
    secrets.assert_absent("the log of the sign-in", &signed_in.all());
    secrets.assert_absent("the log of the call", &called.all());
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["list"],
        &["list", "--json"],
    ] {
        let ran = start(args).end();
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.all());
        assert!(ran.out.contains("docs"), "{args:?}: {}", ran.out);
        secrets.assert_absent(&format!("{args:?}"), &ran.all());
    }
    let cached = texts(&scene.home.cache());
    assert!(cached.contains("\"echo\""), "tools are cached: {cached}");
    secrets.assert_absent("the cache", &cached);
    assert_only_the_login_has_them(&scene, &secrets);
}

/// The files of the user, besides the login itself.
fn assert_only_the_login_has_them(scene: &Scene, secrets: &Secrets) {
    let [login] = &scene.logins()[..] else { panic!("one login") };
    assert!(secrets.find(&std::fs::read_to_string(login).unwrap()).is_some());
    std::fs::remove_file(login).unwrap();
    let left = texts(&scene.home.home(""));
    secrets.assert_absent("another file of the user", &left);
}
