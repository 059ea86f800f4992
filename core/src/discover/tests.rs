//! Discovery with missing, broken, duplicate and excluded files.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::config::HeldBackEffect;
use crate::host_env::{HostEnv, Platform};

struct Machine {
    root: TempDir,
    env: BTreeMap<String, String>,
    trust: Trusts,
}

/// What of the project the user trusts.
enum Trusts {
    Everything,
    Nothing,
    File(&'static str),
}

impl TrustView for Trusts {
    fn fingerprint(&self, config: &ServerConfig) -> String {
        config.fingerprint()
    }

    fn trusts(&self, subject: &Subject) -> bool {
        match self {
            Trusts::Everything => true,
            Trusts::Nothing => false,
            Trusts::File(file) => subject.path.ends_with(file),
        }
    }
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["home", "project", "etc"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        let machine = Machine { root, env: BTreeMap::new(), trust: Trusts::Everything };
        for (path, text) in files {
            machine.write(path, text);
        }
        machine
    }

    /// The same files for a user who trusts nothing of the project.
    fn untrusting(files: &[(&str, &str)]) -> Self {
        Machine { trust: Trusts::Nothing, ..Machine::new(files) }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn link(&self, link: &str, target: &str) {
        std::fs::create_dir_all(self.path(link).parent().unwrap()).unwrap();
        symlink(self.path(target), self.path(link)).unwrap();
    }

    fn options(&self) -> DiscoverOptions {
        let (env, home) = (Some(self.env.clone()), Some(self.path("home")));
        DiscoverOptions {
            cwd: Some(self.path("project")),
            host_env: HostEnv::new(env, home, Some(Platform::Linux)),
            ..DiscoverOptions::default()
        }
    }

    fn discover(&self) -> Discovery {
        self.discover_with(|_| {})
    }

    fn discover_with(&self, change: impl FnOnce(&mut DiscoverOptions)) -> Discovery {
        let mut options = self.options();
        change(&mut options);
        discover_under(&options, &self.trust, &self.path("etc"))
    }
}

fn names(discovery: &Discovery) -> Vec<&str> {
    discovery.config.servers.keys().map(String::as_str).collect()
}

fn on(discovery: &Discovery) -> Vec<&str> {
    let servers = discovery.config.servers.iter();
    let on = servers.filter(|(_, declared)| declared.config.as_ref().is_ok_and(|it| it.enabled));
    on.map(|(name, _)| name.as_str()).collect()
}

const ONE: &str = r#"{"mcpServers": {"one": {"command": "x"}}}"#;

#[test]
fn nothing_is_found_where_nothing_is() {
    let discovery = Machine::new(&[]).discover();
    assert!(names(&discovery).is_empty() && discovery.files.is_empty());
    assert!(discovery.config.warnings.is_empty() && discovery.errors.is_empty());
}

#[test]
fn a_project_that_is_not_there_is_one_error_and_no_server() {
    let machine = Machine::new(&[("home/.cursor/mcp.json", ONE), ("file", "")]);
    for cwd in ["nowhere", "file"] {
        let discovery = machine.discover_with(|options| options.cwd = Some(machine.path(cwd)));
        assert!(names(&discovery).is_empty());
        assert_eq!(discovery.errors.len(), 1);
        assert_eq!(discovery.errors[0].path, ".mcp.json");
        assert_eq!(discovery.errors[0].error.code(), "DISCOVERY_FAILED");
    }
}

#[test]
fn without_project_config_no_file_of_the_project_is_looked_at() {
    let machine = Machine::new(&[
        ("project/.mcp.json", "broken"),
        (
            "project/.omp/mcp.json",
            r#"{"mcpServers": {"one": {"command": "p"}}, "disabledServers": ["one"]}"#,
        ),
        ("home/.cursor/mcp.json", ONE),
    ]);
    let discovery = machine.discover_with(|options| options.project_config = false);
    assert_eq!(on(&discovery), ["one"]);
    assert!(discovery.config.servers["one"].shadows.is_empty());
    assert!(discovery.config.warnings.is_empty(), "{:?}", discovery.config.warnings);
    assert_eq!(discovery.files.len(), 1);
}

#[test]
fn a_disabled_name_stays_off_whatever_else_is_said() {
    let machine = Machine::new(&[
        (
            "home/.omp/agent/mcp.json",
            r#"{"enabledServers": ["a", "b"], "mcpServers": {"a": {"command": "x", "enabled": false}}}"#,
        ),
        (
            "project/.mcpool/mcp.json",
            r#"{"mcpServers": {"b": {"command": "x"}}, "disabledServers": ["b"]}"#,
        ),
        (
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"c": {"command": "x"}, "d e": {"command": "x"}}}"#,
        ),
    ]);
    assert_eq!(on(&machine.discover()), ["a", "c", "d-e"]);
    let off =
        machine.discover_with(|options| options.disabled_servers = vec!["a".into(), "d e".into()]);
    assert_eq!(on(&off), ["c"]);
    let only =
        machine.discover_with(|options| options.enabled_servers = vec!["b".into(), "c".into()]);
    assert_eq!(on(&only), ["c"]);
    assert_eq!(names(&only), ["b", "a", "c", "d-e"]);
}

