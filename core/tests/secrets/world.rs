//! The world of `tests/secrets/world.json`: a home with config files, an environment, and servers that repeat what they
//! were given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpool::{CacheDir, DiscoverOptions, HostEnv, ManagerOptions, Pool, PoolOptions};
use serde_json::Value;

use crate::common::{self, Web, fixture};

pub(crate) struct World {
    pub(crate) home: PathBuf,
    description: Value,
    _webs: Vec<Web>,
}

impl World {
    pub(crate) fn new(name: &str) -> World {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/secrets/world.json");
        let description: Value =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("secrets-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(&home).unwrap();
        let journal = home.join("journal.jsonl");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut places = vec![
            ("@fixture@".to_owned(), text(&fixture())),
            ("@home@".to_owned(), text(&home)),
            ("@journal@".to_owned(), text(&journal)),
        ];
        let mut webs = Vec::new();
        for (name, knobs) in description["web"].as_object().unwrap() {
            let knobs = knobs.as_array().unwrap().iter().map(|knob| knob.as_str().unwrap());
            let journal = text(&journal);
            let more = ["--parrot", "refusal", "--journal", &journal];
            let (web, url) = Web::start(knobs.chain(more));
            webs.push(web);
            let port = url.split([':', '/']).nth(4).unwrap();
            places.push((format!("@port:{name}@"), port.to_owned()));
        }
        for (path, content) in description["files"].as_object().unwrap() {
            let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            let content = places
                .iter()
                .fold(content, |content, (place, value)| content.replace(place, value));
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        World { home, description, _webs: webs }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home.join("project")
    }

    /// The environment of a user's process.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let marked = self.description["environment"].as_object().unwrap();
        let mut env: BTreeMap<_, _> = marked
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        env.insert("HOME".to_owned(), self.home.to_str().unwrap().to_owned());
        env.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
        env
    }

    pub(crate) fn host_env(&self) -> HostEnv {
        HostEnv::new(Some(self.environment()), Some(self.home.clone()), None)
    }

    pub(crate) fn discover_options(&self) -> DiscoverOptions {
        DiscoverOptions::default()
            .cwd(self.project())
            .native(vec!["exa".to_owned()])
            .host_env(self.host_env())
    }

    pub(crate) fn manager_options(&self) -> ManagerOptions {
        ManagerOptions::default()
            .pool(Pool::new(PoolOptions::default()))
            .cache_dir(CacheDir::At(self.home.join("cache")))
            .host_env(self.host_env())
    }

    /// Whether each value reached its server.
    pub(crate) fn check_arrivals(&self) {
        let journal = common::read_journal(&self.home.join("journal.jsonl"));
        let given: Vec<&str> = journal.iter().filter_map(|entry| entry["words"].as_str()).collect();
        for value in self.description["arrive"].as_array().unwrap() {
            let value = value.as_str().unwrap();
            assert!(given.iter().any(|words| words.contains(value)), "{value} did not arrive");
        }
    }

    /// The contents of everything that mcpool wrote below the home.
    pub(crate) fn written(&self) -> Vec<(String, String)> {
        let declared = self.description["files"].as_object().unwrap();
        let known = |path: &Path| {
            let path = path.strip_prefix(&self.home).unwrap().to_str().unwrap();
            declared.contains_key(path) || path == "journal.jsonl"
        };
        let mut found = Vec::new();
        let mut open = vec![self.home.clone()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if !known(&path) {
                    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                    found.push((path.display().to_string(), text));
                }
            }
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Every text that was shown, with where it was shown.
#[derive(Default)]
pub(crate) struct Heard(Vec<(String, String)>);

impl Heard {
    pub(crate) fn say(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.0.push((place.into(), text.into()));
    }

    /// Both ways to print it.
    pub(crate) fn show(&mut self, place: &str, value: &impl std::fmt::Debug) {
        self.say(format!("{place}, printed"), format!("{value:?}\n{value:#?}"));
    }

    pub(crate) fn write(&mut self, place: &str, value: &impl serde::Serialize) {
        self.say(format!("{place}, as JSON"), serde_json::to_string(value).unwrap());
    }

    pub(crate) fn all(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The marker is in no text, not even in base64.
    pub(crate) fn check(&self) {
        let mut leaks = Vec::new();
        for (place, text) in &self.0 {
            for marker in ["swordfish", "c3dvcmRmaXNo"] {
                if let Some(at) = text.find(marker) {
                    let from =
                        (0..=at.saturating_sub(80)).rev().find(|&at| text.is_char_boundary(at));
                    let to = (at + 60..=text.len()).find(|&at| text.is_char_boundary(at));
                    leaks.push(format!(
                        "{place}: …{}",
                        &text[from.unwrap_or(0)..to.unwrap_or(text.len())]
                    ));
                }
            }
        }
        assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    }
}
