//! The files of pins, each test in its own directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::config::physical;

struct PinFixture {
    file: PinFile,
    dir: TempDir,
}

impl PinFixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let cache = Cache::at(Some(dir.path().join("deep")));
        PinFixture {
            file: PinFile::for_key(&cache, &PinKey::new("files", &Source::code())).unwrap(),
            dir,
        }
    }

    fn add(&self, entries: &[Value]) {
        self.file.add(&listed(entries), &HashMap::new());
    }

    /// The stored pins, each with the change that was warned of; `None` if they are lost.
    fn pins(&self) -> Option<Vec<(Value, Option<String>)>> {
        let value = |pin: Pinned| (serde_json::from_str(pin.tool.json()).unwrap(), pin.warned);
        match self.file.read() {
            StoredPins::None => Some(Vec::new()),
            StoredPins::Pins(pins) => Some(pins.into_iter().map(value).collect()),
            StoredPins::Lost(why) => {
                assert!(why.contains(self.file.path.to_str().unwrap()), "{why}");
                None
            }
        }
    }

    fn entries(&self) -> Option<Vec<Value>> {
        Some(self.pins()?.into_iter().map(|(entry, _)| entry).collect())
    }
}

fn listed(entries: &[Value]) -> Vec<Bytes> {
    entries.iter().map(|entry| Bytes::from(entry.to_string())).collect()
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description})
}

fn accepted(entry: &Value) -> (String, Bytes) {
    (entry["name"].as_str().unwrap().to_owned(), Bytes::from(entry.to_string()))
}

#[test]
fn a_pin_is_set_once_and_moved_by_accepting_alone() {
    let fixture = PinFixture::new();
    fixture.add(&[]);
    assert!(matches!(fixture.file.read(), StoredPins::None));
    fixture.add(&[tool("a", "1"), tool("b", "1")]);
    fixture.add(&[tool("a", "2"), tool("c", "1")]);
    fixture.add(&[]);
    let kept = [tool("a", "1"), tool("b", "1"), tool("c", "1")];
    assert_eq!(fixture.entries().unwrap(), kept);
    fixture.file.accept(&[accepted(&tool("a", "2"))], false);
    assert_eq!(fixture.entries().unwrap(), [tool("a", "2"), tool("b", "1"), tool("c", "1")]);
}

#[test]
fn what_is_accepted_is_pinned_where_nothing_was() {
    let fixture = PinFixture::new();
    fixture.file.accept(&[accepted(&tool("a", "2"))], false);
    fixture.add(&[tool("a", "1")]);
    assert_eq!(fixture.entries().unwrap(), [tool("a", "2")]);
}

#[test]
fn a_warning_is_noted_for_the_change_that_it_was_about() {
    let fixture = PinFixture::new();
    let (old, new) = (tool("a", "1"), tool("a", "2"));
    let entry = Bytes::from(new.to_string());
    let print = ServerTool::read(&"files".into(), entry).unwrap().fingerprint();
    fixture.add(std::slice::from_ref(&old));
    let warned = HashMap::from([("a".to_owned(), print.clone())]);
    fixture.file.add(&listed(std::slice::from_ref(&new)), &warned);
    assert_eq!(fixture.pins().unwrap(), [(old.clone(), Some(print.clone()))]);
    fixture.add(&[]);
    fixture.add(&[new]);
    assert_eq!(fixture.pins().unwrap(), [(old.clone(), Some(print))], "it is not forgotten");
    fixture.add(&[tool("a", "3")]);
    assert_eq!(fixture.pins().unwrap(), [(old, None)], "of this nobody was warned");
}

#[test]
fn the_file_is_private_and_says_what_it_is() {
    let fixture = PinFixture::new();
    fixture.add(&[tool("a", "1")]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.file.path), 0o600);
    for dir in fixture.file.path.ancestors().skip(1).take(3) {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
    let content: Value = serde_json::from_slice(&fs::read(&fixture.file.path).unwrap()).unwrap();
    let source = json!({"provider": "code", "path": null, "level": "explicit"});
    let pins = json!([{"tool": tool("a", "1")}]);
    let expected = json!({"version": 1, "server": "files", "source": source, "pins": pins});
    assert_eq!(content, expected);
}

