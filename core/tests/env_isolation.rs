//! Hazard: one server's variables reach another server's process, especially when many start at once.

mod common;

use std::collections::BTreeMap;

use common::{apart, stdio};
use mcpool::{Arguments, CallOptions, Config, HostEnv, Manager};
use serde_json::{Map, Value, json};

const SERVERS: usize = 32;

fn host_env() -> HostEnv {
    let env = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", "/nowhere".to_owned()),
        ("API_TOKEN", "ours".to_owned()),
    ];
    let env: BTreeMap<_, _> = env.map(|(name, value)| (name.to_owned(), value)).into();
    HostEnv::new(Some(env), None, None)
}

/// A server's complete environment.
async fn environment(manager: &Manager, server: &str) -> BTreeMap<String, String> {
    let none = Arguments::new(&json!({})).unwrap();
    let options = CallOptions::default();
    let result = manager.call_tool(server, "env_all", none, options).await.unwrap();
    serde_json::from_str(&result.text()).unwrap()
}

#[tokio::test]
async fn servers_that_start_at_once_get_their_own_variables_only() {
    let directory = tempfile::tempdir().unwrap();
    let servers: Map<String, Value> = (0..SERVERS)
        .map(|n| {
            let file = directory.path().join(format!("{n}.env"));
            std::fs::write(&file, format!("FILE_{n}=file-{n}\n")).unwrap();
            let mut server = stdio(&[]);
            server["envFile"] = json!(file);
            server["env"] = json!({
                "SHARED_NAME": format!("value-{n}"),
                format!("OWN_{n}"): format!("own-{n}"),
                "REFERENCE": "<${API_TOKEN}>",
                "COMMAND": format!("!sleep 0.0{}; echo said-{n}", n % 10),
            });
            (format!("s{n}"), server)
        })
        .collect();
    let config = Config::from_value(json!({"mcpServers": servers})).unwrap();
    let manager = Manager::new(config, apart().host_env(host_env()));
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected.len(), SERVERS, "{report:?}");
    for n in 0..SERVERS {
        let found = environment(&manager, &format!("s{n}")).await;
        let wanted: BTreeMap<String, String> = [
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), "/nowhere".to_owned()),
            ("SHARED_NAME".to_owned(), format!("value-{n}")),
            (format!("OWN_{n}"), format!("own-{n}")),
            (format!("FILE_{n}"), format!("file-{n}")),
            ("REFERENCE".to_owned(), "<ours>".to_owned()),
            ("COMMAND".to_owned(), format!("said-{n}")),
        ]
        .into();
        assert_eq!(found, wanted, "s{n}");
    }
    manager.close().await;
}

#[tokio::test]
async fn what_is_inherited_is_what_was_chosen() {
    let with = |inherit: &str| {
        let mut server = stdio(&[]);
        server["inheritEnv"] = json!(inherit);
        server
    };
    let servers = json!({"safe": with("safe"), "all": with("all"), "none": with("none")});
    let config = Config::from_value(json!({"mcpServers": servers})).unwrap();
    let manager = Manager::new(config, apart().host_env(host_env()));
    manager.connect_all().await.unwrap();
    let mut names = Vec::new();
    for server in ["safe", "all", "none"] {
        names.push(environment(&manager, server).await.into_keys().collect::<Vec<_>>());
    }
    assert_eq!(names, [vec!["HOME", "PATH"], vec!["API_TOKEN", "HOME", "PATH"], vec![]]);
    manager.close().await;
}
