//! The cache on disk, each test in its own directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::config::Config;
use crate::time::now_ms;

const PRINT: &str = "0123456789abcdef0123456789abcdef";
const OTHER_PRINT: &str = "fedcba9876543210fedcba9876543210";
const NOW: u64 = 1_700_000_000_000;

struct CacheFixture {
    cache: Cache,
    dir: TempDir,
}

impl CacheFixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        CacheFixture { cache: Cache::at(Some(dir.path().join("deep/down"))), dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("deep/down/tools/files-0123456789abcdef.json")
    }

    fn store(&self, tools: &[Bytes]) {
        self.cache.store("files", PRINT, Some("2025-06-18"), tools, NOW);
    }

    fn load(&self) -> Option<Vec<Bytes>> {
        self.cache.load("files", PRINT, NOW).map(|it| it.tools)
    }

    fn names(&self) -> Vec<String> {
        let entries = self.file().parent().unwrap().read_dir().unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn tools(texts: &[&'static str]) -> Vec<Bytes> {
    texts.iter().map(|text| Bytes::from_static(text.as_bytes())).collect()
}

fn some_tools() -> Vec<Bytes> {
    tools(&[r#"{"name":"a","inputSchema":{}}"#, r#"{"name":"b"}"#])
}

/// Runs `work` and returns its warnings.
fn warnings(work: impl FnOnce()) -> Vec<String> {
    #[derive(Clone, Default)]
    struct WarningLog(Arc<Mutex<Vec<String>>>);
    struct Line(String);
    impl tracing::field::Visit for Line {
        fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
            self.0 += &format!("{}={value:?} ", field.name());
        }
    }
    impl tracing::Subscriber for WarningLog {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut line = Line(format!("{} ", event.metadata().level()));
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let log = WarningLog::default();
    tracing::subscriber::with_default(log.clone(), work);
    log.0.lock().unwrap().clone()
}

fn assert_warns_once(path: &Path, work: impl FnOnce()) {
    let warnings = warnings(work);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("WARN"), "{warnings:?}");
    assert!(warnings[0].contains(path.to_str().unwrap()), "{warnings:?}");
}

fn assert_silent(work: impl FnOnce()) {
    let warnings = warnings(work);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn tools_come_back_byte_for_byte() {
    let fixture = CacheFixture::new();
    let written = tools(&[
        r#"{"z":1,"a":2,"name":"order"}"#,
        r#"{"name":"numbers","n":[123456789012345678901234567890,1.10,1e400,-0.0,1E+2]}"#,
        "{\"name\":\"größe 🦀 \\u00e9 \\ud83e\\udd80 \u{2028}\"}",
        "{ \"name\" :\n\t\"spaces\" , \"name\": \"twice\" }",
        "7",
    ]);
    assert_silent(|| {
        fixture.store(&written);
        assert_eq!(fixture.load().unwrap(), written);
    });
    fixture.cache.store("files", OTHER_PRINT, None, &[], NOW);
    assert_eq!(
        fixture.cache.load("files", OTHER_PRINT, NOW).map(|it| it.tools).unwrap(),
        Vec::<Bytes>::new()
    );
}

#[test]
fn the_file_says_what_it_is() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let content: serde_json::Value =
        serde_json::from_slice(&fs::read(fixture.file()).unwrap()).unwrap();
    let expected = json!({
        "version": 1, "server": "files", "fingerprint": PRINT, "time_ms": NOW,
        "protocol_version": "2025-06-18", "tools": [{"name": "a", "inputSchema": {}}, {"name": "b"}],
    });
    assert_eq!(content, expected);
}

#[test]
fn only_the_user_can_read_it() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.file()), 0o600);
    let created = fixture.file();
    for dir in created.ancestors().skip(1).take(3) {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
}

#[test]
fn a_definitions_secrets_stay_out() {
    let fixture = CacheFixture::new();
    let servers = json!({
        "stdio": {"command": "x", "args": ["marker-5f"], "env": {"TOKEN": "marker-5f"}},
        "http": {"url": "http://h/?key=marker-5f", "headers": {"Authorization": "marker-5f"}},
    });
    let config = Config::from_value(json!({"mcpServers": servers})).unwrap();
    for (name, server) in &config.servers {
        let fingerprint = server.config.as_ref().unwrap().fingerprint();
        fixture.cache.store(name, &fingerprint, None, &some_tools(), NOW);
        let path = fixture.cache.file(name, &fingerprint).unwrap();
        let content = fs::read_to_string(&path).unwrap();
        assert!(content.contains(&fingerprint), "{content}");
        assert!(!content.contains("marker"), "{content}");
    }
}

#[test]
fn a_file_torn_anywhere_is_a_miss() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let whole = fs::read(fixture.file()).unwrap();
    for length in 0..whole.len() {
        fs::write(fixture.file(), &whole[..length]).unwrap();
        assert_warns_once(&fixture.file(), || assert!(fixture.load().is_none(), "{length}"));
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] = 0xff;
        fs::write(fixture.file(), &damaged).unwrap();
        assert!(fixture.load().is_none(), "byte {at}");
    }
    fixture.store(&some_tools());
    assert_eq!(fixture.load().unwrap(), some_tools(), "a damaged file is replaced");
}

