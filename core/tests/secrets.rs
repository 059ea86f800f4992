//! A definition's secret reaches only its server. It is not in errors, logs, events, status, files or output, whatever
//! fails and whatever the server repeats, including its tools' descriptions. Results of tools are not masked.

use std::process::{Command, Stdio};
use std::time::Duration;

use mcpool::host::Language;
use mcpool::host::logs::{LevelFilter, LogReader};
use mcpool::{Arguments, CallOptions, Config, Manager, discover};
use serde_json::json;

mod common;
#[path = "secrets/world.rs"]
mod world;

use world::{Heard, World};

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_anything_that_is_said_of_a_server() {
    let logs = LogReader::claim().expect("the only one");
    logs.set_level(LevelFilter::TRACE);
    let world = World::new("said");
    let mut heard = Heard::default();

    let found = discover(&world.discover_options());
    heard.show("discovery", &found);
    heard.show("options", &world.discover_options());
    heard.write("discovery", &found.report());
    assert_eq!(found.native["exa"][0].expose(), "swordfish-exa");
    assert!(found.config.servers.len() > 30, "{found:?}");

    let manager =
        Manager::discover(world.discover_options(), world.manager_options()).await.unwrap();
    let events = manager.events();
    let report = manager.connect_all().await.unwrap();
    heard.show("report", &report);
    heard.write("report", &report);
    assert!(report.connected.contains(&"talks".to_owned()), "{report:?}");
    heard.show("warnings", &manager.warnings());
    heard.show("discovery of the manager", &manager.discovery());

    let catalog = manager.get_tools();
    assert!(
        catalog.tools().iter().any(|tool| tool.definition.raw_name() == "parrot"),
        "{catalog:?}"
    );
    for tool in catalog.tools() {
        let (of, name) = (&tool.definition, &tool.name);
        heard.show(&format!("tool {name}"), tool);
        heard.say(name, [of.json(), &of.description(), &of.input_schema()].join("\n"));
    }

    for server in found.config.servers.keys() {
        if let Err(error) = manager.connect(server).await {
            error_of(&mut heard, server, &error);
        }
        if let Err(error) = manager.wait_for(server, Some(Duration::from_millis(50))).await {
            error_of(&mut heard, server, &error);
        }
        // Another server's value is no secret here.
        let secret = if server == "works" { "it is swordfish-work" } else { "nothing" };
        for (tool, arguments) in [
            ("log", json!({"level": "info", "text": secret})),
            ("rpc_error", json!({"code": -32000, "message": secret})),
            ("no_such_tool", json!({})),
            ("exit", json!({"code": 3})),
        ] {
            let arguments = Arguments::new(&arguments).unwrap();
            let limit = Some(Duration::from_secs(2));
            let options = CallOptions::default().timeout(limit);
            if let Err(error) = manager.call_tool(server, tool, arguments, options).await {
                error_of(&mut heard, server, &error);
            }
        }
    }
    for status in manager.status() {
        heard.show(&format!("status of {}", status.name), &status);
        heard.write(&format!("status of {}", status.name), &status);
    }
    manager.close().await;
    while let Some(event) = events.next().await {
        heard.show("event", &event);
        heard.write("event", &event);
    }
    world.check_arrivals();
    let written = world.written();
    assert!(written.iter().any(|(path, _)| path.contains("cache")), "{written:?}");
    for (path, text) in written {
        heard.say(path, text);
    }
    logs.close();
    while let Some(records) = logs.next_batch(Duration::ZERO) {
        for record in records {
            heard.say(
                format!("log of {:?}", record.server),
                format!("{} {record:?}", record.message),
            );
        }
    }
    let all = heard.all();
    for sign in ["exited with code 3", "stderr:", "401", "500", "redirects", "not a message", "***"]
    {
        assert!(all.contains(sign), "nothing was said of {sign}");
    }
    heard.check();
}

fn error_of(heard: &mut Heard, server: &str, error: &mcpool::Error) {
    let place = format!("error of {server}");
    heard.show(&place, error);
    heard.write(&place, error);
    heard.say(&place, format!("{error} {:?} {:?}", error.hint(), error.rpc()));
}

