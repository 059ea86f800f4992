//! The command line as users run it: the real binary, with its own demo server in the configs.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

#[path = "cli/support.rs"]
mod support;

use support::{MCPOOL, Ran, means};

fn mcpool(args: &[&str]) -> Ran {
    command(args).output().unwrap().into()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(MCPOOL);
    command.args(args).stdin(Stdio::null());
    // Isolated from the home of the user who runs the tests.
    let home = concat!(env!("CARGO_TARGET_TMPDIR"), "/cli-home");
    std::fs::create_dir_all(home).unwrap();
    command.current_dir(home).env_clear().env("HOME", home);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("MCPOOL_CACHE_DIR", format!("{home}/cache")).envs(means());
    command
}

/// A command with this test's config.
fn with_config(config: &ConfigFile, args: &[&str]) -> Ran {
    let (command, rest) = args.split_first().unwrap();
    mcpool(&[&[command, "--config", config.path()], rest].concat())
}

struct ConfigFile(PathBuf);

impl ConfigFile {
    fn new(test: &str, text: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{test}.json"));
        std::fs::write(&path, text).unwrap();
        ConfigFile(path)
    }

    /// The demo server, and the test's other servers.
    fn with_demo(test: &str, others: Value) -> Self {
        let mut servers = json!({"demo": {"command": MCPOOL, "args": ["demo-server"]}});
        servers.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        ConfigFile::new(test, &json!({ "mcpServers": servers }).to_string())
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn nowhere() -> Value {
    json!({"broken": {"command": "no-such-program-anywhere"}})
}

#[test]
fn the_demo_shows_every_step_without_colour_when_piped() {
    let ran = mcpool(&["demo"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for step in [
        "Connect",
        "mcp_demo_greet",
        "Hello, Ada!",
        "{\"sum\":42}",
        "P50",
        "Hello, Grace!",
        "Disconnect",
    ] {
        assert!(ran.out.contains(step), "{step} is missing in {}", ran.out);
    }
    assert!(!ran.out.contains('\x1b'), "{}", ran.out);
}

#[test]
fn the_demo_as_json_has_the_same_facts_and_leaves_no_process() {
    let ran = mcpool(&["demo", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let facts = ran.json();
    assert_eq!(facts["connect"]["server"], "demo");
    assert_eq!(facts["tools"].as_array().unwrap().len(), 4);
    assert_eq!(facts["calls"][0]["text"], "Hello, Ada!");
    assert_eq!(facts["calls"][1]["structured"], json!({"sum": 42}));
    assert_eq!(facts["status"][0]["state"], "connected");
    assert_eq!(facts["status"][0]["calls"]["ok"], 2);
    let pid = facts["status"][0]["pid"].as_i64().unwrap() as i32;
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "{pid:?} still runs");
}

#[test]
fn tools_are_listed_for_people_and_for_programs() {
    let config = ConfigFile::with_demo("tools", json!({}));
    let ran = with_config(&config, &["tools"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("SERVER  TOOL   DESCRIPTION\ndemo    add    "), "{}", ran.out);
    let listing = with_config(&config, &["tools", "--json"]).json();
    let add = &listing["tools"][0];
    assert_eq!((&add["name"], &add["raw_name"]), (&json!("mcp_demo_add"), &json!("add")));
    assert_eq!(add["input_schema"]["required"], json!(["a", "b"]));
    assert_eq!(add["output_schema"]["required"], json!(["sum"]));
    assert_eq!(listing["failed"], json!({}));
}

#[test]
fn tools_are_searched_best_first() {
    let config = ConfigFile::with_demo("search", json!({}));
    let names = |words: &[&str]| {
        let arguments: Vec<&str> = ["tools", "--json"].iter().chain(words).copied().collect();
        let tools = with_config(&config, &arguments).json()["tools"].take();
        let names = tools.as_array().expect("a list").iter();
        names.map(|tool| tool["raw_name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--search", "adding numbers"])[0], "add");
    assert_eq!(names(&["--search", "which time is it now"])[0], "now");
    assert_eq!(names(&["--search", "add numbers, roll dice, now", "--top", "2"]).len(), 2);
    assert!(names(&["--search", "zebra"]).is_empty());
    let ran = with_config(&config, &["tools", "--search", "roll"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{}", ran.out);
    let ran = with_config(&config, &["tools", "--search", "zebra"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_ne!(ran.err, "");
}

#[test]
fn a_server_that_fails_is_told_and_costs_only_itself() {
    let config = ConfigFile::with_demo("one-fails", nowhere());
    let ran = with_config(&config, &["tools"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("greet"), "{}", ran.out);
    assert!(ran.err.starts_with("Failed to connect to \"broken\": "), "{}", ran.err);
    assert!(ran.err.contains("\nHint: "), "{}", ran.err);
    assert!(ran.err.ends_with("\nServers: 1 connected, 1 failed\n"), "{}", ran.err);
    let ran = with_config(&config, &["tools", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert_eq!(ran.json()["failed"]["broken"]["code"], "CONNECT_FAILED");
}

#[test]
fn with_partial_one_server_is_enough() {
    let config = ConfigFile::with_demo("partial", nowhere());
    for command in ["tools", "status"] {
        assert_eq!(with_config(&config, &[command]).code, 1, "{command}");
        assert_eq!(with_config(&config, &[command, "--partial"]).code, 0, "{command}");
        assert_eq!(with_config(&config, &[command, "--partial", "--json"]).code, 0, "{command}");
    }
    let alone = ConfigFile::new("partial-none", &json!({ "mcpServers": nowhere() }).to_string());
    let required = json!({"broken": {"command": "no-such-program-anywhere", "required": true}});
    let required = ConfigFile::with_demo("partial-required", required);
    for command in ["tools", "status"] {
        assert_eq!(with_config(&alone, &[command, "--partial"]).code, 1, "{command}");
        assert_eq!(with_config(&required, &[command, "--partial"]).code, 1, "{command}");
    }
    assert_eq!(with_config(&config, &["tools", "broken", "--partial"]).code, 1);
}

#[test]
fn a_search_that_finds_nothing_says_so_beside_servers_that_failed() {
    let config = ConfigFile::with_demo("search-fails", nowhere());
    let ran = with_config(&config, &["tools", "--search", "zebra"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("Note: no tool has a word of that"), "{}", ran.err);
}

#[test]
fn an_unknown_server_is_told_with_what_was_meant_or_where_to_look() {
    let config = ConfigFile::with_demo("unknown", json!({}));
    for command in ["test", "tools", "doctor", "auth", "unauth", "call"] {
        let run = |name| match command {
            "call" => with_config(&config, &[command, name, "add"]),
            _ => with_config(&config, &[command, name]),
        };
        let near = run("dmo");
        assert_eq!(near.code, 1, "{command}");
        assert!(near.err.contains("Hint: did you mean \"demo\"?"), "{command}: {}", near.err);
        let far = run("nope");
        assert_eq!(far.code, 1, "{command}");
        let hint = format!("mcpool list --config {}", config.path());
        assert!(far.err.contains(&hint), "{command}: {}", far.err);
    }
}

#[test]
fn the_hint_about_a_disabled_server_names_its_file() {
    let off = json!({"off": {"command": "x", "enabled": false}});
    let config = ConfigFile::with_demo("hint-enable", off);
    let ran = with_config(&config, &["test", "off"]);
    let command = format!("mcpool enable off --config {}", config.path());
    assert!(ran.err.contains(&command), "{}", ran.err);
    assert_eq!(mcpool(&command.split(' ').skip(1).collect::<Vec<_>>()).code, 0);
}

#[test]
fn it_fails_when_no_server_or_not_the_one_asked_for_is_up() {
    let alone = ConfigFile::new("all-fail", &json!({ "mcpServers": nowhere() }).to_string());
    assert_eq!(with_config(&alone, &["tools"]).code, 1);
    let config = ConfigFile::with_demo("asked-fails", nowhere());
    assert_eq!(with_config(&config, &["tools", "broken"]).code, 1);
    let ran = with_config(&config, &["tools", "demo"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ran = with_config(&config, &["tools", "dmo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("Hint: did you mean \"demo\"?"), "{}", ran.err);
}

#[test]
fn a_required_server_that_fails_is_a_failure_beside_the_tools_of_the_others() {
    let required = json!({"broken": {"command": "no-such-program-anywhere", "required": true}});
    let ran = with_config(&ConfigFile::with_demo("required", required), &["tools"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("greet"), "{}", ran.out);
    assert!(ran.err.contains("\"broken\""), "{}", ran.err);
}

#[test]
fn status_shows_who_is_up_and_fails_for_who_is_not() {
    let disabled = json!({"off": {"command": "x", "enabled": false}});
    let config = ConfigFile::with_demo("status", disabled);
    let ran = with_config(&config, &["status"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("demo    connected  stdio"), "{}", ran.out);
    assert!(ran.out.contains("off     disabled"), "{}", ran.out);
    let config = ConfigFile::with_demo("status-json", nowhere());
    let ran = with_config(&config, &["status", "--json"]);
    assert_eq!(ran.code, 1);
    let servers = &ran.json()["servers"];
    assert_eq!((&servers[0]["state"], &servers[0]["tool_count"]), (&json!("connected"), &json!(4)));
    assert_eq!(servers[1]["error"]["code"], "CONNECT_FAILED");
}

#[test]
fn a_call_takes_pairs_by_the_tools_schema() {
    let config = ConfigFile::with_demo("pairs", json!({}));
    let ran = with_config(&config, &["call", "demo", "greet", "name=42"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "Hello, 42!\n", ""));
    let ran = with_config(&config, &["call", "demo", "add", "a=1", "b:=2.5", "--json"]);
    assert_eq!((ran.code, &ran.json()["structuredContent"]), (0, &json!({"sum": 3.5})));
    let ran = with_config(&config, &["call", "demo", "add", "a=one", "b=2"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("\"a\" must be JSON of type number"), "{}", ran.err);
}

#[test]
fn a_call_takes_a_whole_object_from_the_line_or_from_stdin() {
    let config = ConfigFile::with_demo("object", json!({}));
    let object = r#"{"name": "Bob"}"#;
    let ran = with_config(&config, &["call", "demo", "greet", "--args", object]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello, Bob!\n"));
    let ran = with_config(&config, &["call", "demo", "greet", object]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello, Bob!\n"));
    let ran = with_config(&config, &["call", "demo", "greet", "--json", object]);
    assert_eq!((ran.code, &ran.json()["content"][0]["text"]), (0, &json!("Hello, Bob!")));
    let args = ["call", "-c", config.path(), "demo", "greet", "--args", "-"];
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let mut child = command(&args).stdin(input).stdout(output).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\n\"name\": \"Eve\"\n}\n").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello, Eve!\n"));
}

#[test]
fn a_tool_that_says_it_failed_is_a_failure_with_its_words_on_stdout() {
    let config = ConfigFile::with_demo("is-error", json!({}));
    let ran = with_config(&config, &["call", "demo", "add"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert_eq!(ran.out, "Error: a and b must be numbers\n");
    let ran = with_config(&config, &["call", "demo", "add", "--json"]);
    assert_eq!((ran.code, &ran.json()["isError"]), (1, &json!(true)));
}

#[test]
fn a_call_to_a_server_that_cannot_be_connected_says_so() {
    let config = ConfigFile::with_demo("call-broken", nowhere());
    let ran = with_config(&config, &["call", "broken", "x"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("Failed to connect to \"broken\": "), "{}", ran.err);
    let ran = with_config(&config, &["call", "broken", "x", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("CONNECT_FAILED")));
}

#[test]
fn an_unknown_tool_is_a_failure_that_knows_what_was_meant() {
    let config = ConfigFile::with_demo("unknown-tool", json!({}));
    let ran = with_config(&config, &["call", "demo", "gret", "name=Ada"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("Error: "), "{}", ran.err);
    assert!(ran.err.contains("Hint: did you mean \"greet\"?"), "{}", ran.err);
    let ran = with_config(&config, &["call", "demo", "gret", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert_eq!(ran.json()["error"]["code"], "TOOL_REJECTED");
}

#[test]
fn a_config_mistake_is_named_with_its_place() {
    let config = ConfigFile::new("syntax", "{\n  \"mcpServers\": {\n    \"a\": oops\n  }\n}\n");
    let ran = with_config(&config, &["tools"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains(&format!("{}:3:10: ", config.path())), "{}", ran.err);
    let ran = mcpool(&["status", "--config", "/no/such/file.json", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("CONFIG_IO")));
    assert!(ran.out.contains("/no/such/file.json"), "{}", ran.out);
    let ran = with_config(&ConfigFile::new("shape", "{}"), &["tools"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("cli-shape.json: ") && ran.err.contains("Hint: "), "{}", ran.err);
}

#[test]
fn a_file_with_a_byte_order_mark_is_read() {
    let config = ConfigFile::new("mark", "\u{feff}{\"mcpServers\": {}}");
    assert_eq!(with_config(&config, &["tools"]).code, 0);
}

#[test]
fn wrong_usage_has_exit_code_2_and_a_word_on_stderr() {
    let config = ConfigFile::with_demo("usage", json!({}));
    let path = config.path();
    let wrong: &[&[&str]] = &[
        &[],
        &["tols"],
        &["tools", "--openai", "--anthropic"],
        &["tools", "-c", path, "--no-project"],
        &["call", "-c", path, "demo"],
        &["call", "-c", path, "demo", "greet", "name"],
        &["call", "-c", path, "demo", "greet", "name:=Ada"],
        &["call", "-c", path, "demo", "greet", "name=a", "name=b"],
        &["call", "-c", path, "demo", "greet", "name=Ada", "--args", "{}"],
        &["call", "-c", path, "demo", "greet", "--args", "[]"],
        &["call", "-c", path, "demo", "greet", "{"],
        &["call", "-c", path, "demo", "greet", "{}", "name=Ada"],
        &["call", "-c", path, "demo", "greet", "--timeout", "0"],
    ];
    for args in wrong {
        let ran = mcpool(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains("--help") || args.is_empty(), "{args:?}: {}", ran.err);
    }
    assert!(mcpool(&["tols"]).err.contains("'tools'"));
}

#[test]
fn wrong_usage_is_json_too_when_json_is_asked_for() {
    for args in [&["tols", "--json"][..], &["--json", "call"], &["add", "x", "--json"]] {
        let ran = mcpool(args);
        assert_eq!((ran.code, ran.err.as_str()), (2, ""), "{args:?}");
        assert_eq!(ran.json()["error"]["code"], "USAGE", "{args:?}");
    }
    assert!(mcpool(&["tols", "--json"]).out.contains("'tools'"));
    // After the dashes it belongs to the server's command.
    assert_eq!(mcpool(&["add", "--", "x", "--json"]).out, "");
}

#[test]
fn tools_have_the_shapes_that_apis_take() {
    let config = ConfigFile::with_demo("shapes", nowhere());
    let ran = with_config(&config, &["tools", "--openai"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("Failed to connect to \"broken\": "), "{}", ran.err);
    let add = &ran.json()[0];
    assert_eq!(
        (&add["type"], &add["function"]["name"]),
        (&json!("function"), &json!("mcp_demo_add"))
    );
    assert_eq!(add["function"]["parameters"]["required"], json!(["a", "b"]));
    assert!(add["function"]["description"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(add["function"].as_object().unwrap().len(), 3);
    let add = with_config(&config, &["tools", "--anthropic"]).json()[0].clone();
    let keys: Vec<&String> = add.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "description", "input_schema"]);
    assert_eq!(add["input_schema"]["required"], json!(["a", "b"]));
}

#[test]
fn a_test_says_how_connecting_went() {
    let config = ConfigFile::with_demo("test", nowhere());
    let ran = with_config(&config, &["test", "demo"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("\"demo\" connected in "), "{}", ran.out);
    assert!(ran.out.contains("4: add, greet, now, roll"), "{}", ran.out);
    let facts = with_config(&config, &["test", "demo", "--json"]).json();
    assert_eq!((&facts["ok"], &facts["tools"][0]), (&json!(true), &json!("add")));
    let ran = with_config(&config, &["test", "broken"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("Failed to connect to \"broken\": "), "{}", ran.err);
    let facts = with_config(&config, &["test", "broken", "--json"]).json();
    assert_eq!((&facts["ok"], &facts["error"]["code"]), (&json!(false), &json!("CONNECT_FAILED")));
    let ran = with_config(&config, &["test", "dem", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["hint"]), (1, &json!("did you mean \"demo\"?")));
}

#[test]
fn completions_are_scripts_that_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = mcpool(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.contains("mcpool") && ran.out.contains("doctor"), "{shell}");
    }
    let script = mcpool(&["completions", "bash"]).out;
    let mut check = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    check.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(check.wait().unwrap().success());
    assert_eq!(mcpool(&["completions", "bash", "--json"]).json()["shell"], "bash");
}

#[test]
fn the_log_is_beside_the_output_when_it_is_asked_for() {
    let config = ConfigFile::with_demo("log", nowhere());
    let status = ["status", "--json", "--config", config.path()];
    let at = |level| -> Ran { command(&status).env("MCPOOL_LOG", level).output().unwrap().into() };
    let ran = at("warn");
    assert!(ran.json().is_object(), "{}", ran.out);
    let lines = ran.err.lines();
    assert!(lines.clone().count() > 0, "{}", ran.err);
    assert!(lines.clone().all(|line| line.contains(" ERROR broken: ")), "{}", ran.err);
    assert_eq!(at("").err, "");
    let refused = at("loud").err;
    assert_eq!(refused, "MCPOOL_LOG is \"loud\"; it may be error, warn, info, debug, trace\n");
}

const COMMANDS: &[&str] = &[
    "list",
    "status",
    "tools",
    "call",
    "resources",
    "read",
    "prompts",
    "prompt",
    "add",
    "remove",
    "enable",
    "disable",
    "test",
    "trust",
    "discover",
    "doctor",
    "schema",
    "demo",
    "completions",
];

#[test]
fn help_and_version_are_no_failures() {
    assert_eq!(mcpool(&["--version"]).out, format!("mcpool {}\n", env!("CARGO_PKG_VERSION")));
    for command in COMMANDS.iter().map(|command| vec![*command]).chain([vec![]]) {
        let ran = mcpool(&[&command[..], &["--help"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.contains("Examples:"), "{}", ran.out);
        assert!(!ran.out.contains("demo-server"), "{}", ran.out);
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    for args in [&["demo"][..], &["demo", "--json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(args).stdout(writer).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::from(command(&["demo"]).stdout(full).output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("cannot be written"), "{}", ran.err);
}

#[test]
fn the_demo_server_speaks_mcp_to_anybody_until_its_input_ends() {
    let ask = |line: &str| {
        let mut child =
            command(&["demo-server"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0);
        if ran.out.is_empty() { Value::Null } else { ran.json() }
    };
    let request = |method: &str, params: Value| {
        ask(&json!({"jsonrpc": "2.0", "id": "x", "method": method, "params": params}).to_string())
    };
    let version = |asked: &str| {
        request("initialize", json!({"protocolVersion": asked}))["result"]["protocolVersion"]
            .clone()
    };
    assert_eq!(version("2024-11-05"), "2024-11-05");
    assert_eq!(version("1999-01-01"), "2025-11-25");
    assert_eq!(request("ping", json!({})), json!({"jsonrpc": "2.0", "id": "x", "result": {}}));
    assert_eq!(request("no/such", json!({}))["error"]["code"], -32601);
    assert_eq!(request("tools/call", json!({"name": "nope"}))["error"]["code"], -32602);
    let now = request("tools/call", json!({"name": "now"}));
    assert!(now["result"]["content"][0]["text"].as_str().unwrap().ends_with('Z'), "{now}");
    let rolled = request("tools/call", json!({"name": "roll", "arguments": {"sides": 2}}));
    let rolled = &rolled["result"]["content"][0]["text"];
    assert!(rolled == "1" || rolled == "2", "{rolled}");
    assert_eq!(ask("{nonsense")["error"]["code"], -32700);
    assert_eq!(ask("[]")["error"]["code"], -32600);
    assert_eq!(ask(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#), Value::Null);
}