#[test]
fn what_was_written_for_another_is_a_miss() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let whole = fs::read_to_string(fixture.file()).unwrap();
    let others = [
        whole.replace("\"version\":1", "\"version\":2"),
        "{\"version\":2,\"shape\":\"new\"}".to_owned(),
        whole.replace("\"files\"", "\"other\""),
        whole.replace("abcdef\"", "abcdee\""),
    ];
    for other in others {
        assert_ne!(other, whole);
        fs::write(fixture.file(), &other).unwrap();
        assert_silent(|| assert!(fixture.load().is_none(), "{other}"));
    }
    assert_silent(|| {
        assert!(fixture.cache.load("nobody", PRINT, NOW).map(|it| it.tools).is_none())
    });
}

#[test]
fn thirty_days_are_remembered() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let found = |now_ms| fixture.cache.load("files", PRINT, now_ms).map(|it| it.tools).is_some();
    assert!(found(NOW + KEPT_MS));
    assert!(!found(NOW + KEPT_MS + 1));
    assert!(found(NOW - DAY_MS), "clocks differ");
    assert!(!found(NOW - DAY_MS - 1), "from the future");
    assert!(!found(0));
    assert!(!found(u64::MAX));
}

#[test]
fn what_is_known_is_not_written_again_within_a_day() {
    let fixture = CacheFixture::new();
    let written_at = || -> u64 {
        serde_json::from_slice::<serde_json::Value>(&fs::read(fixture.file()).unwrap()).unwrap()["time_ms"]
            .as_u64()
            .unwrap()
    };
    let store = |tools: &[Bytes], version, now_ms| {
        fixture.cache.store("files", PRINT, Some(version), tools, now_ms);
    };
    store(&some_tools(), "1", NOW);
    store(&some_tools(), "1", NOW + 1);
    assert_eq!(written_at(), NOW);
    store(&some_tools(), "2", NOW + 2);
    assert_eq!(written_at(), NOW + 2, "another protocol");
    store(&some_tools()[..1], "2", NOW + 3);
    assert_eq!(written_at(), NOW + 3, "other tools");
    store(&some_tools()[..1], "2", NOW + 4 + DAY_MS);
    assert_eq!(written_at(), NOW + 4 + DAY_MS, "a day later");
}

#[test]
fn old_files_and_leftovers_are_pruned_once_a_day() {
    let fixture = CacheFixture::new();
    let now = now_ms();
    fixture.cache.store("files", PRINT, None, &some_tools(), now);
    let tools = fixture.file().parent().unwrap().to_owned();
    let others = ["files-0123456789abcde.json", "files.json", "notes.txt", "x.tmp"];
    let ours = ["files-x-0123456789abcdef.json", ".mcpool-dead.tmp"];
    for name in others.iter().chain(&ours) {
        fs::write(tools.join(name), "x").unwrap();
    }
    fs::create_dir(tools.join("files-aaaaaaaaaaaaaaaa.json")).unwrap();
    fixture.cache.store("files", OTHER_PRINT, None, &some_tools(), now);
    assert_eq!(fixture.names().len(), 9, "all is young: {:?}", fixture.names());
    fixture.cache.store("files", OTHER_PRINT, None, &[], now + 2 * DAY_MS);
    assert!(!fixture.names().contains(&".mcpool-dead.tmp".to_owned()), "{:?}", fixture.names());
    assert_eq!(fixture.names().len(), 8, "{:?}", fixture.names());
    fixture.cache.store("files", OTHER_PRINT, None, &some_tools(), now + 31 * DAY_MS);
    let mut kept: Vec<_> = others.map(str::to_owned).to_vec();
    kept.extend(["files-aaaaaaaaaaaaaaaa.json", "files-fedcba9876543210.json"].map(str::to_owned));
    kept.sort();
    assert_eq!(fixture.names(), kept);
}

#[test]
fn a_disk_that_refuses_is_one_warning() {
    let fixture = CacheFixture::new();
    let file = fixture.dir.path().join("file");
    fs::write(&file, "x").unwrap();
    for place in [file.clone(), PathBuf::from("/dev/full"), PathBuf::from("/proc/mcpool")] {
        let cache = Cache::at(Some(place.clone()));
        assert_warns_once(&place, || cache.store("files", PRINT, None, &some_tools(), NOW));
        assert!(cache.load("files", PRINT, NOW).map(|it| it.tools).is_none());
    }
    assert_eq!(fs::read(file).unwrap(), b"x");
}

