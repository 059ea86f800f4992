//! Owns what a child process finds around itself: its environment, and by that environment its program.
//! Invariant: nothing of one server's variables is in another's; each environment is built from nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::config::{InheritEnv, Scope};
use crate::host_env::Platform;

/// What programs need of our environment, and what holds no secrets.
const SAFE: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// The same on Windows.
const SAFE_ON_WINDOWS: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// What a server without a `PATH` gets its program from.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A child's whole environment; of several values for one name the last counts.
pub(super) type Environment = Vec<(OsString, OsString)>;

/// What a child inherits.
pub(super) fn inherited(inherit: InheritEnv, scope: &Scope) -> Environment {
    if inherit == InheritEnv::None {
        return Environment::new();
    }
    let platform = scope.host_env.platform();
    let is_safe = |name: &OsStr| match platform {
        Platform::Windows => SAFE_ON_WINDOWS.iter().any(|safe| name.eq_ignore_ascii_case(safe)),
        Platform::Linux | Platform::Macos => SAFE.iter().any(|safe| name == *safe),
    };
    let all = scope.host_env.vars().into_iter();
    all.filter(|(name, _)| inherit == InheritEnv::All || is_safe(name)).collect()
}

/// Where a program without a path of its own is, by the `PATH` that the server gets. Relative entries begin at `base`;
/// without one they do not count.
pub(super) fn find_program(
    command: &str,
    env: &Environment,
    base: Option<&Path>,
) -> Option<PathBuf> {
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::split_paths(&path)
        .filter_map(|directory| match base {
            Some(base) => Some(base.join(directory)),
            None => Some(directory).filter(|directory| directory.is_absolute()),
        })
        .map(|directory| directory.join(command))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::host_env::HostEnv;

    fn names(inherit: InheritEnv, platform: Platform) -> Vec<String> {
        let names = ["PATH", "Path", "HOME", "SystemRoot", "SECRET", "LC_ALL"];
        let env: BTreeMap<_, _> = names.map(|name| (name.to_owned(), "x".to_owned())).into();
        let host_env = HostEnv::new(Some(env), None, Some(platform));
        let scope = Scope { host_env, ..Scope::default() };
        let inherited = inherited(inherit, &scope).into_iter();
        inherited.map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn only_what_is_safe_is_inherited_unless_more_is_wanted() {
        assert_eq!(names(InheritEnv::Safe, Platform::Linux), ["HOME", "LC_ALL", "PATH"]);
        assert_eq!(names(InheritEnv::Safe, Platform::Windows), ["PATH", "Path", "SystemRoot"]);
        assert_eq!(names(InheritEnv::All, Platform::Linux).len(), 6);
        assert!(names(InheritEnv::None, Platform::Linux).is_empty());
    }

    #[test]
    fn a_program_is_found_by_the_servers_own_path() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("bin/tool");
        std::fs::create_dir(directory.path().join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let env = vec![("PATH".into(), "/nowhere".into()), ("PATH".into(), "/none:bin".into())];
        assert_eq!(find_program("tool", &env, Some(directory.path())).unwrap(), program);
        assert_eq!(find_program("tool", &env, None), None);
        assert_eq!(find_program("tool", &Vec::new(), Some(directory.path())), None);
    }
}