#[test]
fn a_project_cannot_switch_on_what_the_user_switched_off() {
    let machine = Machine::new(&[
        ("project/.omp/mcp.json", r#"{"enabledServers": ["a"]}"#),
        (
            "home/.omp/agent/mcp.json",
            r#"{"mcpServers": {"a": {"command": "x", "enabled": false}}}"#,
        ),
    ]);
    assert!(on(&machine.discover()).is_empty());
}

#[test]
fn a_file_counts_once_however_many_ways_lead_to_it() {
    let mut machine = Machine::new(&[("home/.claude.json", ONE), ("project/.mcp.json", ONE)]);
    machine.env.insert("CLAUDE_CONFIG_DIR".into(), machine.path("home").to_string_lossy().into());
    machine.link("project/.cursor/mcp.json", "project/.mcp.json");
    machine.link("project/mcp.json", "project/.mcp.json");
    let discovery = machine.discover();
    let found: Vec<&str> = discovery.files.iter().map(|file| file.provider.as_str()).collect();
    assert_eq!(found, ["claude-code", "cursor"]);
    assert_eq!(discovery.config.servers["one"].shadows.len(), 1);
}

#[test]
fn a_link_to_a_file_of_another_shape_takes_nothing_away_from_it() {
    let machine = Machine::new(&[("project/.mcp.json", ONE)]);
    machine.link("project/.vscode/mcp.json", "project/.mcp.json");
    assert_eq!(names(&machine.discover()), ["one"]);
}

#[test]
fn the_users_own_file_is_the_users_also_when_the_project_is_the_home() {
    let machine = Machine::new(&[
        ("home/.cursor/mcp.json", ONE),
        ("home/.mcp.json", r#"{"mcpServers": {"two": {"command": "x"}}}"#),
    ]);
    let discovery = machine.discover_with(|options| options.cwd = Some(machine.path("home")));
    assert_eq!(discovery.config.servers["one"].source.level, Level::User);
    assert_eq!(discovery.config.servers["two"].source.level, Level::Project);
    assert_eq!(discovery.files.len(), 2);
}

#[test]
fn each_bad_file_is_a_warning_that_names_it_and_everything_else_loads() {
    let machine = Machine::new(&[
        ("home/.cursor/mcp.json", ONE),
        ("home/.kiro/settings/mcp.json", r#"{"mcpServers": {"#),
        ("home/.lmstudio/mcp.json", "[1]"),
        ("home/.gemini/settings.json", r#"{"mcpServers": "text"}"#),
        ("home/.codex/config.toml", "mcp_servers = ["),
        ("home/.config/goose/config.yaml", "extensions: {a: [}"),
        ("home/.claude.json/inside", ""),
    ]);
    machine.write("home/.codeium/windsurf/mcp_config.json", b"{\"mcpServers\": {\"\xff\": {}}}");
    machine.write("home/.aws/amazonq/mcp.json", vec![b' '; (4 << 20) + 1]);
    machine.link("project/.mcp.json", "project/.mcp.json");
    machine.link("project/mcp.json", "project/gone");
    let discovery = machine.discover();
    assert_eq!(names(&discovery), ["one"]);
    let broken: Vec<&FoundFile> =
        discovery.files.iter().filter(|file| file.problem.is_some()).collect();
    assert_eq!(broken.len(), 9, "{broken:#?}");
    assert_eq!(discovery.config.warnings.len(), 9);
    for file in broken {
        let problem = file.problem.as_ref().unwrap();
        assert!(problem.contains(&file.path), "{problem}");
        assert!(discovery.config.warnings.contains(problem), "{problem}");
    }
}

#[test]
fn a_problem_shows_nothing_of_the_file() {
    let machine = Machine::new(&[(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"a": {"env": {"KEY": "marker-secret" "#,
    )]);
    let report = machine.discover().report().to_string();
    assert!(!report.contains("marker-secret"), "{report}");
}

#[test]
fn the_systems_files_come_last_of_their_product() {
    let machine = Machine::new(&[
        (
            "etc/codex/config.toml",
            "[mcp_servers.a]\ncommand = \"etc\"\n[mcp_servers.b]\ncommand = \"etc\"",
        ),
        ("home/.codex/config.toml", "[mcp_servers.a]\ncommand = \"home\""),
        ("etc/ai-agent/.ai-agent.json", ONE),
    ]);
    let discovery = machine.discover();
    assert_eq!(names(&discovery), ["one", "a", "b"]);
    assert_eq!(discovery.config.servers["a"].shadows.len(), 1);
    assert_eq!(discovery.config.servers["b"].source.level, Level::User);
}

#[test]
fn only_the_providers_that_are_wanted_are_asked() {
    let machine = Machine::new(&[("home/.claude.json", ONE), ("home/.cursor/mcp.json", ONE)]);
    let discovery =
        machine.discover_with(|options| options.providers = vec!["cursor".into(), "no".into()]);
    assert_eq!(discovery.config.servers["one"].source.provider, "cursor");
    assert_eq!(discovery.config.warnings.len(), 1);
}

#[test]
fn a_bridge_is_kept_with_the_direct_way_beside_it_or_replaced_by_it() {
    let machine = Machine::new(&[(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"b": {"command": "npx", "args": ["mcp-remote", "https://h/mcp"]}}}"#,
    )]);
    let offered = machine.discover();
    let server = &offered.config.servers["b"];
    assert_eq!(server.config.as_ref().unwrap().transport.name(), "stdio");
    assert_eq!(server.direct.as_ref().unwrap().transport.name(), "http");
    let used = machine.discover_with(|options| options.mcp_remote = McpRemote::Use);
    let server = &used.config.servers["b"];
    assert_eq!(server.config.as_ref().unwrap().transport.name(), "http");
    assert_eq!(server.source.provider, "cursor");
}

#[test]
fn keys_of_a_native_integration_are_looked_up_for_the_user_only() {
    let mut machine = Machine::new(&[
        (
            "home/.claude.json",
            r#"{"mcpServers": {
            "exa": {"command": "exa-mcp", "env": {"EXA_API_KEY": "${EXA_API_KEY}"}},
            "search": {"type": "http", "url": "https://mcp.exa.ai/mcp?tools=x&exaApiKey=in-the-url&y=1"},
            "off": {"command": "npx", "args": ["mcp-remote", "https://mcp.exa.ai/mcp?exaApiKey=off"], "disabled": true},
            "unset": {"type": "http", "url": "https://mcp.exa.ai/mcp?exaApiKey=${UNSET}"},
            "other": {"command": "other"}
        }}"#,
        ),
        (
            "project/.mcp.json",
            r#"{"mcpServers": {
            "mine": {"type": "http", "url": "https://mcp.exa.ai/mcp?exaApiKey=${STOLEN}"}
        }}"#,
        ),
    ]);
    machine.env.insert("EXA_API_KEY".into(), "from-outside".into());
    machine.env.insert("STOLEN".into(), "stolen".into());
    let discovery = machine.discover_with(|options| options.native = vec!["exa".into()]);
    assert_eq!(names(&discovery), ["other"]);
    let keys: Vec<&str> = discovery.native["exa"].iter().map(Secret::expose).collect();
    assert_eq!(keys, ["from-outside", "in-the-url"]);
    assert_eq!(discovery.left_out.len(), 5);
    assert!(!discovery.report().to_string().contains("in-the-url"));
}

