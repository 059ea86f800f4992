//! Hazard: a server repeats its secrets encoded, in pieces, or in its tools.

mod common;

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{Journal, PATIENCE, apart, call, manager, stdio, texts};
use mcpool::host::logs::{LevelFilter, LogReader};
use mcpool::{CacheDir, Config, Manager};
use serde_json::{Value, json};

const SECRET: &str = "hunterhunter";

fn with_secret(knobs: &[&str]) -> Value {
    let mut server = stdio(knobs);
    server["env"] = json!({"API_KEY": SECRET});
    server["restart"] = json!("never");
    server
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The error for a server that wrote these lines to stderr and exited.
async fn last_words(lines: &[&str]) -> String {
    let stderr = lines.iter().flat_map(|line| ["--stderr", line]);
    let knobs: Vec<&str> = stderr.chain(["--exit-at", "start:3"]).collect();
    let manager = manager(json!({"s": with_secret(&knobs)}));
    let error = manager.connect("s").await.unwrap_err();
    manager.close().await;
    let text = error.to_string();
    assert!(text.contains("stderr:") && text.contains("the end"), "{text}");
    text
}

#[tokio::test]
async fn no_encoded_form_of_a_secret_is_in_an_error() {
    let login = STANDARD.encode(format!("user:{SECRET}"));
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let escaped: String = SECRET.bytes().map(|byte| format!("\\u{:04x}", byte)).collect();
    let forms = [SECRET.to_owned(), hex(SECRET), hex(SECRET).to_uppercase(), percent, escaped];
    let mut lines: Vec<&str> = forms.iter().map(String::as_str).collect();
    let basic = format!("Authorization: Basic {login}");
    lines.extend([basic.as_str(), "the end"]);
    let text = last_words(&lines).await;
    for form in forms.iter().map(String::as_str).chain([&login[8..]]) {
        assert!(!text.contains(form), "{form}: {text}");
    }
}

#[tokio::test]
async fn a_secret_over_lines_of_stderr_is_not_in_an_error() {
    let text = last_words(&["it is hunter", "hunter", "the end"]).await;
    assert!(text.ends_with("it is ***\nthe end"), "{text}");
    let text = last_words(&["it is hun", "  ter", "hunt", "er", "the end"]).await;
    assert!(text.ends_with("it is ***\nthe end"), "{text}");
}

#[tokio::test]
async fn a_secret_over_lines_of_stderr_is_not_in_the_log() {
    let logs = LogReader::claim().expect("the only one");
    logs.set_level(LevelFilter::TRACE);
    let lines = ["--stderr", "it is hunter", "--stderr", "hunter", "--stderr", "the end"];
    let manager = manager(json!({"logged": with_secret(&lines)}));
    manager.connect("logged").await.unwrap();
    manager.close().await;
    let mut said = String::new();
    let deadline = Instant::now() + PATIENCE;
    while !said.contains("the end") && Instant::now() < deadline {
        let records = logs.next_batch(Duration::from_millis(50)).unwrap_or_default();
        let ours = records.into_iter().filter(|it| it.server.as_deref() == Some("logged"));
        said.extend(ours.map(|record| format!("{}\n", record.message)));
    }
    assert!(said.contains("it is ***\nthe end"), "{said}");
}

#[tokio::test]
async fn what_a_server_offers_holds_none_of_its_secrets() {
    let dir = std::env::temp_dir().join(format!("mcpool-masks-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let tools = dir.join("tools.json");
    let listed = json!([{
        "name": format!("reveal_{SECRET}"),
        "title": SECRET,
        "description": format!("Uses {SECRET}, that is {}", STANDARD.encode(SECRET)),
        "inputSchema": {"type": "object", "properties": {
            "key": {"type": "string", "default": SECRET, "description": hex(SECRET)}
        }},
        "annotations": {"title": SECRET},
    }]);
    std::fs::write(&tools, listed.to_string()).unwrap();
    let journal = Journal::new("masks");
    let server =
        with_secret(&["--tools-file", tools.to_str().unwrap(), "--journal", journal.path()]);
    let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
    let cache = CacheDir::At(dir.join("cache"));
    let manager = Manager::new(config, apart().cache_dir(cache));
    manager.connect_all().await.unwrap();
    let catalog = manager.get_tools();
    let tool = catalog.tools().iter().find(|tool| tool.name.contains("reveal")).unwrap();
    let of = &tool.definition;
    let schema = of.input_schema();
    let seen = [&tool.name, of.raw_name(), of.json(), &of.description(), &schema].join("\n");
    for form in [SECRET.to_owned(), hex(SECRET), STANDARD.encode(SECRET)] {
        assert!(!seen.contains(&form), "{form}: {seen}");
    }
    assert!(seen.contains(r#""type":"object""#), "{seen}");

    // The call uses the server's own name for the tool.
    let _ = call(&manager, of.raw_name(), json!({})).await;
    let asked = |entry: &Value| entry.to_string().contains(&format!("reveal_{SECRET}"));
    assert!(journal.entries().iter().any(asked), "{:?}", journal.entries());
    tokio::time::timeout(PATIENCE, manager.close()).await.unwrap();
    let cached = texts(&dir.join("cache"));
    let _ = std::fs::remove_dir_all(&dir);
    assert!(cached.contains("reveal_***") && !cached.contains(SECRET), "{cached}");
}
