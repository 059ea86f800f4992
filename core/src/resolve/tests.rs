use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::config::{Config, Level};
use crate::error::Stage;
use crate::host_env::HostEnv;
use crate::process::Launch;

mod auth;

fn config(definition: Value) -> ServerConfig {
    let config = Config::from_value(json!({"mcpServers": {"s": definition}})).unwrap();
    let mut server = config.servers["s"].config.clone().unwrap();
    let env = [("PATH", "/usr/bin:/bin"), ("TOKEN", "marker"), ("HOME", "/home/me")];
    let env: BTreeMap<_, _> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    server.scope.host_env = HostEnv::new(Some(env), None, None);
    server
}

fn project(definition: Value) -> ServerConfig {
    let mut server = config(definition);
    server.scope.level = Level::Project;
    server.scope.directory = Some("/srv".into());
    server
}

fn run(config: &ServerConfig) -> (Result<Resolved>, Vec<String>) {
    let (server, config) = ("s".into(), config.clone());
    let (resolved, warnings) = runtime::block_on(async move { resolve(&server, &config).await });
    (resolved, warnings.into_iter().map(|warning| warning.text).collect())
}

fn launch(config: &ServerConfig) -> (Launch, Vec<String>) {
    match run(config) {
        (Ok(Resolved::Stdio(program)), warnings) => (program.launch, warnings),
        (Err(error), _) => panic!("{error}"),
        _ => panic!("another transport"),
    }
}

fn target(config: &ServerConfig) -> (Target, Vec<String>) {
    match run(config) {
        (Ok(Resolved::Http(target)), warnings) => (target, warnings),
        (Err(error), _) => panic!("{error}"),
        _ => panic!("another transport"),
    }
}

fn error(config: &ServerConfig) -> Error {
    run(config).0.err().expect("an error")
}

fn header<'a>(target: &'a Target, name: &str) -> Option<&'a str> {
    target.headers.get(name).map(|value| value.to_str().unwrap())
}

fn variable<'a>(launch: &'a Launch, name: &str) -> Option<&'a OsString> {
    launch.env.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value)
}

#[test]
fn every_field_of_a_program_is_expanded() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("more.env"), "FILE_VAR=$TOKEN\n").unwrap();
    let mut server = config(json!({
        "command": "${SHELL_NAME}", "args": ["${TOKEN}", "${X}"], "cwd": "${DIR}", "envFile": "${NAME}.env",
        "env": {"SHELL_NAME": "sh", "X": "<${TOKEN}>", "DIR": "sub", "NAME": "more", "PLAIN": "$!id", "C": "!echo $TOKEN"},
    }));
    server.scope.directory = Some(directory.path().into());
    let (launch, warnings) = launch(&server);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(launch.program.ends_with("bin/sh"), "{:?}", launch.program);
    assert_eq!(launch.args, ["marker", "<marker>"]);
    assert_eq!(launch.cwd, Some(directory.path().join("sub")));
    assert_eq!(variable(&launch, "PLAIN").unwrap(), "!id");
    assert_eq!(variable(&launch, "C").unwrap(), "marker");
    assert_eq!(variable(&launch, "FILE_VAR").unwrap(), "$TOKEN");
    assert_eq!(variable(&launch, "HOME").unwrap(), "/home/me");
    assert_eq!(variable(&launch, "TOKEN"), None);
}

#[test]
fn arguments_are_never_commands() {
    let (launch, _) = launch(&config(json!({"command": "sh", "args": ["!echo x", "$!echo"]})));
    assert_eq!(launch.args, ["!echo x", "$!echo"]);
}

#[test]
fn an_entry_whose_command_gives_nothing_is_left_out_and_named() {
    let server =
        config(json!({"url": "http://h/", "headers": {"A": "!false", "B": "!echo b", "C": "c"}}));
    let (target, warnings) = target(&server);
    assert_eq!((header(&target, "A"), header(&target, "B")), (None, Some("b")));
    assert_eq!(header(&target, "C"), Some("c"));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("Server \"s\": \"headers.A\" is left out"), "{warnings:?}");
}

#[test]
fn the_users_own_headers_may_read_the_environment() {
    let server = config(json!({
        "url": "http://h/${PART}?k=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}, "env": {"PART": "mcp"},
    }));
    let (target, warnings) = target(&server);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(target.url.as_str(), "http://h/mcp?k=marker");
    assert_eq!(header(&target, "authorization"), Some("Bearer marker"));
}

