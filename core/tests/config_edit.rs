//! Hazard: many processes edit one config file at once, and some are killed meanwhile. No change is lost, the file is
//! always the old or the new one, and no lock or temporary file is left.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcpool::Config;
use mcpool::edit::{EditTarget, add, disable, remove, update};
use serde_json::json;

const FILE: &str = "MCPOOL_TEST_EDIT_FILE";
const WRITER: &str = "MCPOOL_TEST_EDIT_WRITER";
const WRITERS: usize = 16;
const SERVERS: usize = 6;

const TEXTS: &[(&str, &str)] = &[
    (
        "mcp.json",
        "// head\n{\n  \"mcpServers\": {\n    // first\n    \"first\": {\"command\": \"x\"}\n  }, // tail\n}\n",
    ),
    ("mcp.yaml", "# head\nmcpServers: # tail\n  # first\n  first: {command: x}\nother: 1\n"),
    ("mcp.toml", "# head\nother = 1 # tail\n\n# first\n[mcpServers.first]\ncommand = 'x'\n"),
];

/// Runs this same test in another process, as a writer.
fn writer(test: &str, file: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FILE, file)
        .env(WRITER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn as_writer() -> Option<(EditTarget, usize)> {
    let number = std::env::var(WRITER).ok()?.parse().ok()?;
    Some((EditTarget::file(PathBuf::from(std::env::var_os(FILE)?)), number))
}

fn names(file: &Path) -> Vec<String> {
    let config = Config::from_file(file).unwrap_or_else(|error| panic!("{error}"));
    assert!(config.servers.values().all(|server| server.config.is_ok()));
    config.servers.keys().cloned().collect()
}

fn listing(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn many_processes_adding_at_once_lose_nothing() {
    if let Some((target, number)) = as_writer() {
        for server in 0..SERVERS {
            let definition = json!({"command": "x", "args": [number.to_string(), "é # \"'"]});
            add(&target, &format!("s{number}-{server}"), definition).unwrap();
        }
        return;
    }
    for (name, text) in TEXTS {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        let test = "many_processes_adding_at_once_lose_nothing";
        let writers: Vec<Child> = (0..WRITERS).map(|number| writer(test, &file, number)).collect();
        for mut writer in writers {
            assert!(writer.wait().unwrap().success());
        }
        let found = names(&file);
        assert_eq!(found.len(), WRITERS * SERVERS + 1);
        let all = (0..WRITERS).flat_map(|n| (0..SERVERS).map(move |s| format!("s{n}-{s}")));
        all.for_each(|name| assert!(found.contains(&name), "{name}"));
        let text = std::fs::read_to_string(&file).unwrap();
        for comment in ["head", "first", "tail"] {
            assert!(
                text.contains(&format!("# {comment}")) || text.contains(&format!("// {comment}"))
            );
        }
        assert_eq!(listing(directory.path()), [*name], "nothing is left beside it");
    }
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_file_or_the_new_one() {
    if let Some((target, _)) = as_writer() {
        for round in 0.. {
            let args: Vec<String> = (0..500).map(|n| format!("{round} {n}")).collect();
            update(&target, "first", json!({"args": args})).unwrap();
        }
    }
    let mut rng = fastrand::Rng::with_seed(5);
    for (name, text) in TEXTS {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        let test = "a_writer_that_is_killed_leaves_the_old_file_or_the_new_one";
        for _ in 0..12 {
            let mut writer = writer(test, &file, 0);
            std::thread::sleep(Duration::from_millis(rng.u64(20..120)));
            writer.kill().unwrap();
            writer.wait().unwrap();
            assert_eq!(names(&file), ["first"]);
            let whole = std::fs::read_to_string(&file).unwrap();
            let rounds: std::collections::HashSet<&str> = whole
                .split(['"', '\''])
                .filter_map(|arg| Some(arg.split_once(' ')?.0))
                .filter(|it| it.parse::<u32>().is_ok())
                .collect();
            assert!(rounds.len() <= 1, "one round at a time: {rounds:?}");
        }
        disable(&EditTarget::file(&file), "first").unwrap();
        assert_eq!(listing(directory.path()), [*name], "the next writer clears up");
    }
}

#[test]
fn a_new_file_is_the_users_alone_and_an_old_one_keeps_its_mode() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("new/mcp.json");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    add(&EditTarget::file(&file), "a", json!({"command": "x"})).unwrap();
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    for kept in [0o644, 0o600, 0o640] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(kept)).unwrap();
        disable(&EditTarget::file(&file), "a").unwrap();
        assert_eq!(mode(&file), kept);
        remove(&EditTarget::file(&file), "a").unwrap();
        add(&EditTarget::file(&file), "a", json!({"command": "x"})).unwrap();
        assert_eq!(mode(&file), kept);
    }
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (link, linked) =
        (directory.path().join("mcp.json"), directory.path().join("dotfiles/real.json"));
    symlink("dotfiles/real.json", &link).unwrap();
    add(&EditTarget::file(&link), "a", json!({"command": "x"})).unwrap();
    add(&EditTarget::file(&link), "b", json!({"command": "x"})).unwrap();
    assert!(link.is_symlink() && !linked.is_symlink());
    assert_eq!(names(&linked), ["a", "b"]);
    let ring = directory.path().join("ring.json");
    symlink(&ring, &ring).unwrap();
    let error = add(&EditTarget::file(&ring), "a", json!({"command": "x"})).unwrap_err();
    assert_eq!(error.code(), "CONFIG_IO");
    assert!(error.message().contains("loop"), "{error}");
}

