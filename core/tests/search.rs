//! Search over five hundred tools of real servers: for fifty needs in other words, the right tool is among the first
//! five.

#![allow(clippy::print_stderr, reason = "the misses are what one wants to see")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use mcpool::{Config, Manager};
use serde::Deserialize;
use serde_json::{Value, json};

mod common;

#[derive(Deserialize)]
struct Query {
    query: String,
    /// `server.tool`; any of them is right.
    right: Vec<String>,
}

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/search").join(file)
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> T {
    let text = std::fs::read_to_string(data(file)).expect("the file can be read");
    serde_json::from_str(&text).expect("it is as it should be")
}

#[tokio::test]
async fn the_right_tool_is_among_the_first_five() {
    let servers: BTreeMap<String, Vec<Value>> = read("tools.json");
    let queries: Vec<Query> = read("queries.json");
    let total: usize = servers.values().map(Vec::len).sum();
    assert_eq!((total, queries.len()), (500, 50));
    let file = data("tools.json");
    let file = file.to_str().expect("a path in Unicode");
    let definitions: serde_json::Map<String, Value> = servers
        .keys()
        .map(|name| (name.clone(), common::stdio(&["--name", name, "--tools-from", file])))
        .collect();
    let config = Config::from_value(json!({"mcpServers": definitions})).expect("a valid config");
    let options = common::apart().naming(mcpool::Naming::Raw);
    let manager = Manager::new(config, options);
    for name in servers.keys() {
        manager.connect(name).await.expect("it connects");
    }
    assert_eq!(manager.get_tools().tools().len(), total);

    let (mut first, mut five) = (0, 0);
    let mut lists: IndexMap<&str, Vec<String>> = IndexMap::new();
    for Query { query, right } in &queries {
        for name in right {
            assert!(manager.get_tools().get(name).is_some(), "there is no {name}");
        }
        let found: Vec<String> =
            manager.search_tools(query, 5).into_iter().map(|tool| tool.name).collect();
        let place = found.iter().position(|name| right.contains(name));
        first += usize::from(place == Some(0));
        five += usize::from(place.is_some());
        if place.is_none() {
            eprintln!("missed: {query:?} should find {right:?}, found {found:?}");
        }
        lists.insert(query, found);
    }
    eprintln!("of {}: {first} first, {five} among the first five", queries.len());
    assert!(five * 100 >= queries.len() * 95, "{five} of {}", queries.len());
    if std::env::var_os("MCPOOL_WRITE_FOUND").is_some() {
        let text = serde_json::to_string_pretty(&lists).expect("it is plain");
        std::fs::write(data("found.json"), text + "\n").expect("the file can be written");
    }
    let known: IndexMap<String, Vec<String>> = read("found.json");
    for (query, found) in lists {
        assert_eq!(known.get(query), Some(&found), "{query}");
    }
    manager.close().await;
}
