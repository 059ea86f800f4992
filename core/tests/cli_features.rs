//! The command line and what servers offer besides tools: resources and prompts, also of servers that mean harm.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

#[path = "cli/support.rs"]
mod support;

use support::{Home, Ran, demo, fixture, write};

fn offering() -> Value {
    json!({"command": fixture(), "args": ["stdio", "--offers"]})
}

/// A user with the demo server, a server with offers, and one without.
fn home(test: &str) -> Home {
    let home = Home::new(test);
    let plain = json!({"command": fixture(), "args": ["stdio"]});
    write(&home.own(), json!({"demo": demo(), "rich": offering(), "plain": plain}));
    home
}

/// A user whose only server answers these methods like this.
fn home_with_answers(test: &str, answers: Value) -> Home {
    let home = Home::new(test);
    let file = home.home("answers.json");
    std::fs::write(&file, answers.to_string()).unwrap();
    let args = ["stdio", "--offers", "--offers-file", file.to_str().unwrap()];
    write(&home.own(), json!({"odd": {"command": fixture(), "args": args}}));
    home
}

fn reading(content: Value) -> Value {
    json!({"resources/read": {"contents": [content]}})
}

fn column<'a>(entries: &'a Value, field: &str) -> Vec<&'a str> {
    entries.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap()).collect()
}

