//! Owns a child's environment, and finding its program by that environment.
//! Invariant: servers do not see each other's variables; each environment is built from scratch.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::config::{InheritEnv, Scope};
use crate::host_env::Platform;

/// Variables that programs need and that are not secret.
const SAFE_VARIABLES: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// The same for Windows.
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

/// The search path of a server without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A child's complete environment; the last of several values for a name counts.
pub(super) type Environment = Vec<(OsString, OsString)>;

/// The inherited part of a child's environment.
pub(super) fn inherited(inherit: InheritEnv, scope: &Scope) -> Environment {
    if inherit == InheritEnv::None {
        return Environment::new();
    }
    let platform = scope.host_env.platform();
    let is_safe = |name: &OsStr| match platform {
        Platform::Windows => SAFE_ON_WINDOWS.iter().any(|safe| name.eq_ignore_ascii_case(safe)),
        Platform::Linux | Platform::Macos => SAFE_VARIABLES.iter().any(|safe| name == *safe),
    };
    let all = scope.host_env.vars().into_iter();
    all.filter(|(name, _)| inherit == InheritEnv::All || is_safe(name)).collect()
}

/// Finds a program without a path by the server's own `PATH`. Relative entries start at `base`, and are skipped without
/// one.
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