#[test]
fn names_and_every_part_of_a_source_keep_pins_apart() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::at(Some(dir.path().to_owned()));
    let source = |provider: &str, path: Option<&str>, level| Source {
        provider: provider.to_owned(),
        path: path.map(str::to_owned),
        level,
    };
    let keys = [
        PinKey::new("a", &Source::code()),
        PinKey::new("b", &Source::code()),
        PinKey::new("a", &source("cursor", Some("/x/mcp.json"), Level::User)),
        PinKey::new("a", &source("cursor", Some("/y/mcp.json"), Level::User)),
        PinKey::new("a", &source("cursor", Some("/x/mcp.json"), Level::Project)),
        PinKey::new("a", &source("claude", Some("/x/mcp.json"), Level::User)),
    ];
    let files: Vec<_> = keys.iter().map(|key| PinFile::for_key(&cache, key).unwrap()).collect();
    for (at, file) in files.iter().enumerate() {
        file.add(&listed(&[tool("x", &at.to_string())]), &HashMap::new());
    }
    for (at, file) in files.iter().enumerate() {
        let StoredPins::Pins(pins) = file.read() else { panic!("{file:?}") };
        assert_eq!(pins[0].tool.description(), at.to_string());
    }
    assert!(PinFile::for_key(&Cache::off(), &keys[0]).is_none());
}

#[test]
fn a_file_is_the_same_source_however_it_is_named() {
    let here = std::env::current_dir().unwrap();
    let key = |path: &Path| PinKey::new("a", &Source::file(path));
    let plain = key(&here.join("mcp.json"));
    assert_eq!(key(Path::new("mcp.json")), plain);
    assert_eq!(key(Path::new("./mcp.json")), plain);
    let up = Path::new("..").join(here.file_name().unwrap()).join("mcp.json");
    assert_eq!(key(&up), PinKey::new("a", &Source::file(&physical(&here).join("mcp.json"))));
}

#[test]
fn damage_loses_pins_and_only_accepting_everything_starts_anew() {
    let fixture = PinFixture::new();
    fixture.add(&[tool("a", "1"), tool("b", "1")]);
    let whole = fs::read(&fixture.file.path).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let torn = (0..whole.len()).map(|length| whole[..length].to_vec());
    let others = [
        text.replace("\"version\":1", "\"version\":2"),
        text.replace("\"files\"", "\"other\""),
        text.replace("\"code\"", "\"cursor\""),
        text.replace("\"name\":\"a\"", "\"name\":7"),
    ];
    for damaged in torn.chain(others.map(String::into_bytes)) {
        assert_ne!(damaged, whole);
        fs::write(&fixture.file.path, &damaged).unwrap();
        assert!(fixture.pins().is_none(), "{}", String::from_utf8_lossy(&damaged));
    }
    fs::write(&fixture.file.path, "torn").unwrap();
    fixture.add(&[tool("a", "2")]);
    fixture.file.accept(&[accepted(&tool("a", "2"))], false);
    assert_eq!(fs::read(&fixture.file.path).unwrap(), b"torn");
    fixture.file.accept(&[accepted(&tool("a", "2"))], true);
    assert_eq!(fixture.entries().unwrap(), [tool("a", "2")]);
}

#[test]
fn what_is_no_file_of_ours_is_lost_and_what_cannot_be_there_is_not() {
    let fixture = PinFixture::new();
    fixture.add(&[tool("a", "1")]);
    let target = fixture.dir.path().join("target");
    fs::rename(&fixture.file.path, &target).unwrap();
    symlink(&target, &fixture.file.path).unwrap();
    assert!(fixture.pins().is_none(), "a link is not followed");
    fs::remove_file(&fixture.file.path).unwrap();
    fs::create_dir(&fixture.file.path).unwrap();
    assert!(fixture.pins().is_none(), "a directory");
    fs::remove_dir(&fixture.file.path).unwrap();
    fs::File::create(&fixture.file.path).unwrap().set_len(1 << 40).unwrap();
    assert!(fixture.pins().is_none(), "too large to be read");
    let key = PinKey::new("files", &Source::code());
    for place in [target, "/dev/full".into(), "/proc/mcpool".into()] {
        let file = PinFile::for_key(&Cache::at(Some(place)), &key).unwrap();
        file.add(&listed(&[tool("a", "1")]), &HashMap::new());
        assert!(matches!(file.read(), StoredPins::None), "{file:?}");
    }
}