#[test]
fn no_secret_is_in_what_the_command_line_says() {
    let world = World::new("cli");
    let own = world.home.join(".config/mcpool/mcp.json");
    let mut heard = Heard::default();
    let mut run = |args: &[&str], expected: &[i32]| {
        let output = Command::new(env!("CARGO_BIN_EXE_mcpool"))
            .args(args)
            .env_clear()
            .envs(world.environment())
            .env("MCPOOL_LOG", "trace")
            .env("MCPOOL_CACHE_DIR", world.home.join("cache"))
            .current_dir(world.project())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (out, err) = (output.stdout, output.stderr);
        let text = format!("{}\n{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
        assert!(
            output.status.code().is_some_and(|code| expected.contains(&code)),
            "{args:?}: {text}"
        );
        // The trust question shows what the project wrote, and nothing of the user.
        let text = match args[0] {
            "trust" => ["project", "agent", "query"]
                .iter()
                .fold(text, |text, marker| text.replace(&format!("swordfish-{marker}"), "")),
            _ => text,
        };
        heard.say(format!("mcpool {}", args.join(" ")), text);
    };
    for json in [None, Some("--json")] {
        let mut run = |args: &[&str], expected: &[i32]| {
            run(&args.iter().copied().chain(json).collect::<Vec<_>>(), expected);
        };
        run(&["list"], &[0]);
        run(&["discover"], &[0]);
        run(&["status"], &[1]);
        run(&["doctor"], &[0, 1]);
        for server in [
            "exits",
            "hangs",
            "web_wants_sign_in",
            "web_forbids",
            "web_breaks",
            "missing",
            "demanding",
            "blocked",
            "invalid_both",
            "works",
        ] {
            run(&["test", server], &[0, 1]);
            run(&["doctor", server], &[0, 1]);
        }
        run(&["call", "works", "rpc_error", "code=1", "message=swordfish-work"], &[1]);
        run(&["call", "exits", "echo", "text=x"], &[1]);
        run(&["call", "dies", "echo", "text=x"], &[1]);
        run(&["trust"], &[0, 1]);
        run(&["trust", ".mcp.json"], &[0]);
        run(&["trust", "--list"], &[0]);
        run(&["test", "blocked"], &[0, 1]);
        run(&["trust", "--revoke", ".mcp.json"], &[0]);
        run(
            &[
                "add",
                "one",
                "--url",
                "https://me:swordfish-x@h/?key=swordfish-x",
                "--token",
                "swordfish-x",
                "--header",
                "A: swordfish-x",
            ],
            &[0],
        );
        run(&["add", "one", "--url", "https://me:swordfish-x@h/", "--token", "swordfish-x"], &[1]);
        run(&["add", "two", "--env", "A=swordfish-x", "--", "x", "--api-key", "swordfish-x"], &[0]);
        run(&["disable", "one"], &[0]);
        run(&["enable", "one"], &[0]);
        run(&["list", "--config", own.to_str().unwrap()], &[0]);
        run(&["remove", "one"], &[0]);
        run(&["remove", "two"], &[0]);
        // A usage error must not repeat what was written.
        run(&["add", "x", "--token", "swordfish-x", "--", "run"], &[2]);
        run(&["add", "x", "--header", "swordfish without a colon", "--url", "https://h/"], &[2]);
        run(&["add", "x", "--env", "swordfish", "--", "run"], &[2]);
        run(&["add", "x", "--url", "swordfish not a url"], &[1, 2]);
        run(&["add", "x", "--timeout", "5", "--tokn", "swordfish-x"], &[2]);
    }
    for (path, text) in world.written() {
        heard.say(path, text);
    }
    heard.check();
}

#[test]
fn no_secret_is_in_what_a_config_says_of_its_mistakes() {
    let world = World::new("config");
    let mut heard = Heard::default();
    for (path, name) in [
        (".config/mcpool/mcp.json", "own"),
        (".cursor/mcp.json", "cursor"),
        (".codex/config.toml", "codex"),
        (".continue/config.yaml", "continue"),
        (".gemini/settings.json", "gemini"),
    ] {
        let text = std::fs::read_to_string(world.home.join(path)).unwrap();
        match Config::from_file(world.home.join(path)) {
            Ok(config) => {
                heard.show(name, &config);
                heard.show(name, &config.warnings);
            }
            Err(error) => error_of(&mut heard, name, &error),
        }
        match Config::from_json(&text) {
            Ok(config) => heard.show(name, &config),
            Err(error) => error_of(&mut heard, name, &error),
        }
    }
    for options in [
        r#"{"host_env": {"env": "swordfish"}}"#,
        r#"{"host_env": {"env": {"A": ["swordfish"]}}}"#,
        r#"{"host_env": {"platform": "swordfish"}}"#,
    ] {
        let manager = mcpool::ManagerOptions::from_json(options, Language::Python);
        error_of(&mut heard, options, &manager.err().unwrap());
        let discover = mcpool::DiscoverOptions::from_json(options, Language::Python);
        error_of(&mut heard, options, &discover.err().unwrap());
        let place = mcpool::edit::EditTarget::from_json(options, Language::Python);
        error_of(&mut heard, options, &place.err().unwrap());
    }
    heard.check();
}