#[test]
fn the_key_of_a_native_integration_is_what_its_service_reads() {
    let machine = Machine::new(&[(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {
            "escaped": {"url": "https://mcp.exa.ai/mcp?exaApiKey=a%2Bb%20c&x=1"},
            "quoted": {"command": "sh", "args": ["-c", "npx mcp-remote 'https://mcp.exa.ai/mcp?exaApiKey=k'"]}
        }}"#,
    )]);
    let discovery = machine.discover_with(|options| options.native = vec!["exa".into()]);
    let keys: Vec<&str> = discovery.native["exa"].iter().map(Secret::expose).collect();
    assert_eq!(keys, ["a+b c", "k"]);
}

#[test]
fn ten_thousand_names_that_become_one_cost_no_more_than_others() {
    let servers: Vec<String> = (0..10_000)
        .map(|at| {
            format!(
                "\"a{}b\": {{\"command\": \"x\"}}",
                " ".repeat(at % 50 + 1) + &"/".repeat(at / 50)
            )
        })
        .collect();
    let text = format!("{{\"mcpServers\": {{{}}}}}", servers.join(","));
    let machine = Machine::new(&[("home/.cursor/mcp.json", &text)]);
    assert_eq!(names(&machine.discover()).len(), 10_000);
}

#[test]
fn what_nobody_trusts_takes_no_place_of_the_users() {
    let theirs = r#"{"mcpServers": {"one": {"url": "https://evil/"}, "GitHub": {"url": "https://evil/"},
        "new": {"url": "https://public/"}}}"#;
    let yours = r#"{"mcpServers": {"one": {"command": "x"}, "github": {"command": "y"}}}"#;
    let files = [("project/.cursor/mcp.json", theirs), ("home/.cursor/mcp.json", yours)];
    let found = Machine::untrusting(&files).discover();
    assert_eq!(names(&found), ["new", "one", "github"]);
    let source = |name: &str| found.config.servers[name].source.level;
    assert_eq!((source("one"), source("github")), (Level::User, Level::User));
    let held_back: Vec<_> =
        found.config.project.iter().filter(|entry| entry.held_back.is_some()).collect();
    let names: Vec<_> = held_back.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["one", "GitHub"]);
    assert_eq!(held_back[0].held_back.as_ref().unwrap().effect, HeldBackEffect::Replace);
    assert_eq!(found.config.warnings.len(), 2, "{:?}", found.config.warnings);
    assert_eq!(found.report()["blocked"][1]["servers"][0]["name"], "github");

    let found = Machine::new(&files).discover();
    assert_eq!(found.config.servers["one"].source.level, Level::Project);
    assert!(found.config.warnings[0].contains("takes the place"), "{:?}", found.config.warnings);
}

