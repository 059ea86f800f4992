//! Hazard: hints are pasted into a shell, and a hostile project may have chosen the names in them.

use std::path::PathBuf;

use mcpool::{CacheDir, DiscoverOptions, Manager, ManagerOptions};
use serde_json::{Value, json};

#[path = "cli/support.rs"]
mod support;

use support::{Home, write};

/// Directory names that would do harm when pasted.
const HOSTILE: &[&str] =
    &["'; touch pwned; '", "$(touch pwned)", "`touch pwned`", "a b\ntouch pwned\n"];

fn words(command: &str) -> Vec<String> {
    shlex::split(command).unwrap_or_else(|| panic!("no command line: {command}"))
}

/// The pasted words for this name.
fn pasted(word: &str) -> String {
    word.replace('\n', "\u{fffd}")
}

fn advice(report: &Value, server: &str, check: &str) -> String {
    let servers = report["servers"].as_array().unwrap();
    let server =
        servers.iter().find(|it| it["name"] == server).unwrap_or_else(|| panic!("{report}"));
    let findings = server["findings"].as_array().unwrap_or_else(|| panic!("{report}"));
    let finding = findings.iter().find(|it| it["check"] == check);
    finding.unwrap_or_else(|| panic!("{report}"))["advice"].as_str().unwrap().to_owned()
}

/// The text after a hint's colon.
fn command(advice: &str) -> Vec<String> {
    let start =
        advice.find("mcpool ").or(advice.find("chmod ")).unwrap_or_else(|| panic!("{advice}"));
    words(&advice[start..])
}

#[test]
fn the_path_of_a_project_is_one_word() {
    for (index, hostile) in HOSTILE.iter().enumerate() {
        let home = Home::new(&format!("advice-{index}"));
        let file: PathBuf = home.project(hostile).join(".mcp.json");
        let secret = json!({"TOKEN": "hunter2-hunter2"});
        write(&file, json!({"s": {"command": "x", "env": secret}}));
        let directory = file.parent().unwrap().to_str().unwrap();
        let report = home.run(&["doctor", "--json", "--project", directory]).json();
        let told = command(&advice(&report, "s", "trust"));
        let shown = pasted(&format!("./{hostile}/.mcp.json"));
        assert_eq!(told, ["mcpool", "trust", &shown]);
        let files = report["files"].as_array().unwrap_or_else(|| panic!("{report}"));
        let warned = files.iter().flat_map(|file| file["findings"].as_array().unwrap());
        let private = warned.filter_map(|it| it["advice"].as_str()).find(|it| it.contains("chmod"));
        assert_eq!(
            command(private.unwrap_or_else(|| panic!("{report}"))),
            ["chmod", "600", &shown]
        );
    }
}

#[tokio::test]
async fn the_hint_of_an_untrusted_server_is_a_command() {
    for hostile in HOSTILE {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().canonicalize().unwrap().join(hostile);
        let file = project.join(".mcp.json");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(&file, json!({"mcpServers": {"s": {"command": "x"}}}).to_string()).unwrap();
        let host_env =
            mcpool::HostEnv::new(Some(Default::default()), Some(directory.path().into()), None);
        let options = DiscoverOptions::default().cwd(project).host_env(host_env);
        let manager = ManagerOptions::default().cache_dir(CacheDir::Off);
        let manager = Manager::discover(options, manager).await.unwrap();
        let error = manager.connect("s").await.unwrap_err();
        assert_eq!(error.code(), "UNTRUSTED");
        let file = pasted(file.to_str().unwrap());
        assert_eq!(words(error.hint().unwrap()), ["mcpool", "trust", &file]);
        manager.close().await;
    }
}

#[test]
fn names_and_urls_of_a_users_file_are_words_too() {
    let home = Home::new("advice-urls");
    let url = "http://127.0.0.1:1/';touch${IFS}pwned;'/$(id)/`id`";
    let remote = json!({"command": "npx", "args": ["-y", "mcp-remote", url]});
    let servers = json!({"b": remote, "-off": {"command": "x", "enabled": false}});
    write(&home.own(), servers);
    // Starts nothing.
    let ran = home.command(&["doctor", "--json"]).env("PATH", "/nowhere").output().unwrap();
    let report = support::Ran::from(ran).json();
    assert_eq!(command(&advice(&report, "-off", "definition")), ["mcpool", "enable", "--", "-off"]);
    let bridge = command(&advice(&report, "b", "bridge"));
    let (remove, add) = bridge.split_at(3);
    assert_eq!(remove, ["mcpool", "remove", "b;"]);
    assert_eq!(add, ["mcpool", "add", "b", "--url", url]);
}
