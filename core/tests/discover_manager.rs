//! Hazard: a manager created by discovery loses track of its files.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{apart, stdio, until};
use mcpool::{DiscoverOptions, HostEnv, Manager, State, Trust};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Site {
    _dir: TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl Site {
    fn new() -> Site {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let project = dir.path().join("project");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        Site { _dir: dir, home, project }
    }

    fn write(&self, file: PathBuf, servers: Value) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let fresh = file.with_extension("new");
        std::fs::write(&fresh, json!({"mcpServers": servers}).to_string()).unwrap();
        std::fs::rename(fresh, file).unwrap();
    }

    fn options(&self) -> DiscoverOptions {
        let env = [("PATH".to_owned(), std::env::var("PATH").unwrap())];
        let host_env = HostEnv::new(Some(env.into()), Some(self.home.clone()), None);
        DiscoverOptions::default().cwd(self.project.clone()).host_env(host_env)
    }

    async fn manager(&self, watch: bool) -> Manager {
        let options = apart().watch(watch).trust(Trust::All);
        Manager::discover(self.options(), options).await.unwrap()
    }
}

fn states(manager: &Manager) -> BTreeMap<String, State> {
    manager.status().into_iter().map(|status| (status.name, status.state)).collect()
}

fn is_up(manager: &Manager, servers: &[&str]) -> bool {
    let states = states(manager);
    states.len() == servers.len()
        && servers.iter().all(|&name| states.get(name) == Some(&State::Connected))
}

#[tokio::test]
async fn every_server_knows_its_source_and_its_tools_name_the_provider() {
    let site = Site::new();
    site.write(site.home.join(".cursor/mcp.json"), json!({"mine": stdio(&[])}));
    site.write(site.project.join(".mcp.json"), json!({"theirs": stdio(&[])}));
    let manager = site.manager(false).await;
    manager.connect_all().await.unwrap();
    let sources: BTreeMap<_, _> =
        manager.status().into_iter().map(|status| (status.name, status.source)).collect();
    let shown = serde_json::to_value(&sources).unwrap();
    assert_eq!(shown["mine"]["level"], "user");
    assert_eq!(shown["theirs"]["level"], "project");
    let path = site.project.join(".mcp.json").display().to_string();
    assert_eq!(shown["theirs"]["path"], path);
    let catalog = manager.get_tools();
    let tool = catalog.get("mcp_mine_echo").unwrap();
    assert_eq!(
        tool.provider(),
        format!("mcp:mine via {}", shown["mine"]["provider"].as_str().unwrap())
    );
    assert_eq!(manager.discovery().unwrap().files.len(), 2);
    let child = manager.child().unwrap();
    assert_eq!(child.status()[0].source, manager.status()[0].source);
    assert!(child.discovery().is_some());
    child.close().await;
    manager.close().await;
}

#[tokio::test]
async fn a_reload_looks_again_and_applies_the_difference() {
    let site = Site::new();
    let file = site.project.join(".mcp.json");
    site.write(file.clone(), json!({"a": stdio(&[]), "b": stdio(&[])}));
    let manager = site.manager(false).await;
    manager.connect_all().await.unwrap();
    let pid = manager.status()[0].pid;
    site.write(file.clone(), json!({"a": stdio(&[])}));
    site.write(site.home.join(".cursor/mcp.json"), json!({"c": stdio(&[])}));
    let report = manager.reload().await.unwrap();
    assert_eq!(report.unchanged, ["a"]);
    assert_eq!((report.removed, report.added), (vec!["b".to_owned()], vec!["c".to_owned()]));
    let a = manager.status().into_iter().find(|status| status.name == "a").unwrap();
    assert_eq!(a.pid, pid);
    std::fs::write(&file, "{\"mcpServers\": {\"a\": ").unwrap();
    let report = manager.reload().await.unwrap();
    assert!(report.removed.is_empty(), "what cannot be read changes nothing: {report:?}");
    assert!(is_up(&manager, &["a", "c"]));
    manager.close().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_brings_nothing_to_light() {
    let site = Site::new();
    let (above, below) = (site.home.join(".cursor/mcp.json"), site.project.join(".mcp.json"));
    site.write(above.clone(), json!({"a": stdio(&[])}));
    site.write(below.clone(), json!({"a": {"command": "x", "enabled": false}}));
    let manager = site.manager(false).await;
    manager.connect_all().await.unwrap();
    std::fs::write(&above, "{").unwrap();
    assert_eq!(manager.reload().await.unwrap().unchanged, ["a"]);
    assert!(is_up(&manager, &["a"]));

    // Files with higher precedence still count.
    site.write(
        site.project.join(".mcpool/mcp.json"),
        json!({"a": {"command": "x", "enabled": false}}),
    );
    assert_eq!(manager.reload().await.unwrap().restarted, ["a"]);
    manager.close().await;
}

#[tokio::test]
async fn a_reload_that_waits_for_its_turn_reads_what_is_there_by_then() {
    let site = Site::new();
    let file = site.project.join(".mcp.json");
    site.write(file.clone(), json!({}));
    let manager = site.manager(false).await;
    let slow =
        json!({"command": "/bin/sleep", "args": ["60"], "timeout": 3000, "restart": "never"});
    site.write(file.clone(), json!({"slow": slow}));
    let first = tokio::spawn(manager.reload());
    until("the first reload is under way", || !manager.status().is_empty()).await;
    site.write(file.clone(), json!({"old": {"command": "x", "enabled": false}}));
    let second = tokio::spawn(manager.reload());
    // A reload that did not wait would have read the file before this later look is done.
    site.manager(false).await.close().await;
    site.write(file.clone(), json!({"new": {"command": "x", "enabled": false}}));
    first.await.unwrap().unwrap();
    assert_eq!(second.await.unwrap().unwrap().added, ["new"]);
    manager.close().await;
}

#[tokio::test]
async fn a_watched_manager_follows_files_that_were_not_there_at_first() {
    let site = Site::new();
    let manager = site.manager(true).await;
    assert!(manager.connect_all().await.unwrap().connected.is_empty());
    let nested = site.home.join(".kiro/settings/mcp.json");
    site.write(nested.clone(), json!({"a": stdio(&[])}));
    until("the new file is found", || is_up(&manager, &["a"])).await;
    site.write(site.project.join(".mcp.json"), json!({"b": stdio(&[])}));
    until("the project's file is found", || is_up(&manager, &["a", "b"])).await;
    site.write(nested.clone(), json!({"c": stdio(&[])}));
    until("a change in a directory that is new is seen", || is_up(&manager, &["b", "c"])).await;
    std::fs::remove_file(&nested).unwrap();
    until("a file that is gone is gone", || is_up(&manager, &["b"])).await;
    manager.close().await;
}

#[tokio::test]
async fn a_failed_discovery_gives_a_manager_without_tools_and_one_error() {
    let site = Site::new();
    let options = site.options().cwd(site.project.join("none"));
    let manager = Manager::discover(options, apart()).await.unwrap();
    let report = manager.connect_all().await.unwrap();
    assert!(report.connected.is_empty() && manager.get_tools().tools().is_empty());
    let discovery = manager.discovery().unwrap();
    assert_eq!(discovery.errors.len(), 1);
    assert_eq!(discovery.errors[0].path, ".mcp.json");
    assert_eq!(discovery.errors[0].error.code(), "DISCOVERY_FAILED");
    assert_eq!(manager.reload().await.unwrap_err().code(), "DISCOVERY_FAILED");
    manager.close().await;
}
