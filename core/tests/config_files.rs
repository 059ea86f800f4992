//! Hazard: reading whatever is at a config file's path ends in a config or in an error that names the file. It never
//! blocks, and no error shows the file's content.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use mcpool::{Config, Error};

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn written(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn refused(path: &Path) -> Error {
    let error = Config::from_file(path).unwrap_err();
    assert!(error.message().contains(&path.display().to_string()), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error}");
    error
}

#[test]
fn each_format_is_read_with_its_places() {
    let room = room();
    let texts = [
        (
            "a.json",
            "{\"mcpServers\": {\"s\": {\"command\": \"x\"},\n  \"s\": {\"command\": \"y\"}}}",
            "2:3",
        ),
        (
            "a.jsonc",
            "{ // comment\n\"mcpServers\": {\"s\": {\"command\": \"x\", \"command\": \"y\"},},}",
            "2:38",
        ),
        ("a.yaml", "mcpServers:\n  s: {command: x, command: y}\n", "2:19"),
        ("a.yml", "mcpServers:\n  s: {command: z}\n  s: {command: y}\n", "3:3"),
    ];
    for (name, text, place) in texts {
        let path = written(room.path(), name, text);
        let config = Config::from_file(&path).unwrap();
        let server = config.servers["s"].config.as_ref().unwrap();
        assert_eq!(server.to_value()["command"], "y");
        assert_eq!(config.servers["s"].source.path.as_deref(), path.to_str());
        assert_eq!(config.servers["s"].source.provider, "file");
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        assert!(
            config.warnings[0].starts_with(&format!("{}:{place}: ", path.display())),
            "{:?}",
            config.warnings
        );
    }
    let toml = written(room.path(), "a.toml", "[mcpServers.s]\ncommand = 'y'\ncolour = 1\n");
    let config = Config::from_file(&toml).unwrap();
    assert!(config.warnings[0].starts_with(&format!("{}: Server \"s\"", toml.display())));
    let twice =
        written(room.path(), "b.toml", "[mcpServers.s]\ncommand = 'y'\ncommand = 'hunter2'\n");
    assert!(refused(&twice).message().contains("b.toml:3:1: not TOML: duplicate key"));
}

#[test]
fn a_mistake_in_the_syntax_is_told_with_its_place() {
    let room = room();
    let texts = [
        ("a.json", "{\n  \"mcpServers\": hunter2\n}", "a.json:2:17: not JSON: "),
        ("a.yaml", "mcpServers:\n  a: [hunter2\nb: 1\n", "a.yaml:3:"),
        ("a.toml", "a = 1\nb = hunter2\n", "a.toml:2:5: not TOML: "),
    ];
    for (name, text, expected) in texts {
        let error = refused(&written(room.path(), name, text));
        assert_eq!(error.code(), "CONFIG_INVALID");
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn only_a_regular_file_is_opened() {
    let room = room();
    let directory = room.path().join("d.json");
    std::fs::create_dir(&directory).unwrap();
    assert!(refused(&directory).message().contains("is a directory"));
    let pipe = room.path().join("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(refused(&pipe).message().contains("a pipe"));
    let socket = room.path().join("socket.json");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    refused(&socket);
    for device in ["/dev/zero", "/dev/tty", "/dev/null"] {
        refused(Path::new(device));
    }
    for path in [directory, pipe, socket] {
        assert_eq!(refused(&path).code(), "CONFIG_IO");
    }
}

#[test]
fn links_are_followed_and_loops_are_told() {
    let room = room();
    let real = written(room.path(), "real.json", "{\"mcpServers\": {}}");
    let link = room.path().join("link.json");
    symlink(&real, &link).unwrap();
    Config::from_file(&link).unwrap();
    let (one, other) = (room.path().join("one.json"), room.path().join("other.json"));
    symlink(&other, &one).unwrap();
    symlink(&one, &other).unwrap();
    let error = refused(&one);
    assert_eq!(error.code(), "CONFIG_IO");
    assert!(error.message().contains("loop"), "{error}");
    let nowhere = room.path().join("nowhere.json");
    symlink("gone.json", &nowhere).unwrap();
    assert!(refused(&nowhere).message().ends_with("does not exist"));
    let in_home = refused(Path::new("~/nowhere.json"));
    assert!(in_home.hint().unwrap().contains("write the whole path"), "{in_home}");
    assert!(refused(&real.join("below.json")).message().ends_with("does not exist"));
}

#[test]
fn a_file_that_may_not_be_read_is_told() {
    let room = room();
    let path = written(room.path(), "a.json", "{\"mcpServers\": {}}");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    // Root may read everything.
    match Config::from_file(&path) {
        Ok(_) => assert!(std::fs::read(&path).is_ok()),
        Err(error) => {
            assert_eq!(error.code(), "CONFIG_IO");
            assert!(error.message().contains("permission denied"), "{error}");
        }
    }
}

#[test]
fn four_mebibytes_are_read_and_one_byte_more_is_not() {
    let room = room();
    let servers = "{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}";
    let full = format!("{servers}{}", " ".repeat((4 << 20) - servers.len()));
    let config = Config::from_file(written(room.path(), "full.json", &full)).unwrap();
    assert_eq!(config.servers.len(), 1);
    let error = refused(&written(room.path(), "more.json", format!("{full} ")));
    assert_eq!(error.code(), "CONFIG_INVALID");
    assert!(error.message().contains("larger than 4 MiB"), "{error}");
    let sparse = std::fs::File::create(room.path().join("sparse.json")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    refused(&room.path().join("sparse.json"));
}

#[test]
fn many_servers_in_four_mebibytes_are_read() {
    let room = room();
    let server =
        |n: usize| format!("\"s{n}\": {{\"command\": \"x\", \"args\": [\"{}\"]}}", "y".repeat(40));
    let servers: Vec<String> = (0..40_000).map(server).collect();
    let text = format!("{{\"mcpServers\": {{{}}}}}", servers.join(",\n"));
    assert!(text.len() > 3 << 20 && text.len() < 4 << 20, "{}", text.len());
    let config = Config::from_file(written(room.path(), "a.json", &text)).unwrap();
    assert_eq!(config.servers.len(), 40_000);
}

#[test]
fn what_is_not_utf_8_is_told_with_its_place() {
    let room = room();
    let error = refused(&written(room.path(), "a.json", b"{\n  \"hunter2\": \"\xff\"}"));
    assert!(error.message().contains("a.json:2:15: not UTF-8 (byte 16)"), "{error}");
    for name in ["a.json", "a.yaml", "a.toml"] {
        let wide: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(refused(&written(room.path(), name, wide)).code(), "CONFIG_INVALID");
        assert_eq!(refused(&written(room.path(), name, b"\xc3")).code(), "CONFIG_INVALID");
    }
}

#[test]
fn nuls_and_nesting_are_errors_of_the_file_or_of_the_server() {
    let room = room();
    for name in ["a.json", "a.yaml", "a.toml"] {
        for text in ["\0".repeat(100), "[".repeat(100_000), "a".repeat(100_000)] {
            refused(&written(room.path(), name, text));
        }
    }
    let nul = "{\"mcpServers\": {\"bad\": {\"command\": \"x\\u0000hunter2\"}, \"good\": {\"command\": \"x\"}}}";
    let config = Config::from_file(written(room.path(), "nul.json", nul)).unwrap();
    let error = config.servers["bad"].config.as_ref().unwrap_err();
    assert!(error.message().contains("NUL") && !error.message().contains("hunter2"), "{error}");
    assert!(config.servers["good"].config.is_ok());
}

#[test]
fn a_document_says_which_of_its_servers_are_on() {
    let room = room();
    let text = "mcpServers:\n  a: {command: x}\n  b: {command: x}\n  c: {command: x, enabled: false}\n  d: {command: x}\n\
                enabledServers: [a, b, c]\ndisabledServers: [b, zzz]\nbareEnvNames: true\n";
    let config = Config::from_file(written(room.path(), "a.yaml", text)).unwrap();
    let on = |name: &str| config.servers[name].config.as_ref().unwrap().enabled;
    assert_eq!(["a", "b", "c", "d"].map(on), [true, false, false, false]);
    assert!(config.servers["a"].config.as_ref().unwrap().scope.bare_env_names);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let wrong = "mcpServers: {a: {command: x}}\nenabledServers: a\ndisabledServers: [1]\nbareEnvNames: 'yes'\n\
                 disabledServer: [a]\nsomething else: 1\n";
    let config = Config::from_file(written(room.path(), "b.yaml", wrong)).unwrap();
    assert!(config.servers["a"].config.as_ref().unwrap().enabled);
    assert_eq!(config.warnings.len(), 4, "{:?}", config.warnings);
    assert!(
        config.warnings[3].ends_with("did you mean \"disabledServers\"?"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn servers_that_are_left_out_are_told() {
    let room = room();
    std::fs::create_dir(room.path().join(".vscode")).unwrap();
    let settings = r#"{"mcp": {"servers": {"one": {"command": "x"}}}, "sidecar.mcpServers": {"two": {"command": "x"}}}"#;
    let both = r#"{"context_servers": {"one": {"command": "x"}}, "mcpServers": {"two": {"command": "x"}}}"#;
    let cases =
        [(".vscode/settings.json", settings, "mcp.servers"), ("a.json", both, "context_servers")];
    for (name, text, key) in cases {
        let config = Config::from_file(written(room.path(), name, text)).unwrap();
        assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["two"]);
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        assert!(config.warnings[0].contains(&format!("\"{key}\"")), "{:?}", config.warnings);
    }
    let goose = "extensions:\n  a: {type: stdio, cmd: x, name: a, enabled: true}\n  b: {type: builtin, name: b}\n  \
                 todo: {type: platform, name: todo}\n  mine: {type: inline_python, code: x}\n";
    let config = Config::from_file(written(room.path(), "goose.yaml", goose)).unwrap();
    assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
    for (warning, name) in config.warnings.iter().zip(["todo", "mine"]) {
        assert!(warning.contains(&format!("\"{name}\" is left out")), "{warning}");
    }
}