#[test]
fn an_address_is_shown_without_what_is_secret_elsewhere() {
    let server = config(json!({
        "url": "http://h/swordfish-77/mcp", "headers": {"Authorization": "Bearer swordfish-77"},
    }));
    let (target, _) = target(&server);
    assert!(!target.shown.contains("swordfish"), "{}", target.shown);
    assert!(target.shown.starts_with("http://h/") && target.shown.ends_with("/mcp"));
}

#[test]
fn a_projects_headers_and_address_cannot_send_our_values_away() {
    let definition = json!({
        "url": "http://h/${PART}?k=${TOKEN}",
        "headers": {
            "A": "a${TOKEN}", "B": "${CHAIN}", "C": "!echo $TOKEN", "D": "TOKEN", "E": "${env:TOKEN}",
            "F": "${file:/proc/self/environ}", "G": "${CMD}x", "H": "${userHome}",
        },
        "env": {"PART": "mcp", "CHAIN": "${TOKEN}", "CMD": "!echo $TOKEN"},
    });
    let mut server = project(definition);
    server.scope.bare_env_names = true;
    let (target, warnings) = target(&server);
    assert_eq!(target.url.as_str(), "http://h/mcp?k=");
    let shown = ["A", "B", "C", "D", "E", "F", "G", "H"].map(|name| header(&target, name));
    let empty = Some("");
    assert_eq!(
        shown,
        [Some("a"), Some("${TOKEN}"), None, Some("TOKEN"), empty, empty, Some("x"), empty]
    );
    assert!(!format!("{warnings:?}").contains("marker"));
    assert!(warnings.iter().any(|line| line.contains("\"headers.C\" is left out")), "{warnings:?}");
}

#[test]
fn a_trusted_projects_commands_are_run() {
    let mut server = project(json!({"url": "http://h/", "headers": {"C": "!echo c"}}));
    server.scope.directory = None;
    server.scope.trusted = ScopeTrust::Always;
    assert_eq!(header(&target(&server).0, "C"), Some("c"));
}

#[test]
fn a_projects_program_runs_where_the_project_is() {
    let server = project(json!({"command": "bin/tool", "args": ["${TOKEN}"]}));
    let (launch, _) = launch(&server);
    assert_eq!(launch.cwd, Some(PathBuf::from("/srv")));
    assert_eq!(launch.program, PathBuf::from("/srv/bin/tool"));
    assert_eq!(launch.args, ["marker"]);
    let (launch, _) = super::tests::launch(&project(json!({"command": "/x", "cwd": "sub"})));
    assert_eq!(launch.cwd, Some(PathBuf::from("/srv/sub")));
}

#[test]
fn an_address_is_checked_once_it_is_known() {
    let written = |url: &str| {
        let definition = json!({"mcpServers": {"s": {"url": url}}});
        Config::from_value(definition).unwrap().servers["s"].config.clone().err().unwrap()
    };
    for (url, as_written) in [
        ("ftp://${HOST:-h}/", "ftp://h/"),
        ("${NOTHING:-}", "x"),
        ("http://${EMPTY:-}/", "http:///"),
    ] {
        let error = error(&config(json!({"url": url})));
        assert_eq!(error.text(), written(as_written).text(), "{url}");
        assert_eq!((error.code(), error.server()), ("CONFIG_INVALID", Some("s")));
    }
}

#[test]
fn a_demanded_variable_is_the_servers_error() {
    let error = error(&config(json!({"command": "sh", "env": {"A": "${NOT:?run setup first}"}})));
    assert_eq!(error.code(), "CONFIG_INVALID");
    assert!(error.message().contains("\"env.A\"") && error.message().contains("run setup first"));
}

#[test]
fn bare_names_are_replaced_where_the_scope_says_so() {
    let mut server = config(json!({"command": "sh", "env": {"A": "TOKEN", "B": "NOT_SET"}}));
    assert_eq!(variable(&launch(&server).0, "A").unwrap(), "TOKEN");
    server.scope.bare_env_names = true;
    let (launch, _) = launch(&server);
    assert_eq!(variable(&launch, "A").unwrap(), "marker");
    assert_eq!(variable(&launch, "B").unwrap(), "NOT_SET");
}

