//! What the command line says about logins: which command helps, what doctor finds, and never a token.

use std::os::unix::fs::{PermissionsExt, chown};

use serde_json::{Value, json};

#[path = "cli/oauth.rs"]
mod oauth;
#[path = "cli/support.rs"]
mod support;

use oauth::{Running, Scene, visit};
use support::{Ran, write};

/// The findings about the server, and whether one of them is broken.
fn doctor(scene: &Scene) -> (Value, bool) {
    let ran = scene.run(&["doctor", "docs", "--json"]);
    (ran.json()["servers"][0].clone(), ran.code == 1)
}

/// What a check found.
fn found<'a>(examined: &'a Value, check: &str) -> Vec<&'a Value> {
    let findings = examined["findings"].as_array().unwrap();
    findings.iter().filter(|finding| finding["check"] == check).collect()
}

fn text<'a>(finding: &'a Value, member: &str) -> &'a str {
    finding[member].as_str().unwrap_or_default()
}

#[test]
fn doctor_says_that_nobody_has_signed_in() {
    let scene = Scene::new("doctor-out", &[]);
    let (examined, is_broken) = doctor(&scene);
    assert!(is_broken, "{examined}");
    assert_eq!(found(&examined, "connect")[0]["code"], "AUTH_REQUIRED");
    assert!(text(found(&examined, "connect")[0], "advice").ends_with("mcpool auth docs"));
    assert_eq!(found(&examined, "login")[0]["detail"], "not signed in");
}

#[test]
fn doctor_says_what_was_granted_and_until_when() {
    let knobs = ["--oauth-challenge-scope", "files:read", "--oauth-expires-in", "3600"];
    let scene = Scene::new("doctor-in", &knobs);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    let (examined, is_broken) = doctor(&scene);
    assert!(!is_broken && examined["verdict"] == "ok", "{examined}");
    let login = text(found(&examined, "login")[0], "detail");
    assert!(login.contains(&scene.issuer) && login.contains("scopes files:read"), "{login}");
    assert!(login.contains("the token is valid until 2") && login.contains("renewed"), "{login}");
}

#[test]
fn doctor_says_that_a_login_is_over() {
    let scene = Scene::new("doctor-over", &["--oauth-no-refresh-token"]);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    scene.edit_login(|login| login["token"]["expires_at_ms"] = json!(951_782_399_000_u64));
    let (examined, _) = doctor(&scene);
    let login = found(&examined, "login")[0];
    assert!(text(login, "detail").contains("expired at 2000-02-28T23:59:59Z"), "{examined}");
    assert!(text(login, "detail").contains("no refresh token"), "{examined}");
    assert_eq!(login["advice"], "sign in: mcpool auth docs");
}

#[test]
fn doctor_names_a_file_that_others_may_read_or_own() {
    let scene = Scene::new("doctor-mode", &[]);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    let file = scene.logins().remove(0);
    let set = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode));
    set(0o644).unwrap();
    let (examined, is_broken) = doctor(&scene);
    assert!(is_broken, "{examined}");
    let login = found(&examined, "login")[0];
    assert!(text(login, "detail").contains("login.json"), "{examined}");
    let advice = text(login, "advice");
    let path = file.to_str().unwrap();
    assert!(advice.contains(&format!("chmod 600 {path};")), "{advice}");
    assert!(advice.contains("mcpool reauth docs"), "{advice}");
    // What others could have written is not used again.
    set(0o666).unwrap();
    let (examined, _) = doctor(&scene);
    let advice = text(found(&examined, "login")[0], "advice");
    assert_eq!(advice, "sign in anew: mcpool reauth docs");
    set(0o600).unwrap();
    // SAFETY: it only asks for a number.
    if unsafe { libc::geteuid() } == 0 {
        // Others cannot give a file away.
        chown(&file, Some(54_321), None).unwrap();
        let (examined, is_broken) = doctor(&scene);
        assert!(is_broken, "{examined}");
        let login = found(&examined, "login")[0];
        assert!(text(login, "detail").contains("belongs to another user"), "{examined}");
        assert_eq!(text(login, "advice"), "sign in anew: mcpool reauth docs");
        chown(&file, Some(0), None).unwrap();
    }
    // Looking at it has not changed it.
    assert_eq!(scene.run(&["test", "docs"]).code, 0);
    set(0o644).unwrap();
    assert_eq!(scene.run(&["unauth", "docs"]).out, "Signed out of \"docs\"\n");
    assert_eq!(scene.logins().len(), 0);
}

#[test]
fn doctor_compares_a_login_with_the_settings() {
    let scene = Scene::new("doctor-other", &["--oauth-client", "mine"]);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    scene.define(json!({"auth": {"clientId": "mine"}}));
    let (examined, is_broken) = doctor(&scene);
    let login = found(&examined, "login")[0];
    assert!(is_broken, "{examined}");
    // Each client has a login of its own.
    assert_eq!(text(login, "detail"), "not signed in", "{examined}");
    scene.define(json!({"auth": {"issuer": "https://other.example"}}));
    let (examined, _) = doctor(&scene);
    let login = found(&examined, "login")[0];
    assert!(text(login, "detail").contains("not of \"auth.issuer\""), "{examined}");
    assert!(text(login, "detail").contains(&scene.issuer), "{examined}");
}

