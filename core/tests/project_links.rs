//! Hazard: a repository has its config file, or the file's directory, as a link that leads out of the project. The
//! target must not be written, whoever asks for the edit.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use mcpool::edit::{EditScope, EditTarget, add, disable, enable, hide, remove, unhide, update};
use mcpool::{Error, HostEnv};
use serde_json::json;
use tempfile::TempDir;

const TEXT: &str =
    "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"disabledServers\": [\"b\"]}\n";

/// A project, and files outside of it.
struct World(TempDir);

impl World {
    fn new() -> World {
        let world = World(tempfile::tempdir().unwrap());
        std::fs::create_dir(world.at("project")).unwrap();
        std::fs::create_dir(world.at("home")).unwrap();
        std::fs::write(world.at("home/mcp.json"), TEXT).unwrap();
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn link(&self, link: &str, target: &str) {
        let link = self.at(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }

    fn project(&self) -> EditTarget {
        EditTarget {
            scope: EditScope::Project,
            cwd: Some(self.at("project")),
            ..EditTarget::default()
        }
    }

    /// Everything outside of the project, with its content.
    fn outside(&self) -> Vec<(PathBuf, String)> {
        fn walk(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                found.push((path.clone(), std::fs::read_to_string(&path).unwrap_or_default()));
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.at("home"), &mut found);
        found.sort();
        found
    }
}

/// Links that lead out: the link, its target, and the link that the error names.
const LEAVING: &[(&[(&str, &str)], &str)] = &[
    (&[("project/.mcpool/mcp.json", "../../home/mcp.json")], "project/.mcpool/mcp.json"),
    (&[("project/.mcpool/mcp.json", "../../home/new.json")], "project/.mcpool/mcp.json"),
    (&[("project/.mcpool/mcp.json", "../../home/new/mcp.json")], "project/.mcpool/mcp.json"),
    (&[("project/.mcpool", "../home")], "project/.mcpool"),
    (&[("project/.mcpool", "../home/new")], "project/.mcpool"),
    (&[("project/.mcpool", "sub"), ("project/sub", "../home")], "project/.mcpool"),
    (
        &[("project/.mcpool/mcp.json", "../inner/x.json"), ("project/inner", "../home")],
        "project/.mcpool/mcp.json",
    ),
];

type Verb = fn(&EditTarget) -> Result<mcpool::edit::Edited, Error>;

const VERBS: &[Verb] = &[
    |target| add(target, "new", json!({"command": "x"})),
    |target| remove(target, "a"),
    |target| update(target, "a", json!({"command": "y"})),
    |target| enable(target, "a"),
    |target| disable(target, "a"),
    |target| hide(target, "c"),
    |target| unhide(target, "b"),
];

#[test]
fn a_link_out_of_the_project_is_not_written_through() {
    for (links, blamed) in LEAVING {
        let world = World::new();
        links.iter().for_each(|(link, target)| world.link(link, target));
        let before = world.outside();
        for verb in VERBS {
            let error = verb(&world.project()).unwrap_err();
            assert_eq!(error.code(), "CONFIG_IO", "{links:?}: {error}");
            let (link, home) = (world.at(blamed), world.at("home"));
            let named = [link, home].map(|path| error.message().contains(path.to_str().unwrap()));
            assert_eq!(named, [true; 2], "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("name the file")), "{error}");
            assert_eq!(world.outside(), before, "{links:?}");
        }
    }
}

#[test]
fn links_that_stay_or_were_named_are_followed() {
    let world = World::new();
    world.link("project/.mcpool", "conf");
    world.link("project/conf/mcp.json", "../shared/new/mcp.json");
    world.link("way", "project");
    let by_link = EditTarget { cwd: Some(world.at("way")), ..world.project() };
    add(&by_link, "inside", json!({"command": "x"})).unwrap();
    let written = std::fs::read_to_string(world.at("project/shared/new/mcp.json")).unwrap();
    assert!(written.contains("inside"));

    world.link("project/named.json", "../home/mcp.json");
    add(&EditTarget::file(world.at("project/named.json")), "named", json!({"command": "x"}))
        .unwrap();
    assert!(std::fs::read_to_string(world.at("home/mcp.json")).unwrap().contains("named"));

    world.link("user/.config/mcpool", "../../home");
    let host_env = HostEnv::new(Some(Default::default()), Some(world.at("user")), None);
    let own = EditTarget { host_env, ..EditTarget::default() };
    add(&own, "own", json!({"command": "x"})).unwrap();
    assert!(std::fs::read_to_string(world.at("home/mcp.json")).unwrap().contains("own"));
}

#[test]
fn the_command_line_finds_the_file_and_does_not_write_through_it_either() {
    let world = World::new();
    world.link("project/.mcpool/mcp.json", "../../home/mcp.json");
    let before = world.outside();
    let commands: &[&[&str]] = &[
        &["add", "new", "--scope", "project", "--", "x"],
        &["remove", "a"],
        &["enable", "a"],
        &["disable", "a"],
        &["remove", "a", "--scope", "project"],
    ];
    for words in commands {
        let ran = Command::new(env!("CARGO_BIN_EXE_mcpool"))
            .args(*words)
            .current_dir(world.at("project"))
            .env_clear()
            .env("HOME", world.at("user"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("leads out of the project"), "{words:?}: {said}");
        assert_eq!(world.outside(), before, "{words:?}");
    }
}