#[test]
fn a_file_of_variables_is_asked_before_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".env");
    let mut server = config(json!({"command": "sh", "args": ["${TOKEN}"]}));
    server.scope.variables = Some(file.clone());
    assert_eq!(launch(&server).0.args, ["marker"]);
    std::fs::write(&file, "TOKEN=file\n").unwrap();
    assert_eq!(launch(&server).0.args, ["file"]);
    std::fs::write(&file, "secret nonsense").unwrap();
    let (launch, warnings) = launch(&server);
    assert_eq!((launch.args, warnings.len()), (vec!["marker".to_owned()], 1));
    assert!(!warnings[0].contains("secret"), "{warnings:?}");
}

#[test]
fn what_comes_from_a_secret_place_is_masked_under_any_name() {
    let mut server = config(json!({
        "command": "sh", "inheritEnv": "all",
        "env": {"MODE": "!echo lettersonly", "LEVEL": "OTHER_TOKEN", "TOOLSETS": "issues"},
    }));
    server.scope.bare_env_names = true;
    let env = [("PATH", "/usr/bin:/bin"), ("OTHER_TOKEN", "barename"), ("GH_TOKEN", "inherited")];
    let env: BTreeMap<_, _> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    server.scope.host_env = HostEnv::new(Some(env), None, None);
    let (launch, _) = launch(&server);
    let text = "lettersonly barename inherited issues /usr/bin:/bin";
    assert_eq!(launch.mask.prose(text), "*** *** *** issues /usr/bin:/bin");
}

#[test]
fn the_default_of_a_secret_reference_is_masked_wherever_it_comes_from() {
    let (launch, _) = launch(&config(json!({
        "command": "sh",
        "args": [
            "--a=${X_TOKEN:-first-default}", "--b=${TOKEN:-unused-default}",
            "--c=${X_TOKEN:-${LEVEL:-nested-default}}", "--d=${LEVEL:-plain-default}",
        ],
    })));
    assert_eq!(launch.args[0], "--a=first-default");
    assert_eq!(launch.args[2], "--c=nested-default");
    let text = "first-default unused-default nested-default plain-default";
    assert_eq!(launch.mask.prose(text), "*** *** *** plain-default");
}

#[test]
fn a_tls_path_is_shown_as_written() {
    let server = config(json!({"url": "https://h/", "tls": {"ca": "/nowhere/${TOKEN}"}}));
    let error = error(&server);
    assert!(error.message().contains("/nowhere/${TOKEN}"), "{error}");
    assert!(!format!("{error:?} {error}").contains("marker"), "{error:?}");
}

#[test]
fn tls_files_are_beside_the_file_that_names_them() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("there");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("ca.pem"), "beside").unwrap();
    let document = json!({"mcpServers": {"s": {"url": "https://h/", "tls": {"ca": "ca.pem"}}}});
    std::fs::write(place.join("c.json"), document.to_string()).unwrap();
    std::os::unix::fs::symlink(place.join("c.json"), directory.path().join("link.json")).unwrap();
    for file in [place.join("c.json"), directory.path().join("link.json")] {
        let config = Config::from_file(file).unwrap();
        let (target, _) = target(config.servers["s"].config.as_ref().unwrap());
        assert_eq!(target.tls.unwrap().ca.unwrap().text.expose(), "beside");
    }
    // A project's begin where its `envFile` does.
    let mut server = project(json!({"url": "https://h/", "tls": {"ca": "ca.pem"}}));
    server.scope.directory = Some(place);
    server.scope.trusted = ScopeTrust::Always;
    assert_eq!(target(&server).0.tls.unwrap().ca.unwrap().text.expose(), "beside");
}

#[test]
fn a_tls_file_that_cannot_be_read_is_a_failed_attempt() {
    let mut server = config(json!({"url": "https://h/", "tls": {"ca": "/nowhere"}}));
    let missing = error(&server);
    assert_eq!((missing.code(), missing.stage()), ("CONNECT_FAILED", Some(Stage::Resolve)));
    // Half a client certificate is an error of the definition.
    server.tls.as_mut().unwrap().cert = Some("/nowhere".to_owned());
    assert_eq!(error(&server).code(), "CONFIG_INVALID");
}