#[test]
fn of_too_many_pins_those_of_tools_that_came_and_went_last_go() {
    let fixture = PinFixture::new();
    let many = |round: usize, count: usize| -> Vec<Value> {
        (0..count).map(|at| json!({"name": format!("{round}-{at}")})).collect()
    };
    fixture.add(&[tool("a", "1")]);
    for round in 0..2 {
        fixture.add(&many(round, MOST_KEPT - 1));
        let names = fixture.entries().unwrap();
        assert_eq!(names.len(), MOST_KEPT);
        assert_eq!(names[0], tool("a", "1"));
    }
    fixture.add(&many(2, MOST_KEPT));
    assert_eq!(fixture.entries().unwrap(), many(2, MOST_KEPT), "what is there has the first place");
}

#[test]
fn of_too_many_files_the_longest_unused_go() {
    let at = |second: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let file = |second: u64, length: u64| (at(second), length, PathBuf::from(second.to_string()));
    let names = |paths: Vec<PathBuf>| -> Vec<String> {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    let few: Vec<_> = (0..MOST_FILES as u64 - 1).map(|second| file(second, 1)).collect();
    assert!(excess(few.clone(), 1).is_empty());
    let many = few.into_iter().rev().chain([file(5_000, 1), file(6_000, 1)]).collect();
    assert_eq!(names(excess(many, 1)), ["0", "1"]);
    let half = MOST_BYTES / 2;
    assert!(excess(vec![file(2, half), file(1, half)], 0).is_empty());
    assert_eq!(names(excess(vec![file(2, half), file(1, half)], 1)), ["1"]);
    assert_eq!(names(excess(vec![file(2, half), file(1, 1)], MOST_BYTES)), ["1", "2"]);
}

#[test]
fn only_what_is_ours_is_removed_and_what_is_used_is_noted() {
    let fixture = PinFixture::new();
    fixture.add(&[tool("a", "1")]);
    let dir = fixture.file.path.parent().unwrap().to_owned();
    let old = SystemTime::now() - 3 * DAY;
    for name in [".mcpool-dead.tmp", ".mcpool-young.tmp", "notes.txt"] {
        fs::write(dir.join(name), "x").unwrap();
        if name != ".mcpool-young.tmp" {
            fs::File::open(dir.join(name)).unwrap().set_modified(old).unwrap();
        }
    }
    fs::File::open(&fixture.file.path).unwrap().set_modified(old).unwrap();
    fixture.add(&[tool("a", "1")]);
    let used = fs::metadata(&fixture.file.path).unwrap().modified().unwrap();
    assert!(used > old + DAY, "a file that is used is young");
    fixture.add(&[tool("b", "1")]);
    let mut names: Vec<_> = dir.read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    let ours = fixture.file.path.file_name().unwrap().to_owned();
    assert_eq!(names, [".mcpool-young.tmp".into(), ours, "notes.txt".into()]);
}

const HELPER: &str = "MCPOOL_TEST_PINS_HELPER";

/// Adds tools one after another, with the name of this process in each.
fn add_in_a_crowd(cache: &Cache, who: &str) {
    let file = PinFile::for_key(cache, &PinKey::new("files", &Source::code())).unwrap();
    for at in 0..10 {
        file.add(&listed(&[tool(&format!("{who}-{at}"), "1")]), &HashMap::new());
    }
}

#[test]
fn threads_and_processes_lose_no_pin_of_each_other() {
    let test = "threads_and_processes_lose_no_pin_of_each_other";
    if let Some(dir) = std::env::var_os(HELPER) {
        return add_in_a_crowd(&Cache::at(Some(dir.into())), &std::process::id().to_string());
    }
    let dir = TempDir::new().unwrap();
    let cache = Cache::at(Some(dir.path().to_owned()));
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let process = || {
        let mut program = std::process::Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", &name]).env(HELPER, dir.path());
        program.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..3).map(|_| process()).collect();
    std::thread::scope(|scope| {
        for who in ["one", "two"] {
            scope.spawn(|| add_in_a_crowd(&cache, who));
        }
    });
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let file = PinFile::for_key(&cache, &PinKey::new("files", &Source::code())).unwrap();
    let StoredPins::Pins(pins) = file.read() else { panic!("no pins") };
    assert_eq!(pins.len(), 50);
}
