//! Hazard: a cloned repository does something that the user has not allowed, through any product's project file, by any
//! command or method. `tests/hostile/repository.json` has the traps.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mcpool::{
    Arguments, CallOptions, DiscoverOptions, Manager, McpRemote, State, Trust, TrustQuestion,
    discover, providers,
};
use serde_json::{Value, json};

mod common;
#[path = "hostile/listener.rs"]
mod listener;
#[path = "hostile/repository.rs"]
mod repository;

use common::apart;
use repository::{Kind, World, entries, text_of};

/// A command that takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(240);

struct Ran {
    out: String,
    all: String,
}

/// Runs a command in the project and checks that it triggered nothing.
fn run(world: &World, words: &[&str]) -> Ran {
    let ran = run_unchecked(world, words);
    check(world, &format!("mcpool {}", words.join(" ")), &ran.all);
    ran
}

fn run_unchecked(world: &World, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpool"));
    command.args(words).stdin(Stdio::null()).current_dir(world.project());
    command.env_clear().envs(world.environment());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(command.output().unwrap()));
    let output = told.recv_timeout(PATIENCE);
    let output = output.unwrap_or_else(|_| panic!("mcpool {} does not end", words.join(" ")));
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!all.contains("panicked"), "mcpool {}: {all}", words.join(" "));
    Ran { out, all }
}

/// Records what was triggered and shown since the last check.
fn check(world: &World, what: &str, said: &str) {
    for trap in world.sprung() {
        world.hole(&trap, &format!("{what} set off {trap}"));
    }
    check_secrets(world, what, said);
}

fn check_secrets(world: &World, what: &str, said: &str) {
    for secret in world.texts("secrets") {
        let Some(at) = said.find(&secret) else { continue };
        let before: Vec<char> = said[..at].chars().rev().take(300).collect();
        let near: String = before.into_iter().rev().collect();
        world.hole(&format!("{secret} {what}"), &format!("{what} shows {secret} after {near:?}"));
    }
}

/// The commands that `mcpool --help` lists.
fn commands(world: &World) -> Vec<String> {
    let help = run(world, &["--help"]).out;
    let section = help.split("Commands:\n").nth(1).expect("commands");
    let lines = section.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// Arguments to try a command with. A new command needs an entry here.
fn lines_of(command: &str, theirs: &[(String, String)]) -> Vec<Vec<String>> {
    let mut lines: Vec<&[&str]> = match command {
        "list" | "status" | "discover" | "doctor" | "demo" => vec![&[]],
        "schema" => vec![&[]],
        "help" => vec![&["trust"]],
        "tools" => vec![
            &[],
            &["--fresh"],
            &["--search", "echo"],
            &["github"],
            &["--openai"],
            &["--anthropic"],
        ],
        "resources" | "prompts" => vec![&[], &["github"], &["mine"], &["relative"]],
        "read" => vec![&["github", "a:b"], &["mine", "a:b"], &["relative", "a:b"]],
        "prompt" => vec![&["github", "p", "a=b"], &["mine", "p"], &["relative", "p"]],
        "call" => vec![
            &["github", "echo", "text=hi"],
            &["mine", "echo", "text=hi"],
            &["relative", "echo", "text=hi"],
            &["nobody", "echo"],
        ],
        "test" => vec![&["github"], &["mine"], &["spare"], &["runner"], &["relative"], &["bare"]],
        "auth" | "reauth" => vec![
            &["github", "--no-browser"],
            &["mine", "--no-browser"],
            &["spare", "--device"],
            &["relative", "--no-browser"],
        ],
        "unauth" => vec![&["github"], &["mine"], &["spare"], &["relative"]],
        "trust" => vec![&[], &["--list"]],
        "completions" => vec![&["bash"], &["zsh"], &["fish"]],
        "add" => vec![&["added", "--disabled", "--", "/bin/true"]],
        "update" => vec![
            &["added", "--timeout", "9000"],
            &["mine", "--env", "A=b"],
            &["github", "--set", "lazy=true"],
        ],
        "disable" => vec![&["mine"], &["spare"]],
        "enable" => vec![&["mine"], &["spare"], &["github"]],
        "remove" => vec![&["added"]],
        _ => panic!("core/tests/hostile_repository.rs has no words for \"mcpool {command}\""),
    };
    if matches!(command, "list" | "discover" | "doctor" | "status" | "tools") {
        lines.push(&["--provider", "mcpool"]);
        lines.push(&["--no-project"]);
        lines.push(&["--project", "../project/bin/.."]);
    }
    let owned = |line: &[&str]| line.iter().map(|&word| word.to_owned()).collect();
    let mut lines: Vec<Vec<String>> = lines.into_iter().map(owned).collect();
    for (at, (provider, name)) in theirs.iter().enumerate() {
        let words: &[&str] = match command {
            "test" => &[],
            "call" if at % 2 == 0 => &["echo", "text=hi"],
            "tools" | "doctor" if at % 4 == 0 => &[],
            "auth" | "reauth" if at % 4 == 0 => &["--no-browser"],
            "unauth" if at % 4 == 0 => &[],
            _ => continue,
        };
        // Limited to one product, because all files are read again for each.
        let line = [&[name.as_str()][..], words, &["--provider", provider]].concat();
        lines.push(owned(&line));
    }
    lines
}

/// Servers of the repository by product, covering every trap and every file.
fn some_of_theirs(world: &World) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let traps: Vec<&String> = entries(&world.description["traps"]).map(|(trap, _)| trap).collect();
    for at in 0..traps.len().max(world.files.len()) {
        let file = &world.files[at % world.files.len()];
        let native = entries(&world.description["native"][&file.provider]).map(|(trap, _)| trap);
        for trap in std::iter::once(traps[at % traps.len()]).chain(native) {
            names.push((file.provider.clone(), format!("{}.{trap}", file.slug)));
        }
    }
    names.sort();
    names.dedup();
    names
}