#[test]
fn a_write_that_fails_keeps_the_old_file_and_leaves_nothing() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let not_json = tools(&["{\"name\":"]);
    assert_warns_once(&fixture.file(), || fixture.store(&not_json));
    let text = format!("\"{}\"", "x".repeat(LARGEST_FILE as usize));
    assert_warns_once(&fixture.file(), || fixture.store(&[Bytes::from(text)]));
    assert_eq!(fixture.load().unwrap(), some_tools());
    assert_eq!(fixture.names(), ["files-0123456789abcdef.json"]);
}

#[test]
fn a_huge_file_is_a_miss_that_is_not_read() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    fs::File::create(fixture.file()).unwrap().set_len(1 << 40).unwrap();
    assert_warns_once(&fixture.file(), || assert!(fixture.load().is_none()));
}

#[test]
fn a_link_is_replaced_and_never_followed() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let target = fixture.dir.path().join("target");
    fs::rename(fixture.file(), &target).unwrap();
    let before = fs::read(&target).unwrap();
    symlink(&target, fixture.file()).unwrap();
    assert_warns_once(&fixture.file(), || assert!(fixture.load().is_none()));
    fixture.store(&some_tools()[..1]);
    assert_eq!(fixture.load().unwrap(), some_tools()[..1]);
    assert!(fs::symlink_metadata(fixture.file()).unwrap().is_file());
    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn what_is_no_file_is_a_miss_and_does_not_hold_us_up() {
    let fixture = CacheFixture::new();
    fs::create_dir_all(fixture.file()).unwrap();
    assert_warns_once(&fixture.file(), || assert!(fixture.load().is_none()));
    assert_warns_once(&fixture.file(), || fixture.store(&some_tools()));
    assert_eq!(fixture.names().len(), 1, "no leftovers: {:?}", fixture.names());
    fs::remove_dir(fixture.file()).unwrap();
    assert!(Command::new("mkfifo").arg(fixture.file()).status().unwrap().success());
    assert_warns_once(&fixture.file(), || assert!(fixture.load().is_none()));
    fixture.store(&some_tools());
    assert_eq!(fixture.load().unwrap(), some_tools());
}

#[test]
fn the_place_is_the_given_one_then_the_variables_then_the_users() {
    let path = |text: &str| Some(PathBuf::from(text));
    let variable = |text: &str| Some(OsString::from(text));
    assert_eq!(choose_directory(path("/given"), variable("/var"), path("/user")), path("/given"));
    assert_eq!(choose_directory(None, variable("/var"), path("/user")), path("/var"));
    assert_eq!(choose_directory(None, variable(""), path("/user")), path("/user/mcpool"));
    assert_eq!(choose_directory(None, None, None), None);
    assert!(choose_directory(path("here"), None, None).unwrap().is_absolute());
}

#[test]
fn without_a_place_nothing_is_remembered() {
    assert_silent(|| {
        Cache::off().store("files", PRINT, None, &some_tools(), NOW);
        assert!(Cache::off().load("files", PRINT, NOW).is_none());
    });
}

/// Makes the file another user's. Only root can change the owner; otherwise the cache runs as another user, to whom our
/// files are foreign.
fn give_away(fixture: &mut CacheFixture, path: &Path) {
    match rustix::process::geteuid().as_raw() {
        0 => std::os::unix::fs::chown(path, Some(12_345), None).unwrap(),
        us => fixture.cache.user = User::with_id(us + 1),
    }
}

#[test]
fn a_file_of_another_user_is_not_believed() {
    let mut fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let file = fixture.file();
    give_away(&mut fixture, &file);
    assert_warns_once(file.parent().unwrap(), || assert!(fixture.load().is_none()));
}

#[test]
fn nor_is_a_directory_of_another_user_and_nothing_is_put_there() {
    for directory in ["deep/down/tools", "deep/down"] {
        let mut fixture = CacheFixture::new();
        fixture.store(&some_tools());
        let place = fixture.dir.path().join("deep/down");
        let directory = fixture.dir.path().join(directory);
        give_away(&mut fixture, &directory);
        let before = fs::read(fixture.file()).unwrap();
        assert_warns_once(&place, || assert!(fixture.load().is_none()));
        assert_silent(|| assert!(fixture.load().is_none()));
        assert_warns_once(&place, || fixture.store(&some_tools()[..1]));
        assert_eq!(fs::read(fixture.file()).unwrap(), before);
    }
}