#[test]
fn what_nobody_trusts_switches_nothing_of_the_users() {
    let off = r#"{"mcpServers": {"one": {"enabled": false}}, "disabledServers": ["two"]}"#;
    let only =
        r#"{"mcpServers": {"mine": {"url": "https://public/"}}, "enabledServers": ["mine"]}"#;
    let yours = r#"{"mcpServers": {"one": {"command": "x"}, "two": {"command": "y"}}}"#;
    for theirs in [off, only] {
        let files = [("project/.mcpool/mcp.json", theirs), ("home/.cursor/mcp.json", yours)];
        let found = Machine::untrusting(&files).discover();
        let on = on(&found);
        assert!(on.contains(&"one") && on.contains(&"two"), "{theirs}: {on:?}");
        let lists = found.config.project.iter().find(|entry| entry.name.is_empty()).unwrap();
        assert_eq!(lists.held_back.as_ref().unwrap().effect, HeldBackEffect::SwitchOff);
        let trusted = Machine::new(&files).discover();
        assert!(!self::on(&trusted).contains(&"two"), "{theirs}");
    }
    let files = [("project/.mcpool/mcp.json", off), ("home/.cursor/mcp.json", yours)];
    let found = Machine::untrusting(&files).discover();
    let one = found.config.project.iter().find(|entry| entry.name == "one").unwrap();
    assert_eq!(one.held_back.as_ref().unwrap().effect, HeldBackEffect::SwitchOff);
}