#[test]
fn resources_and_templates_of_all_servers_are_listed_and_servers_without_are_left_out() {
    let home = home("resources");
    let ran = home.run(&["resources"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "SERVER  URI                 TYPE        DESCRIPTION");
    assert_eq!(lines[1], "demo    demo://about        text/plain  What this server is");
    assert_eq!(lines[2], "rich    fixture://greeting  text/plain  Greeting");
    assert_eq!(lines[3], "rich    fixture://bytes                 bytes");
    assert_eq!(lines[4..6], ["", "SERVER  TEMPLATE               DESCRIPTION"]);
    assert_eq!(lines[6], "rich    fixture://city/{name}  city");
    let facts = home.run(&["resources", "--json"]).json();
    let uris = ["demo://about", "fixture://greeting", "fixture://bytes"];
    assert_eq!(column(&facts["resources"], "uri"), uris);
    assert_eq!(column(&facts["resources"], "server"), ["demo", "rich", "rich"]);
    assert_eq!(facts["resources"][1]["x-vendor"], json!({"kept": true}));
    assert_eq!(facts["templates"][0]["uriTemplate"], "fixture://city/{name}");
    assert_eq!((&facts["failed"], &facts["blocked"]), (&json!({}), &json!({})));
}

#[test]
fn one_server_can_be_listed_alone() {
    let home = home("resources-one");
    let facts = home.run(&["resources", "demo", "--json"]).json();
    assert_eq!(column(&facts["resources"], "server"), ["demo"]);
    for command in ["resources", "prompts"] {
        let ran = home.run(&[command, "plain"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{command}");
        assert_eq!(ran.err, format!("Note: there are no {command}\n"));
    }
}

#[test]
fn prompts_are_listed_with_their_arguments() {
    let home = home("prompts");
    let ran = home.run(&["prompts"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "SERVER  PROMPT   ARGUMENTS    DESCRIPTION");
    assert_eq!(lines[1], "demo    welcome  name         Welcomes somebody");
    assert_eq!(lines[2], "rich    trip     city [days]  Plans a trip");
    assert_eq!(lines[3..], ["rich    plain"]);
    let facts = home.run(&["prompts", "--json"]).json();
    assert_eq!(column(&facts["prompts"], "name"), ["welcome", "trip", "plain"]);
    assert_eq!(facts["prompts"][0]["arguments"][0]["required"], true);
}

#[test]
fn a_lazy_server_is_started_for_its_lists() {
    let home = Home::new("lists-lazy");
    let mut lazy = offering();
    lazy["lazy"] = json!(true);
    write(&home.own(), json!({ "lazy": lazy }));
    assert_eq!(
        home.run(&["tools"]).code,
        0,
        "from now on its tools are remembered, and it is not started for them"
    );
    let ran = home.run(&["prompts", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(column(&ran.json()["prompts"], "name"), ["trip", "plain"]);
}

#[test]
fn a_server_whose_list_fails_costs_only_itself() {
    let home = Home::new("lists-fail");
    let file = home.home("answers.json");
    std::fs::write(&file, json!({"prompts/list": {"prompts": "none"}}).to_string()).unwrap();
    let odd = json!(["stdio", "--offers", "--offers-file", file]);
    let odd = json!({"command": fixture(), "args": odd});
    let broken = json!({"command": "no-such-program-anywhere"});
    write(&home.own(), json!({"demo": demo(), "odd": odd, "broken": broken}));
    let ran = home.run(&["prompts"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("welcome"), "{}", ran.out);
    assert!(ran.err.contains("Failed to connect to \"broken\": "), "{}", ran.err);
    assert!(ran.err.contains("Failed to list the prompts of \"odd\": "), "{}", ran.err);
    let facts = home.run(&["prompts", "--json"]).json();
    assert_eq!(facts["failed"]["odd"]["code"], "PROTOCOL_ERROR", "{facts}");
    assert_eq!(facts["failed"]["broken"]["code"], "CONNECT_FAILED");
    assert_eq!(home.run(&["prompts", "--partial"]).code, 0);
    assert_eq!(home.run(&["prompts", "odd", "--partial"]).code, 1);
    assert_eq!(home.run(&["resources", "odd"]).code, 0);
}

#[test]
fn a_text_is_read_to_stdout_and_as_json() {
    let home = home("read");
    let ran = home.run(&["read", "rich", "fixture://greeting"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "hello\n", ""));
    let ran = home.run(&["read", "rich", "fixture://city/Oslo"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Oslo is a city\n"));
    let ran = home.run(&["read", "rich", "fixture://bytes", "--json"]);
    assert_eq!((ran.code, &ran.json()["contents"][0]["blob"]), (0, &json!("AAEC")));
}

#[test]
fn a_file_gets_exactly_what_the_server_sent() {
    let home = home("read-out");
    let file = home.project("greeting.txt");
    let ran = home.run(&["read", "rich", "fixture://greeting", "--out", "greeting.txt"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Wrote 5 bytes to greeting.txt\n"));
    assert_eq!(std::fs::read(&file).unwrap(), b"hello");
    let ran = home.run(&["read", "rich", "fixture://bytes", "-o", "greeting.txt", "--json"]);
    assert_eq!((ran.code, &ran.json()["bytes"]), (0, &json!(3)));
    assert_eq!(std::fs::read(&file).unwrap(), [0, 1, 2]);
    let ran = home.run(&["read", "rich", "fixture://bytes", "--out", "-"]);
    assert_eq!((ran.code, ran.out.as_bytes()), (0, &[0, 1, 2][..]));
    assert!(!Path::new(&home.project("-")).exists());
}

#[test]
fn a_file_that_cannot_be_written_is_wrong_usage_and_a_failed_read_leaves_it_alone() {
    let home = home("read-nowhere");
    let ran = home.run(&["read", "rich", "fixture://bytes", "--out", "no/such/file"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("no/such/file cannot be written"), "{}", ran.err);
    std::fs::write(home.project("kept"), "kept").unwrap();
    assert_eq!(home.run(&["read", "rich", "fixture://no", "--out", "kept"]).code, 1);
    assert_eq!(std::fs::read(home.project("kept")).unwrap(), b"kept");
}

#[test]
fn an_unknown_address_is_a_failure_that_knows_what_was_meant() {
    let home = home("read-unknown");
    let ran = home.run(&["read", "rich", "fixture://greting"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("Hint: did you mean \"fixture://greeting\"?"), "{}", ran.err);
    let ran = home.run(&["read", "rich", "other://thing", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let error = &ran.json()["error"];
    assert_eq!((&error["code"], &error["rpc"]["code"]), (&json!("TOOL_FAILED"), &json!(-32002)));
    assert!(error["hint"].as_str().unwrap().ends_with(": mcpool resources rich"), "{error}");
}

#[test]
fn a_prompt_is_filled_in_with_texts() {
    let home = home("prompt");
    let ran = home.run(&["prompt", "demo", "welcome", "name=42"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "user: Write a short, warm welcome for 42.\n");
    let facts = home.run(&["prompt", "rich", "trip", "city=a=b", "--json"]).json();
    assert_eq!(facts["messages"][0]["content"]["text"], "trip with {\"city\":\"a=b\"}");
    assert_eq!(facts["description"], "filled in");
}

#[test]
fn an_unknown_prompt_or_a_missing_argument_is_told_with_what_is_right() {
    let home = home("prompt-unknown");
    let ran = home.run(&["prompt", "demo", "welcom", "name=Ada"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("Hint: did you mean \"welcome\"?"), "{}", ran.err);
    let ran = home.run(&["prompt", "demo", "zebra"]);
    assert!(ran.err.contains("mcpool prompts demo"), "{}", ran.err);
    let ran = home.run(&["prompt", "demo", "welcome"]);
    assert!(ran.err.contains("Hint: it needs name=VALUE"), "{}", ran.err);
}

#[test]
fn wrong_usage_of_the_commands_has_exit_code_2() {
    let home = home("features-usage");
    let wrong: &[&[&str]] = &[
        &["read", "rich"],
        &["prompt", "demo"],
        &["prompt", "demo", "welcome", "name"],
        &["prompt", "demo", "welcome", "name:=1"],
        &["prompt", "demo", "welcome", "name=a", "name=b"],
        &["resources", "demo", "rich"],
    ];
    for args in wrong {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains("--help"), "{args:?}: {}", ran.err);
    }
}

/// Every command for this server.
fn commands(server: &str) -> [Vec<&str>; 4] {
    let (read, prompt) =
        (["read", server, "demo://about"], ["prompt", server, "welcome", "name=a"]);
    [vec!["resources", server], vec!["prompts", server], read.to_vec(), prompt.to_vec()]
}

fn failures(home: &Home, server: &str, is_expected: impl Fn(&Ran) -> bool) {
    for args in commands(server) {
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{args:?}: {}", ran.err);
        assert!(is_expected(&ran), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_server_that_is_missing_or_disabled_is_told_with_what_to_do() {
    let home = Home::new("features-off");
    let mut off = demo();
    off["enabled"] = json!(false);
    write(&home.own(), json!({"demo": demo(), "off": off}));
    failures(&home, "dmo", |ran| ran.err.contains("Hint: did you mean \"demo\"?"));
    failures(&home, "off", |ran| ran.err.contains("mcpool enable off"));
    let ran = home.run(&["resources"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn an_untrusted_projects_server_is_not_started() {
    let home = Home::new("features-trust");
    let marker: PathBuf = home.project("started");
    let script = format!("touch {}; exec {} demo-server", marker.display(), support::MCPOOL);
    let server = json!({"command": "sh", "args": ["-c", script]});
    let mut lazy = server.clone();
    lazy["lazy"] = json!(true);
    write(&home.project(".mcp.json"), json!({"theirs": server, "later": lazy}));
    for server in ["theirs", "later"] {
        failures(&home, server, |ran| ran.err.contains("mcpool trust"));
    }
    for command in ["resources", "prompts"] {
        let ran = home.run(&[command]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{command}: {}", ran.err);
        assert!(ran.err.contains("mcpool trust"), "{command}: {}", ran.err);
        let facts = home.run(&[command, "--json"]).json();
        assert_eq!(facts["blocked"]["later"]["code"], "UNTRUSTED", "{facts}");
    }
    assert!(!marker.exists());
    assert_eq!(home.run(&["trust", "--all"]).code, 0);
    assert_eq!(home.run(&["read", "theirs", "demo://about"]).code, 0);
    assert!(marker.exists());
}

#[test]
fn a_blob_that_is_not_base64_is_a_failure_that_names_json() {
    let content = json!({"uri": "x://y", "blob": "\u{1b}[2J not base64"});
    let home = home_with_answers("read-odd", reading(content));
    let ran = home.run(&["read", "odd", "x://y", "--out", "file"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("not valid base64") && ran.err.contains("--json"), "{}", ran.err);
    assert!(!home.project("file").exists());
    let ran = home.run(&["read", "odd", "x://y", "--json"]);
    assert_eq!((ran.code, &ran.json()["contents"][0]["uri"]), (0, &json!("x://y")));
    let ran = home.run(&["read", "odd", "x://y", "--json", "--out", "file"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("PROTOCOL_ERROR")));
}

#[test]
fn several_texts_follow_each_other_and_bytes_among_them_are_refused() {
    let (text, bytes) = (json!({"uri": "a", "text": "one"}), json!({"uri": "b", "blob": "AA=="}));
    let texts = json!({"resources/read": {"contents": [text, {"uri": "b", "text": "two\n"}]}});
    let ran = home_with_answers("read-texts", texts).run(&["read", "odd", "a"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "one\ntwo\n"));
    let mixed = json!({"resources/read": {"contents": [text, bytes]}});
    let home = home_with_answers("read-mixed", mixed);
    let ran = home.run(&["read", "odd", "a", "--out", "file"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("--json") && !home.project("file").exists(), "{}", ran.err);
    assert_eq!(home.run(&["read", "odd", "a", "--json"]).json()["contents"][1]["blob"], "AA==");
    let nothing = json!({"resources/read": {"contents": []}});
    let ran = home_with_answers("read-nothing", nothing).run(&["read", "odd", "a"]);
    assert_eq!((ran.code, ran.all().as_str()), (0, ""));
    let neither = home_with_answers("read-neither", reading(json!({"uri": "a"})));
    assert_eq!(neither.run(&["read", "odd", "a"]).code, 1);
}

#[test]
fn lists_of_a_hostile_server_stay_lists() {
    let steer = "a\u{1b}[2J\u{9b}31m\nFAKE  row\u{202e}\u{e0041}\u{2028}b";
    let long = "x".repeat(1 << 20);
    let resource = json!({"uri": steer, "name": steer, "description": steer, "mimeType": steer, "server": "demo"});
    let prompt = json!({"name": steer, "description": long, "arguments": [{"name": steer}]});
    let home = home_with_answers(
        "hostile-lists",
        json!({
            "resources/list": {"resources": [resource, {"uri": "b://c", "description": long}, 7]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": steer}]},
            "prompts/list": {"prompts": [prompt]},
            "prompts/get": {"messages": [{"role": steer, "content": {"type": "text", "text": steer}}]},
        }),
    );
    for (command, lines) in [("resources", 6), ("prompts", 2)] {
        let ran = home.run(&[command]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert_eq!(ran.out.lines().count(), lines, "{command}");
        for hidden in ['\u{1b}', '\u{9b}', '\u{202e}', '\u{e0041}', '\u{2028}'] {
            assert!(!ran.out.contains(hidden), "{command}: {hidden:?}");
        }
    }
    let facts = home.run(&["resources", "--json"]).json();
    assert_eq!(column(&facts["resources"], "server"), ["odd", "odd"]);
    assert_eq!(facts["resources"][0]["uri"], steer);
    let ran = home.run(&["prompt", "odd", "any"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.lines().skip(1).all(|line| line.starts_with("  ")), "{:?}", ran.out);
}