#[test]
fn what_others_may_write_is_not_believed_and_made_anew() {
    for (path, mode) in [
        ("deep/down/tools/files-0123456789abcdef.json", 0o602),
        ("deep/down/tools/files-0123456789abcdef.json", 0o620),
        ("deep/down/tools", 0o777),
        ("deep/down/tools", 0o770),
    ] {
        let fixture = CacheFixture::new();
        fixture.store(&some_tools());
        let path = fixture.dir.path().join(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_warns_once(&path, || assert!(fixture.load().is_none()));
        fixture.store(&some_tools()[..1]);
        assert_eq!(fixture.load().unwrap(), some_tools()[..1], "{}", path.display());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
    }
}

#[test]
fn a_directory_that_is_a_link_is_not_followed() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let (tools, target) =
        (fixture.dir.path().join("deep/down/tools"), fixture.dir.path().join("target"));
    fs::rename(&tools, &target).unwrap();
    symlink(&target, &tools).unwrap();
    assert_warns_once(&tools, || assert!(fixture.load().is_none()));
    assert_warns_once(&tools, || fixture.store(&some_tools()[..1]));
    assert_eq!(fs::read_dir(target).unwrap().count(), 1);
}

#[test]
fn the_systems_own_directory_for_everybody_will_do() {
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    let above = fixture.dir.path().join("deep/down");
    fs::set_permissions(&above, fs::Permissions::from_mode(0o1777)).unwrap();
    assert_silent(|| assert_eq!(fixture.load().unwrap(), some_tools()));
    fs::set_permissions(&above, fs::Permissions::from_mode(0o777)).unwrap();
    assert_warns_once(&above, || assert!(fixture.load().is_none()));
}

const HELPER: &str = "MCPOOL_TEST_CACHE_HELPER";

/// The same test in another process; a variable names the cache.
fn same_test_elsewhere(program: &mut Command, test: &str, place: &Path) -> std::process::Child {
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    program.args(["--exact", &name]).env(HELPER, place);
    program.stdout(std::process::Stdio::piped()).spawn().unwrap()
}

fn assert_passes(test: std::process::Child) {
    let output = test.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn this_binary() -> PathBuf {
    std::env::current_exe().unwrap()
}

#[test]
fn a_disk_that_fills_up_half_way_keeps_the_old_file() {
    let large = Bytes::from(format!("\"{}\"", "x".repeat(1 << 20)));
    if let Some(dir) = std::env::var_os(HELPER) {
        let cache = Cache::at(Some(dir.into()));
        let file = cache.file("files", PRINT).unwrap();
        return assert_warns_once(&file, || cache.store("files", PRINT, None, &[large], NOW));
    }
    let fixture = CacheFixture::new();
    fixture.store(&some_tools());
    // The shell limits the size of a file and ignores the signal about it, so writing fails.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' XFSZ && ulimit -f 64 && exec \"$@\"", "sh"]).arg(this_binary());
    let test = "a_disk_that_fills_up_half_way_keeps_the_old_file";
    assert_passes(same_test_elsewhere(&mut shell, test, fixture.cache.dir.as_ref().unwrap()));
    assert_eq!(fixture.load().unwrap(), some_tools());
    assert_eq!(fixture.names(), ["files-0123456789abcdef.json"]);
}

/// Stores lists of different lengths and contents, and reads what the other processes stored in between.
fn store_and_load_in_a_crowd(cache: &Cache) {
    let lists: Vec<Vec<Bytes>> = (1..=5_usize)
        .map(|n| {
            vec![Bytes::from(format!("{{\"name\":\"{}\"}}", n.to_string().repeat(n * 9_000))); n]
        })
        .collect();
    for list in lists.iter().cycle().take(60) {
        cache.store("files", PRINT, None, list, NOW);
        let seen = cache
            .load("files", PRINT, NOW)
            .map(|it| it.tools)
            .expect("a whole file is always there");
        assert!(lists.contains(&seen), "a torn read of {} tools", seen.len());
    }
}

#[test]
fn threads_and_processes_never_see_a_torn_file() {
    if let Some(dir) = std::env::var_os(HELPER) {
        return store_and_load_in_a_crowd(&Cache::at(Some(dir.into())));
    }
    let fixture = CacheFixture::new();
    let place = fixture.cache.dir.as_ref().unwrap();
    let test = "threads_and_processes_never_see_a_torn_file";
    let processes: Vec<_> = (0..4)
        .map(|_| same_test_elsewhere(&mut Command::new(this_binary()), test, place))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| store_and_load_in_a_crowd(&fixture.cache));
        }
    });
    processes.into_iter().for_each(assert_passes);
    assert_eq!(fixture.names(), ["files-0123456789abcdef.json"]);
}