#[test]
fn a_link_to_the_users_file_is_the_users_file_and_its_variables_are_the_users() {
    let yours = r#"{"mcpServers": {"one": {"type": "stdio", "command": "${RUNNER}"}}}"#;
    let machine = Machine::untrusting(&[
        ("home/.ai-agent.json", yours),
        ("home/.cursor/mcp.json", ONE),
        ("project/.ai-agent.env", "RUNNER=/tmp/evil"),
    ]);
    machine.link("project/.ai-agent.json", "home/.ai-agent.json");
    // As another product's file it would count as the project's, and the user's own would not be read.
    machine.link("project/.omp/mcp.json", "home/.cursor/mcp.json");
    let found = machine.discover();
    let one = &found.config.servers["one"];
    assert_eq!(one.source.level, Level::User);
    assert!(one.source.path.as_ref().unwrap().ends_with("home/.ai-agent.json"), "{one:?}");
    assert_eq!(one.config.as_ref().unwrap().scope.variables, None);
    assert!(found.config.project.is_empty() && one.shadows.len() == 1, "{:?}", one.shadows);
}

#[test]
fn relative_paths_of_the_users_files_begin_at_the_file() {
    let claude = |project: &std::path::Path| {
        let project = project.display();
        format!(
            r#"{{"mcpServers": {{"a": {{"command": "./a"}}}},
                "projects": {{"{project}": {{"mcpServers": {{"b": {{"command": "./b"}}}}}}}}}}"#
        )
    };
    let machine =
        Machine::new(&[("project/.mcp.json", r#"{"mcpServers": {"c": {"command": "./c"}}}"#)]);
    machine.write("home/.claude.json", claude(&machine.path("project")));
    let found = machine.discover();
    let directory = |name: &str| {
        found.config.servers[name].config.as_ref().unwrap().scope.directory.clone().unwrap()
    };
    let physical = |path: &str| std::fs::canonicalize(machine.path(path)).unwrap();
    assert_eq!(directory("a"), physical("home"));
    assert_eq!(
        (directory("b"), directory("c")),
        (machine.path("project"), machine.path("project"))
    );
}

#[test]
fn an_untrusted_key_is_not_handed_to_the_host() {
    let exa = r#"{"mcpServers": {"exa": {"url": "https://mcp.exa.ai/mcp?exaApiKey=theirs"}}}"#;
    let look = |machine: Machine| {
        machine.discover_with(|options| options.native = vec!["exa".to_owned()]).native
    };
    let files = [("project/.mcp.json", exa)];
    assert_eq!(look(Machine::untrusting(&files))["exa"].len(), 0);
    assert_eq!(look(Machine::new(&files))["exa"].len(), 1);
}

#[test]
fn nobody_requires_what_nobody_trusts() {
    let text = r#"{"mcpServers": {"one": {"command": "x", "required": true}}}"#;
    let files = [("project/.mcpool/mcp.json", text)];
    assert!(!Machine::untrusting(&files).discover().config.servers["one"].required);
    assert!(Machine::new(&files).discover().config.servers["one"].required);
}

#[test]
fn lists_that_nobody_trusts_switch_nothing_off_that_is_trusted() {
    let list = r#"{"mcpServers": {}, "disabledServers": ["one"], "enabledServers": ["x"]}"#;
    let files = [("project/.mcp.json", ONE), ("project/.mcpool/mcp.json", list)];
    let machine = Machine { trust: Trusts::File(".mcp.json"), ..Machine::new(&files) };
    assert_eq!(on(&machine.discover()), ["one"]);
    assert!(on(&Machine::new(&files).discover()).is_empty());
}
