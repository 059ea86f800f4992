//! `mcpool auth`, `reauth` and `unauth`: a person signs in with a browser, here or elsewhere, and out again.

use serde_json::{Value, json};

#[path = "cli/oauth.rs"]
mod oauth;
#[path = "cli/support.rs"]
mod support;

use oauth::{Running, Scene, redirect, visit};
use support::write;

#[test]
fn a_browser_that_returns_signs_in() {
    let scene = Scene::new("listener", &[]);
    assert_eq!(scene.run(&["test", "docs"]).code, 1);
    let ran = scene.sign_in(&["auth", "docs"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{}", ran.all());
    assert!(ran.out.ends_with("Signed in to \"docs\"\n"), "{}", ran.out);
    assert!(ran.err.starts_with("Signing in to \"docs\":"), "{}", ran.err);
    assert!(scene.login()["token"]["access"].as_str().unwrap().starts_with("at-"));
    assert_eq!(scene.run(&["test", "docs"]).code, 0);
    let ran = scene.run(&["auth", "docs"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("nothing to do"), "{}", ran.out);
    assert_eq!(scene.count("authorize"), 1);
}

// Elsewhere the system decides which browser it is.
#[cfg(target_os = "linux")]
#[test]
fn the_page_is_opened_in_the_browser_without_a_shell() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new("browser", &[]);
    let (script, opened) = (scene.home.home("browser"), scene.home.home("opened"));
    let text = format!("#!/bin/sh\nprintf '%s|' \"$@\" > '{}'\n", opened.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = scene.home.command(&["auth", "docs"]);
    command.env("BROWSER", &script);
    let running = Running::new(command);
    let page = running.line();
    let deadline = std::time::Instant::now() + oauth::PATIENCE;
    let expected = format!("{page}|");
    while std::fs::read_to_string(&opened).unwrap_or_default() != expected {
        assert!(std::time::Instant::now() < deadline, "it was not opened");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(visit(&page), 200);
    assert_eq!(running.end().code, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_browser_the_page_is_printed() {
    let scene = Scene::new("no-browser-there", &[]);
    let mut command = scene.home.command(&["auth", "docs"]);
    command.env("PATH", "/nowhere");
    let running = Running::new(command);
    assert_eq!(visit(&running.line()), 200);
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_pasted_address_signs_in() {
    let scene = Scene::new("pasted", &[]);
    let mut running = scene.start(&["auth", "docs", "--no-browser"]);
    let back = redirect(&running.line());
    assert!(back.starts_with("http://127.0.0.1:"), "{back}");
    running.type_in("");
    running.type_in(&format!("  {back} "));
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(scene.run(&["test", "docs"]).code, 0);
}

#[test]
fn a_pasted_text_that_does_not_fit_fails() {
    let scene = Scene::new("misfit", &[]);
    for text in ["hello", "http://127.0.0.1:1/callback?code=x&state=y"] {
        let mut running = scene.start(&["auth", "docs", "--no-browser"]);
        running.line();
        running.type_in(text);
        let ran = running.end();
        assert_eq!(ran.code, 1, "{}", ran.all());
        assert!(ran.err.contains("Failed to sign in to \"docs\":"), "{}", ran.err);
        assert!(ran.err.contains("Hint:"), "{}", ran.err);
    }
    assert_eq!(scene.login()["token"], Value::Null);
}

#[test]
fn a_code_on_another_device_signs_in() {
    let scene = Scene::new("device", &["--oauth-device-interval", "1"]);
    let running = scene.start(&["auth", "docs", "--device"]);
    let (page, code) = (running.line(), running.line());
    let code = code.strip_prefix("Code: ").unwrap_or_else(|| panic!("{code}"));
    assert!(page.starts_with(&scene.issuer) && page.contains(code), "{page} {code}");
    assert_eq!(visit(&page), 200);
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(scene.run(&["test", "docs"]).code, 0);
    assert_eq!((scene.count("register"), scene.count("authorize")), (1, 0));
}

#[test]
fn programs_get_the_question_and_the_outcome_on_a_line_each() {
    let scene = Scene::new("json", &["--oauth-device-interval", "1"]);
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let running = scene.start(&["auth", "docs", "--no-browser", "--json"]);
    let asked = read(&running.line());
    assert_eq!((&asked["server"], &asked["expires_in_ms"]), (&json!("docs"), &json!(300_000)));
    assert_eq!(visit(asked["url"].as_str().unwrap()), 200);
    let ran = running.end();
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ended = read(ran.out.lines().last().unwrap());
    assert_eq!(ended, json!({"server": "docs", "ok": true, "signed_in": true}));
    let again = scene.run(&["auth", "docs", "--json"]);
    assert_eq!(again.json(), json!({"server": "docs", "ok": true, "signed_in": false}));
    let removed = |was_there| json!({"server": "docs", "ok": true, "removed": was_there});
    assert_eq!(scene.run(&["unauth", "docs", "--json"]).json(), removed(true));
    assert_eq!(scene.run(&["unauth", "docs", "--json"]).json(), removed(false));
    let running = scene.start(&["auth", "docs", "--device", "--json"]);
    assert!(read(&running.line())["user_code"].is_string());
    running.signal(libc::SIGTERM);
    running.end();
}

#[test]
fn a_refusal_is_told() {
    let scene = Scene::new("denied", &["--oauth-deny", "access_denied"]);
    let running = scene.start(&["auth", "docs", "--no-browser", "--json"]);
    let asked: Value = serde_json::from_str(&running.line()).unwrap();
    visit(asked["url"].as_str().unwrap());
    let ran = running.end();
    let ended: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((ran.code, &ended["ok"]), (1, &json!(false)), "{}", ran.out);
    assert_eq!(ended["error"]["code"], "AUTH_FAILED");
    assert!(ended["error"]["message"].as_str().unwrap().contains("access_denied"), "{ended}");
}

#[test]
fn an_interrupt_ends_the_wait() {
    let scene = Scene::new("interrupt", &["--oauth-idle-user"]);
    let running = scene.start(&["auth", "docs", "--no-browser"]);
    running.line();
    running.signal(libc::SIGTERM);
    assert_eq!(running.end().code, 128 + libc::SIGTERM);
    assert_eq!(scene.login()["token"], Value::Null);
}

#[test]
fn a_new_login_is_of_a_new_client_and_the_old_one_is_revoked() {
    let scene = Scene::new("anew", &[]);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    let before = scene.login();
    assert_eq!((scene.count("register"), scene.count("revoke")), (1, 0));
    let ran = scene.sign_in(&["reauth", "docs"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let after = scene.login();
    assert_eq!((scene.count("register"), scene.count("revoke")), (2, 2));
    assert_ne!(before["client"]["id"], after["client"]["id"]);
    assert_ne!(before["token"]["access"], after["token"]["access"]);
}

#[test]
fn a_removed_login_is_revoked_and_gone() {
    let scene = Scene::new("out", &[]);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
    let ran = scene.run(&["unauth", "docs"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Signed out of \"docs\"\n"));
    assert_eq!((scene.logins().len(), scene.count("revoke")), (0, 2));
    let ran = scene.run(&["unauth", "docs"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("there was no login"), "{}", ran.err);
    assert_eq!(scene.run(&["test", "docs"]).code, 1);
    // Signing out dials nobody.
    assert_eq!(scene.count("revoke"), 2);
}

#[test]
fn wrong_usage_and_unknown_names_are_told() {
    let scene = Scene::new("usage", &[]);
    assert_eq!(scene.run(&["auth"]).code, 2);
    assert_eq!(scene.run(&["auth", "docs", "--device", "--no-browser"]).code, 2);
    for command in ["auth", "reauth", "unauth"] {
        let ran = scene.run(&[command, "doccs"]);
        assert_eq!(ran.code, 1);
        assert!(ran.err.contains("did you mean \"docs\"?"), "{}", ran.err);
        let ran = scene.run(&[command, "doccs", "--json"]);
        assert_eq!(ran.json()["error"]["code"], "SERVER_NOT_FOUND");
    }
}

#[test]
fn a_server_without_logins_needs_none() {
    let scene = Scene::without_oauth("public", &[]);
    let ran = scene.run(&["auth", "docs"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("nothing to do"), "{}", ran.out);
    assert_eq!(scene.run(&["unauth", "docs"]).code, 0);
}

#[test]
fn a_project_that_is_not_trusted_gets_no_login() {
    let scene = Scene::new("project", &[]);
    std::fs::remove_file(scene.home.own()).unwrap();
    write(&scene.home.project(".mcp.json"), json!({"docs": scene.definition(json!({}))}));
    for command in ["auth", "reauth", "unauth"] {
        let ran = scene.run(&[command, "docs"]);
        assert_eq!(ran.code, 1, "{}", ran.all());
        assert!(ran.err.contains("mcpool trust"), "{}", ran.err);
    }
    assert_eq!((scene.logins().len(), scene.count("metadata")), (0, 0));
    assert_eq!(scene.run(&["trust", ".mcp.json", "--yes"]).code, 0);
    assert_eq!(scene.sign_in(&["auth", "docs"]).code, 0);
}