fn find(document: &Value, name: &str) -> Value {
    let mut all = document["servers"].as_array().unwrap().iter();
    all.find(|server| server["name"] == name).cloned().unwrap_or_default()
}

/// The user's servers exist with the user's definitions, and can be called.
fn check_users(world: &World, case: &str) {
    let listed = serde_json::from_str::<Value>(&run(world, &["list", "--json"]).out).unwrap();
    let status = serde_json::from_str::<Value>(&run(world, &["status", "--json"]).out).unwrap();
    for name in world.texts("users") {
        let (server, state) = (find(&listed, &name), find(&status, &name));
        assert_eq!(server["source"]["level"], "user", "{case}: {name} is {server}");
        assert_eq!(server["state"], "on", "{case}: {name} is {server}");
        assert_eq!(state["state"], "connected", "{case}: {name} is {state}");
    }
    let said = run(world, &["call", "github", "echo", "text=by-the-user"]).out;
    assert!(said.contains("by-the-user"), "{case}: {said}");
}

#[test]
fn every_product_has_a_hostile_file() {
    let world = World::new(Kind::Thefts(usize::MAX));
    let described: BTreeSet<&str> =
        entries(&world.description["products"]).map(|(product, _)| product.as_str()).collect();
    assert_eq!(described, providers().collect(), "tests/hostile/repository.json: \"products\"");
    // And discovery finds every file as one of its product.
    let world = World::new(Kind::Traps);
    let found = discover(&options(&world));
    for file in &world.files {
        let path = world.project().join(&file.path).display().to_string();
        let of_it = found.files.iter().find(|it| it.path == path && it.provider == file.provider);
        let of_it = of_it.unwrap_or_else(|| panic!("{path} is not found"));
        // Built-in entries of a product are not servers.
        let is_here = |source: &mcpool::Source| source.path.as_ref() == Some(&path);
        let parts = found.left_out.iter().filter(|it| is_here(&it.source)).count();
        let expected = (world.traps(file).len(), None);
        assert_eq!((of_it.servers + parts, of_it.problem.clone()), expected, "{path}");
    }
}

#[test]
fn no_command_sets_off_anything_in_a_clone() {
    let world = World::new(Kind::Traps);
    let (theirs, before) = (some_of_theirs(&world), world.project_content());
    for command in commands(&world) {
        for (at, line) in lines_of(&command, &theirs).iter().enumerate() {
            let mut words = vec![command.as_str()];
            words.extend(line.iter().map(String::as_str));
            // Both notations; alternating where there are many.
            if at < 6 || at % 2 == 0 {
                run(&world, &words);
            }
            if at < 6 || at % 2 == 1 {
                words.insert(1, "--json");
                run(&world, &words);
            }
        }
    }
    for name in ["mine", "spare"] {
        run(&world, &["enable", name]);
    }
    check_users(&world, "after every command");
    assert!(world.project_content() == before, "the project is the project's");
    world.assert_no_holes();
}

