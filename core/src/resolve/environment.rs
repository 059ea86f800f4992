//! Owns a child's environment, and finding its program by that environment.
//! Invariant: servers do not see each other's variables; each environment is built from scratch.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::config::{InheritEnv, Scope};
use crate::file_system::is_executable;
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

/// The search path of a server without a `PATH`. On Windows no directory is known to have servers.
const DEFAULT_PATH: Option<&str> =
    if cfg!(windows) { None } else { Some("/usr/local/bin:/usr/bin:/bin") };

/// The kinds of programs that Windows starts, in the order of a server without a `PATHEXT`.
const STARTABLE_ON_WINDOWS: &[&str] = &[".COM", ".EXE", ".BAT", ".CMD"];

/// A child's complete environment; the last of several values for a name counts.
pub(super) type Environment = Vec<(OsString, OsString)>;

fn is_same_name(one: &OsStr, other: &OsStr, platform: Platform) -> bool {
    match platform {
        Platform::Windows => one.eq_ignore_ascii_case(other),
        Platform::Linux | Platform::Macos => one == other,
    }
}

fn value_of<'e>(env: &'e Environment, name: &str, platform: Platform) -> Option<&'e OsStr> {
    let is_it = |(other, _): &&(OsString, OsString)| is_same_name(other, name.as_ref(), platform);
    env.iter().rev().find(is_it).map(|(_, value)| value.as_os_str())
}

/// Leaves only the last value of each name. On Windows `Path` and `PATH` are the same name.
pub(super) fn without_earlier_values(env: Environment, platform: Platform) -> Environment {
    let mut kept = Environment::with_capacity(env.len());
    for (name, value) in env {
        kept.retain(|(other, _)| !is_same_name(other, &name, platform));
        kept.push((name, value));
    }
    kept
}

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
    platform: Platform,
) -> Option<PathBuf> {
    let path = value_of(env, "PATH", platform).or(DEFAULT_PATH.map(OsStr::new))?;
    std::env::split_paths(path)
        .filter_map(|directory| match base {
            Some(base) => Some(base.join(directory)),
            None => Some(directory).filter(|directory| directory.is_absolute()),
        })
        .find_map(|directory| find_file(directory.join(command), env, platform))
}

/// The program at this path. On Windows, `npx` may mean `npx.cmd`.
pub(super) fn find_file(path: PathBuf, env: &Environment, platform: Platform) -> Option<PathBuf> {
    let names = match platform {
        Platform::Windows => with_extensions(path, env),
        Platform::Linux | Platform::Macos => vec![path],
    };
    names.into_iter().find(|file| is_executable(file))
}

/// The path with each kind of program, those that `PATHEXT` lists first; alone if it has one already. A file without any
/// is a script for another system, as the `npx` beside `npx.cmd`.
fn with_extensions(path: PathBuf, env: &Environment) -> Vec<PathBuf> {
    let is_startable =
        |kind: &&str| STARTABLE_ON_WINDOWS.iter().any(|it| it.eq_ignore_ascii_case(kind));
    let listed = value_of(env, "PATHEXT", Platform::Windows).map(OsStr::to_string_lossy);
    let listed = listed.as_deref().unwrap_or_default().split(';').filter(is_startable);
    let kinds: Vec<&str> = listed.chain(STARTABLE_ON_WINDOWS.iter().copied()).collect();
    let own = path.extension().map(|own| format!(".{}", own.to_string_lossy()));
    if own.is_some_and(|own| is_startable(&own.as_str())) {
        return vec![path];
    }
    let with = |kind: &&str| {
        let mut name = path.clone().into_os_string();
        name.push(kind);
        PathBuf::from(name)
    };
    kinds.iter().map(with).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

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
        let find = |env, base| find_program("tool", env, base, Platform::Linux);
        assert_eq!(find(&env, Some(directory.path())).unwrap(), program);
        assert_eq!(find(&env, None), None);
        assert_eq!(find(&Vec::new(), Some(directory.path())), None);
    }

    #[test]
    fn on_windows_a_program_is_found_by_the_extensions_that_can_be_started() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["npx", "npx.CMD", "tool.js", "tool.EXE", "both.EXE", "both.CMD"] {
            let file = directory.path().join(name);
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        let find = |command: &str, kinds: &str| {
            let env =
                vec![("Path".into(), directory.path().into()), ("PathExt".into(), kinds.into())];
            let found = find_program(command, &env, None, Platform::Windows)?;
            Some(found.file_name()?.to_str()?.to_owned())
        };
        assert_eq!(find("npx", "").unwrap(), "npx.CMD");
        assert_eq!(find("npx.CMD", "").unwrap(), "npx.CMD");
        assert_eq!(find("tool", ".JS;.EXE").unwrap(), "tool.EXE");
        assert_eq!(find("both", "").unwrap(), "both.EXE");
        assert_eq!(find("both", ".CMD;.EXE").unwrap(), "both.CMD");
        assert_eq!(find("tool.js", ".JS"), None);
    }

    #[test]
    fn the_last_value_of_a_name_counts() {
        let env = ["Path", "A", "PATH", "A"].into_iter().zip(["1", "2", "3", "4"]);
        let env: Environment = env.map(|(name, value)| (name.into(), value.into())).collect();
        let kept = |platform| {
            let kept = without_earlier_values(env.clone(), platform).into_iter();
            kept.map(|(_, value)| value.into_string().unwrap()).collect::<String>()
        };
        assert_eq!((kept(Platform::Linux), kept(Platform::Windows)), ("134".into(), "34".into()));
    }
}
