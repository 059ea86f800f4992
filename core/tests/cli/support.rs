//! Shared by the tests of the command line: the real binary, with its own home.
#![allow(dead_code)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

pub(crate) const MCPOOL: &str = env!("CARGO_BIN_EXE_mcpool");

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// All output, stdout and stderr.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().expect("it was not ended by a signal");
        let ran = Ran { code, out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }
}

/// A user with an empty home and an empty project, removed with the test.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn new(test: &str) -> Home {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{test}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("home")).unwrap();
        std::fs::create_dir_all(path.join("project")).unwrap();
        Home(path.canonicalize().unwrap())
    }

    pub(crate) fn home(&self, file: &str) -> PathBuf {
        self.0.join("home").join(file)
    }

    pub(crate) fn project(&self, file: &str) -> PathBuf {
        self.0.join("project").join(file)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }

    /// The user's own mcpool file.
    pub(crate) fn own(&self) -> PathBuf {
        self.home(".config/mcpool/mcp.json")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(MCPOOL);
        command.args(args).stdin(Stdio::null()).current_dir(self.project("")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home("")).env("MCPOOL_CACHE_DIR", self.cache());
        command.env("MCPOOL_KEYCHAIN", "off").envs(means());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Which means of the system the tests use.
pub(crate) fn means() -> Option<(&'static str, OsString)> {
    std::env::var_os("MCPOOL_PORTABLE").map(|portable| ("MCPOOL_PORTABLE", portable))
}

/// A definition of the demo server.
pub(crate) fn demo() -> Value {
    json!({"command": MCPOOL, "args": ["demo-server"]})
}

/// Writes a config with these servers.
pub(crate) fn write(path: &Path, servers: Value) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, json!({ "mcpServers": servers }).to_string()).unwrap();
}

pub(crate) fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The fixture's program; `make test` builds it first.
pub(crate) fn fixture() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/mcpool-fixture");
    let path = std::env::var_os("MCPOOL_FIXTURE").map_or(built, PathBuf::from);
    assert!(path.exists(), "build it first: make fixture");
    path
}