#[test]
fn doctor_names_settings_without_effect() {
    let scene = Scene::new("doctor-settings", &["--oauth-preissued", "given"]);
    let headers = json!({"Authorization": "Bearer given"});
    scene.define(json!({"headers": headers, "auth": {"scopes": ["a"]}}));
    let (examined, _) = doctor(&scene);
    let values = text(found(&examined, "values")[0], "detail");
    assert!(values.contains("beside an \"Authorization\""), "{examined}");
    assert!(found(&examined, "login").is_empty(), "{examined}");
    std::fs::remove_file(scene.home.own()).unwrap();
    let theirs = scene.definition(json!({"auth": {"issuer": "https://evil.example"}}));
    write(&scene.home.project(".mcp.json"), json!({ "docs": theirs }));
    assert_eq!(scene.run(&["trust", ".mcp.json", "--yes"]).code, 0);
    let (examined, _) = doctor(&scene);
    let values = text(found(&examined, "values")[0], "detail");
    assert!(values.contains("\"auth.issuer\" is left out"), "{examined}");
}

#[test]
fn errors_name_the_command_that_signs_in() {
    let scene = Scene::new("hints", &[]);
    for args in [&["test", "docs"][..], &["status"], &["tools"], &["call", "docs", "echo"]] {
        let ran = scene.run(args);
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.err.contains("Hint: sign in: mcpool auth docs\n"), "{args:?}: {}", ran.err);
    }
    let ran = scene.run(&["test", "docs", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "AUTH_REQUIRED");
    assert!(ran.json()["error"]["auth_url"].is_null(), "nothing is begun");
    // A file that was named is not found by itself.
    write(&scene.home.project("own.json"), json!({"docs": scene.definition(json!({}))}));
    std::fs::remove_file(scene.home.own()).unwrap();
    let ran = scene.run(&["test", "docs", "-c", "own.json"]);
    let hint = "mcpool auth docs --config own.json";
    assert!(ran.err.contains(hint), "{}", ran.err);
    let words: Vec<&str> = hint.split(' ').skip(1).collect();
    assert_eq!(scene.sign_in(&words).code, 0);
    assert_eq!(scene.run(&["test", "docs", "-c", "own.json"]).code, 0);
}

#[test]
fn where_a_login_does_not_help_it_is_not_advised() {
    let scene = Scene::new("no-hints", &[]);
    scene.define(json!({"headers": {"Authorization": "Bearer stale"}}));
    for args in [["test", "docs"], ["auth", "docs"], ["reauth", "docs"]] {
        let ran = scene.run(&args);
        assert_eq!(ran.code, 1, "{}", ran.all());
        assert!(ran.err.contains("Hint: the server refused the \"Authorization\""), "{}", ran.err);
        assert!(!ran.err.contains("mcpool auth"), "{}", ran.err);
    }
}

#[test]
fn a_call_that_needs_more_scopes_names_the_command_that_gets_them() {
    let scene = Scene::new("scopes", &["--oauth-scope-for", "echo=files:write"]);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    let call = || scene.run(&["call", "docs", "echo", "text=hi"]);
    let ran = call();
    assert_eq!(ran.code, 1);
    let (_, hint) = ran.err.split_once("sign in with more scopes: mcpool ").expect("a hint");
    let words: Vec<&str> = hint.trim().split(' ').collect();
    assert_eq!(words, ["auth", "docs", "--scope", "files:write"]);
    let ran = scene.sign_in(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = call();
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_server_that_answers_403_can_be_signed_in_to() {
    let knobs = ["--oauth-expiry-as", "403-initialize", "--oauth-expires-in", "none"];
    let scene = Scene::new("forbidden", &knobs);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    scene.edit_login(|login| login["token"]["access"] = json!("unknown"));
    let error = scene.run(&["test", "docs", "--json"]).json()["error"].clone();
    assert_eq!((&error["code"], &error["http_status"]), (&json!("AUTH_FAILED"), &json!(403)));
    assert!(error["hint"].as_str().unwrap().ends_with("mcpool auth docs"), "{error}");
    let ran = scene.sign_in(&["auth", "docs"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(scene.run(&["test", "docs"]).code, 0);
}

#[test]
fn no_log_shows_a_token() {
    let knobs = ["--oauth-rotate", "--oauth-expires-in", "1", "--oauth-device-interval", "1"];
    let scene = Scene::new("logs", &knobs);
    let start = |args: &[&str]| {
        let mut command = scene.home.command(args);
        command.env("MCPOOL_LOG", "trace");
        Running::new(command)
    };
    let run = |args: &[&str]| start(args).end();
    let sign_in = |args: &[&str]| -> Ran {
        let running = start(args);
        visit(&running.line());
        running.end()
    };
    let ran = sign_in(&["auth", "docs", "--no-browser"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("docs: attempt 1"), "the log is on: {}", ran.err);
    let before = scene.login();
    assert_eq!(run(&["call", "docs", "echo", "text=hi"]).code, 0);
    assert_eq!(sign_in(&["reauth", "docs", "--device"]).code, 0);
    let after = scene.login();
    let mut said = String::new();
    for args in [
        &["test", "docs"][..],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["list", "--json"],
        &["unauth", "docs"],
    ] {
        said.push_str(&run(args).all());
    }
    for login in [before, after] {
        for token in ["access", "refresh"] {
            assert!(!said.contains(login["token"][token].as_str().unwrap()), "{said}");
        }
    }
}