#[test]
fn no_file_takes_a_server_of_the_user_by_its_name_or_a_list() {
    for at in 0..World::new(Kind::Thefts(usize::MAX)).files.len() {
        let world = World::new(Kind::Thefts(at));
        let case = &world.files[at].path;
        check_users(&world, case);
        let before = world.project_content();
        for words in [&["trust"][..], &["doctor"], &["discover", "--json"], &["tools", "--json"]] {
            run(&world, words);
        }
        for name in ["github", "spare"] {
            run(&world, &["disable", name]);
            let listed = run(&world, &["list", "--json"]).out;
            let listed: Value = serde_json::from_str(&listed).unwrap();
            assert_eq!(find(&listed, name)["state"], "off", "{case}: {name} of {listed}");
            run(&world, &["enable", name]);
        }
        assert!(world.project_content() == before, "{case}: the project is the project's");
        check_users(&world, case);
        mcpool::host::runtime::block_on(use_every_verb(&world, case));
        world.assert_no_holes();
    }
}

#[test]
fn no_link_shows_or_borrows_anything() {
    let all = World::new(Kind::Thefts(usize::MAX));
    let links = entries(&all.description["links"]).map(|(link, _)| Kind::Links(link));
    let mut holes = Vec::new();
    for kind in links.chain([Kind::Directories]) {
        let world = World::new(kind);
        let case = match kind {
            Kind::Links(link) => format!("links to {link}"),
            _ => "links to directories".to_owned(),
        };
        check_users(&world, &case);
        for words in [&["trust"][..], &["discover"], &["doctor"], &["tools"]] {
            run(&world, words);
            run(&world, &[words, &["--json"]].concat());
        }
        mcpool::host::runtime::block_on(use_every_verb(&world, &case));
        holes.extend(world.holes().into_iter().map(|hole| format!("{case}: {hole}")));
    }
    assert!(holes.is_empty(), "{holes:#?}");
}

#[test]
fn no_verb_sets_off_anything_in_a_clone() {
    let world = World::new(Kind::Traps);
    mcpool::host::runtime::block_on(use_every_verb(&world, "a clone"));
    world.assert_no_holes();
}

fn options(world: &World) -> DiscoverOptions {
    DiscoverOptions::default()
        .cwd(world.project())
        .host_env(world.host_env())
        .native(vec!["exa".to_owned()])
}

/// Every policy that trusts nothing here, and the questions that a callback got.
fn policies(asked: &Arc<Mutex<String>>) -> Vec<(&'static str, Trust)> {
    type Answer = std::pin::Pin<Box<dyn Future<Output = bool> + Send>>;
    let asked = asked.clone();
    let no = move |question: TrustQuestion| -> Answer {
        *asked.lock().unwrap() += &json!(question).to_string();
        Box::pin(std::future::ready(false))
    };
    vec![
        ("stored", Trust::Stored),
        ("strict", Trust::Strict),
        ("none", Trust::None),
        ("a callback that says no", Trust::Ask(Arc::new(no))),
    ]
}

async fn use_every_verb(world: &World, case: &str) {
    let found = discover(&options(world));
    check(world, &format!("{case}: discover"), &format!("{found:?} {}", found.report()));
    let asked = Arc::default();
    for (policy, trust) in policies(&asked) {
        let both = [McpRemote::Offer, McpRemote::Use];
        for mcp_remote in both.into_iter().take(if policy == "stored" { 2 } else { 1 }) {
            let what = |verb: &str| format!("{case}: {verb} with trust {policy}");
            let discover = options(world).mcp_remote(mcp_remote);
            let trust = apart().trust(trust.clone());
            let manager = Manager::discover(discover, trust).await.unwrap();
            let names: Vec<String> = manager.status().into_iter().map(|it| it.name).collect();
            check(world, &what("discover"), &format!("{:?}", manager.warnings()));
            let report = manager.connect_all().await;
            let report = report.unwrap_or_else(|error| panic!("{}: {error}", what("connect_all")));
            check(world, &what("connect_all"), &format!("{report:?} {}", json!(report)));
            let mut said = String::new();
            for name in &names {
                said += &format!("{:?}\n", manager.connect(name).await);
                let arguments = || Arguments::new(&json!({"text": "hi"})).unwrap();
                let options = CallOptions::default();
                let called = manager.call_tool(name, "echo", arguments(), options).await;
                said += &format!("{:?}\n", called.map(|result| result.text().to_string()));
                let limit = Some(Duration::from_millis(1));
                said += &format!("{:?}\n", manager.wait_for(name, limit).await);
            }
            check(world, &what("connect, call_tool, wait_for"), &said);
            for tool in manager.get_tools().tools() {
                let server = tool.definition.server().to_owned();
                assert!(is_users(world, &server), "{}: {server}", what("get_tools"));
            }
            manager.search_tools("echo", 5);
            check(world, &what("get_tools"), &format!("{:?}", manager.status()));
            let child = manager.child().unwrap();
            let report = child.connect_all().await.unwrap();
            check(world, &what("child"), &format!("{report:?} {:?}", child.status()));
            child.close().await;
            let report = manager.reload().await.unwrap();
            check(world, &what("reload"), &format!("{report:?} {:?}", manager.warnings()));
            check_states(world, &manager, &what("status"));
            manager.close().await;
            check(world, &what("close"), "");
        }
    }
    check(world, &format!("{case}: a question of trust"), &asked.lock().unwrap());
}