/// How many descriptors of this process are open on a path.
fn descriptors_of(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|target| *target == path).count()
}

#[test]
fn a_lock_that_somebody_holds_is_waited_for_and_not_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let target = EditTarget::file(directory.path().join("mcp.json"));
    let held = std::fs::File::open(directory.path()).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| add(&target, "a", json!({"command": "x"})));
        // The file is not there before the lock is free, however long that takes.
        let deadline = Instant::now() + Duration::from_secs(60);
        while descriptors_of(directory.path()) < 2 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(descriptors_of(directory.path()) >= 2, "it opened what it has to lock");
        assert!(!adding.is_finished() && !directory.path().join("mcp.json").exists());
        held.unlock().unwrap();
        adding.join().unwrap().unwrap();
    });
    held.lock().unwrap();
    let error = add(&target, "b", json!({"command": "x"})).unwrap_err();
    assert_eq!(error.code(), "CONFIG_IO");
    assert!(error.message().contains("another process"), "{error}");
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let cases =
        [directory.path().to_owned(), PathBuf::from("/proc/mcp.json"), PathBuf::from("/dev/null")];
    for path in cases {
        let error = add(&EditTarget::file(&path), "a", json!({"command": "x"})).unwrap_err();
        assert_eq!(error.code(), "CONFIG_IO");
        assert!(error.message().contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn a_scope_means_the_file_that_is_there() {
    let home = tempfile::tempdir().unwrap();
    let host_env = mcpool::HostEnv::new(
        Some([("XDG_CONFIG_HOME".into(), home.path().join("config").display().to_string())].into()),
        Some(home.path().into()),
        Some(mcpool::Platform::Linux),
    );
    let user = EditTarget { host_env: host_env.clone(), ..EditTarget::default() };
    let edited = add(&user, "a", json!({"command": "x"})).unwrap();
    assert_eq!(edited.path, home.path().join("config/mcpool/mcp.json"));
    let project = EditTarget {
        scope: mcpool::edit::EditScope::Project,
        cwd: Some(home.path().join("work")),
        host_env,
        ..EditTarget::default()
    };
    std::fs::create_dir_all(home.path().join("work/.mcpool")).unwrap();
    std::fs::write(home.path().join("work/.mcpool/mcp.toml"), "").unwrap();
    let edited = add(&project, "a", json!({"command": "x"})).unwrap();
    assert_eq!(edited.path, home.path().join("work/.mcpool/mcp.toml"));
    assert_eq!(names(&edited.path), ["a"]);
}
