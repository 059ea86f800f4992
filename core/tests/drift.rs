//! Hazard: drift is compared wrongly where tools contain secrets, or while managers come and go.

mod common;

use std::path::PathBuf;

use common::{PATIENCE, apart, stdio, texts};
use mcpool::host::Language;
use mcpool::{CacheDir, Config, EventKind, HostEnv, Manager, ManagerOptions};
use serde_json::{Value, json};

struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let dir = std::env::temp_dir().join(format!("mcpool-drift-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Room(dir)
    }

    fn list(&self, tools: Value) {
        std::fs::write(self.0.join("tools.json"), tools.to_string()).unwrap();
    }

    fn cached(&self) -> String {
        texts(&self.0.join("cache"))
    }

    /// Every pin file.
    fn pin_files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.0.join("cache/pins/explicit"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    /// A manager whose server has another definition each time.
    fn version(&self, version: &str, options: Value) -> Manager {
        let tools = self.0.join("tools.json");
        let mut server = stdio(&["--tools-file", tools.to_str().unwrap()]);
        server["env"] = json!({"VERSION": version});
        let read = ManagerOptions::from_json(&options.to_string(), Language::Python).unwrap();
        let options = apart()
            .cache_dir(CacheDir::At(self.0.join("cache")))
            .drift(read.drift)
            .approval(read.approval);
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
        Manager::new(config, options)
    }

    /// A manager whose server knows this secret and puts it into a tool's description.
    fn manager(&self, secret: &str, drift: &str) -> Manager {
        let tools = self.0.join("tools.json");
        let mut server = stdio(&["--tools-file", tools.to_str().unwrap(), "--parrot", "tools"]);
        server["env"] = json!({"TOKEN": "${TOKEN}"});
        server["inheritEnv"] = json!("none");
        let host_env = json!({"env": {"TOKEN": secret}, "home": self.0}).to_string();
        let read =
            ManagerOptions::from_json(&json!({"drift": drift}).to_string(), Language::Python)
                .unwrap();
        let options = apart()
            .cache_dir(CacheDir::At(self.0.join("cache")))
            .host_env(HostEnv::from_json(&host_env).unwrap())
            .drift(read.drift);
        let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
        Manager::new(config, options)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Connects; returns all events until the tool `x` has drifted.
async fn told(manager: &Manager) -> String {
    let events = manager.events();
    manager.connect_all().await.unwrap();
    let mut told = String::new();
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.expect("an event").unwrap();
        told += &serde_json::to_string(&event).unwrap();
        if matches!(&event.kind, EventKind::ToolDrift { tool, .. } if tool == "x") {
            return told;
        }
    }
}

#[tokio::test]
async fn another_secret_is_no_drift_and_is_neither_told_nor_written() {
    for drift in ["warn", "block"] {
        let room = Room::new(&format!("secret-{drift}"));
        let (first, second) = ("s3cret-9f8e7d6c5b", "s3cret-0a1b2c3d4e");
        room.list(json!([{"name": "x", "description": format!("has {first}")}]));
        let manager = room.manager(first, drift);
        manager.connect_all().await.unwrap();
        manager.close().await;
        room.list(json!([{"name": "x", "description": format!("had {second}")}]));
        let manager = room.manager(second, drift);
        let told = told(&manager).await;
        assert!(!told.contains(r#""tool":"parrot""#), "{told}");
        manager.close().await;
        for text in [told, room.cached()] {
            assert!(text.contains("had "), "{text}");
            assert!(!text.contains(first) && !text.contains(second), "{drift}: {text}");
        }
    }
}

#[tokio::test]
async fn a_manager_that_lets_drift_pass_leaves_it_blocked_for_others() {
    let room = Room::new("others");
    room.list(json!([{"name": "x", "description": "first"}]));
    let manager = room.manager("none-0123456789", "allow");
    manager.connect_all().await.unwrap();
    manager.close().await;
    room.list(json!([{"name": "x", "description": "second"}]));
    for drift in ["allow", "warn", "block", "block"] {
        let manager = room.manager("none-0123456789", drift);
        told(&manager).await;
        let catalog = manager.get_tools();
        assert_eq!(catalog.get("mcp_s_x").is_none(), drift == "block", "{drift}");
        manager.close().await;
    }
    let manager = room.manager("none-0123456789", "block");
    manager.connect_all().await.unwrap();
    assert_eq!(manager.accept_drift("s", None).await.unwrap(), ["x"]);
    manager.close().await;
    room.list(json!([{"name": "x", "description": "first"}]));
    let manager = room.manager("none-0123456789", "block");
    assert!(told(&manager).await.contains(r#""before":"second""#), "what was accepted is the pin");
    manager.close().await;
    let errors = manager.accept_drift("s", None).await.unwrap_err();
    assert_eq!(errors.code(), "CLOSED");
}

fn needs_approval(manager: &Manager, tool: &str) -> bool {
    manager.get_tools().get(tool).expect("it is offered").requires_approval
}

#[tokio::test]
async fn a_tool_that_was_renamed_and_comes_back_under_another_version_is_asked_about() {
    let room = Room::new("renamed");
    let by_hints = || json!({"approval": "annotations"});
    let hint = json!({"readOnlyHint": true});
    room.list(json!([{"name": "x"}]));
    let manager = room.version("1", by_hints());
    manager.connect_all().await.unwrap();
    manager.close().await;
    room.list(json!([{"name": "y"}]));
    let manager = room.version("2", by_hints());
    manager.connect_all().await.unwrap();
    manager.close().await;
    room.list(json!([{"name": "x", "annotations": hint}, {"name": "y", "annotations": hint}]));
    let manager = room.version("3", by_hints());
    assert!(told(&manager).await.contains("tool_drift"));
    assert!(needs_approval(&manager, "mcp_s_x") && needs_approval(&manager, "mcp_s_y"));
    assert_eq!(manager.accept_drift("s", Some("x")).await.unwrap(), ["x"]);
    assert!(!needs_approval(&manager, "mcp_s_x") && needs_approval(&manager, "mcp_s_y"));
    manager.close().await;
    let manager = room.version("4", by_hints());
    manager.connect_all().await.unwrap();
    assert!(!needs_approval(&manager, "mcp_s_x") && needs_approval(&manager, "mcp_s_y"));
    manager.close().await;
}

#[tokio::test]
async fn a_server_that_lists_nothing_at_first_is_pinned_when_it_lists_something() {
    let room = Room::new("nothing-first");
    for (tools, is_offered) in [
        (json!([]), false),
        (json!([{"name": "x", "description": "first"}]), true),
        (json!([]), false),
        (json!([{"name": "x", "description": "second"}]), false),
    ] {
        room.list(tools.clone());
        let manager = room.version(&tools.to_string(), json!({"drift": "block"}));
        manager.connect_all().await.unwrap();
        assert_eq!(manager.get_tools().get("mcp_s_x").is_some(), is_offered, "{tools}");
        manager.close().await;
    }
}

#[tokio::test]
async fn pins_that_cannot_be_read_open_nothing_until_everything_is_accepted() {
    let room = Room::new("damaged");
    let strict = || json!({"drift": "block", "approval": "annotations"});
    room.list(json!([{"name": "x"}]));
    let manager = room.version("1", json!({}));
    manager.connect_all().await.unwrap();
    manager.close().await;
    let files = room.pin_files();
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::write(&files[0], "torn").unwrap();
    room.list(json!([{"name": "x", "annotations": {"readOnlyHint": true}}]));
    // A manager that allows changes offers the tools, reports the drift, and leaves the file as it is.
    let manager = room.version("2", json!({"approval": "annotations"}));
    let events = manager.events();
    manager.connect_all().await.unwrap();
    assert!(needs_approval(&manager, "mcp_s_x"));
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.expect("an event").unwrap();
        let told = serde_json::to_string(&event).unwrap();
        if told.contains("warning") && told.contains(files[0].to_str().unwrap()) {
            break;
        }
    }
    manager.close().await;
    assert_eq!(std::fs::read(&files[0]).unwrap(), b"torn");
    let manager = room.version("3", strict());
    manager.connect_all().await.unwrap();
    assert!(manager.get_tools().tools().is_empty());
    let refused = common::call(&manager, "x", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), "TOOL_REJECTED");
    let refused = manager.accept_drift("s", Some("x")).await.unwrap_err();
    assert_eq!(refused.code(), "TOOL_REJECTED");
    assert!(manager.accept_drift("s", None).await.unwrap().contains(&"x".to_owned()));
    assert!(!needs_approval(&manager, "mcp_s_x"));
    manager.close().await;
    let manager = room.version("4", strict());
    manager.connect_all().await.unwrap();
    assert!(!needs_approval(&manager, "mcp_s_x"));
    manager.close().await;
}

#[tokio::test]
async fn another_cache_has_pins_of_its_own() {
    let (one, two) = (Room::new("one"), Room::new("two"));
    one.list(json!([{"name": "x", "description": "first"}]));
    two.list(json!([{"name": "x", "description": "second"}]));
    for room in [&one, &two, &one, &two] {
        let manager = room.version("1", json!({"drift": "block"}));
        manager.connect_all().await.unwrap();
        assert!(manager.get_tools().get("mcp_s_x").is_some());
        manager.close().await;
    }
}