#[test]
fn a_watched_project_that_turns_hostile_sets_off_nothing() {
    let world = World::new(Kind::Thefts(usize::MAX));
    mcpool::host::runtime::block_on(async {
        let follow = apart().watch(true);
        let manager = Manager::discover(options(&world), follow).await.unwrap();
        manager.connect_all().await.unwrap();
        world.clone_repository(Kind::Traps);
        let last = format!("{}.loopback", world.files.last().unwrap().slug);
        let is_there = || manager.status().iter().any(|status| status.name == last);
        common::until("the clone is seen", is_there).await;
        manager.reload().await.unwrap();
        check(&world, "watching", &format!("{:?} {:?}", manager.status(), manager.warnings()));
        check_states(&world, &manager, "watching");
        manager.close().await;
    });
    world.assert_no_holes();
}

fn is_users(world: &World, server: &str) -> bool {
    server.starts_with("own-") || world.texts("users").iter().any(|name| name == server)
}

/// Only the user's servers are connected.
fn check_states(world: &World, manager: &Manager, what: &str) {
    let discovery = manager.discovery().unwrap();
    for status in manager.status() {
        let (name, level) = (&status.name, discovery.config.servers[&status.name].source.level);
        if is_users(world, name) {
            assert_eq!(level, mcpool::Level::User, "{what}: {name}");
            assert_eq!(status.state, State::Connected, "{what}: {name}: {:?}", status.error);
        } else {
            assert_ne!(status.state, State::Connected, "{what}: {name}");
        }
    }
}

/// The traps work: otherwise their silence would prove nothing.
#[test]
fn what_is_trusted_does_go_off() {
    let world = World::new(Kind::Traps);
    run_unchecked(&world, &["trust", "--all", "--yes"]);
    assert!(world.sprung().is_empty(), "trusting alone sets nothing off: {:?}", world.sprung());
    let said = run_unchecked(&world, &["status"]).all;
    let sprung = world.sprung();
    let mut silent = Vec::new();
    for (trap, products) in entries(&world.description["fires"]) {
        let products: Vec<&str> = products.as_array().unwrap().iter().map(text_of).collect();
        for file in &world.files {
            let id = format!("{}.{trap} ", file.slug);
            let fires = products.contains(&"*") || products.contains(&&*file.provider);
            if fires && !sprung.iter().any(|it| it.starts_with(&id)) {
                silent.push(format!("{id}of {}", file.path));
            }
        }
    }
    assert!(silent.is_empty(), "nothing was heard of {silent:#?}");
    // Even then a project's headers and URLs contain nothing of the user's environment, and it does not choose the
    // host.
    let sent = world.listener.heard().join("\n");
    check_secrets(&world, "what was sent", &sent);
    assert!(!sent.contains("chosen.example"), "{sent}");
    check_secrets(&world, "mcpool status", &said);
    world.assert_no_holes();
}

#[test]
fn what_is_trusted_does_take_the_users_names() {
    let world = World::new(Kind::Thefts(0));
    run_unchecked(&world, &["trust", "--all", "--yes"]);
    let listed = run_unchecked(&world, &["list", "--json"]).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let github = find(&listed, "github");
    assert_eq!(github["source"]["level"], "project", "{listed}");
    assert_eq!(github["state"], "off", "{listed}");
}
