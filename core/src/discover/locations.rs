//! Owns where a product's files are on this machine: the table's paths resolved by home, platform and variables.
//! `reading` checks which exist, except for directories, which are listed here.

use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use crate::config::own_file;
use crate::host_env::{HostEnv, Platform};
use crate::provider::{Base, FileLocation};

const EXTENSIONS: &[&str] = &["json", "jsonc", "yaml", "yml", "toml"];

/// The directories that the table's bases refer to.
pub(super) struct SearchRoots<'a> {
    pub(super) project: &'a Path,
    pub(super) host_env: &'a HostEnv,
    /// `/etc`.
    pub(super) system: &'a Path,
}

/// A file that may exist.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// The path in the platform's notation.
    pub(super) display: String,
    /// Why it cannot be read at all.
    pub(super) problem: Option<String>,
}

impl SearchRoots<'_> {
    pub(super) fn candidates(&self, location: &FileLocation) -> Vec<Candidate> {
        let bases = self.directories(location.base);
        let within = |base: Candidate| {
            let file = location.path.split('/').fold(base, |candidate, part| {
                if part == "*" { candidate } else { candidate.join(part, self.separator()) }
            });
            if location.path.ends_with("/*") { self.list_directory(file) } else { vec![file] }
        };
        bases.into_iter().flat_map(within).collect()
    }

    /// The paths to watch, existing or not; a directory of files is watched itself.
    pub(super) fn watched_paths(&self, location: &FileLocation) -> Vec<PathBuf> {
        let parts: Vec<&str> = location.path.split('/').filter(|&part| part != "*").collect();
        let bases = self.directories(location.base).into_iter();
        bases.map(|base| self.join_all(base, &parts).path).collect()
    }

    fn directories(&self, base: Base) -> Vec<Candidate> {
        let platform = self.host_env.platform();
        let home =
            |parts: &[&str]| Some(self.join_all(Candidate::at(self.host_env.home()?), parts));
        let found = match base {
            Base::Project => vec![Some(Candidate::at(self.project.to_owned()))],
            Base::Home => vec![home(&[])],
            Base::Config => vec![self.variable_directory("XDG_CONFIG_HOME"), home(&[".config"])],
            Base::AppData if platform == Platform::Windows => {
                vec![self.variable_directory("APPDATA").or_else(|| home(&["AppData", "Roaming"]))]
            }
            Base::Library if platform == Platform::Macos => {
                vec![home(&["Library", "Application Support"])]
            }
            Base::AppData | Base::Library => Vec::new(),
            Base::CodeUser => {
                let base = match platform {
                    Platform::Windows => Base::AppData,
                    Platform::Macos => Base::Library,
                    Platform::Linux => Base::Config,
                };
                let bases = self.directories(base).into_iter();
                bases.map(|base| Some(self.join_all(base, &["Code", "User"]))).collect()
            }
            Base::Env(variable) => vec![self.variable_directory(variable)],
            Base::System if platform == Platform::Windows => Vec::new(),
            Base::System => vec![Some(Candidate::at(self.system.to_owned()))],
            Base::OwnProject => {
                let project = Candidate::at(self.project.to_owned());
                vec![Some(self.join_all(project, &[own_file::PROJECT_DIRECTORY]))]
            }
            Base::OwnUser => vec![self.host_env.config_dir().map(|own| match own.parent() {
                Some(parent) => {
                    let name = own.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    self.join_all(Candidate::at(parent.to_owned()), &[&name])
                }
                None => Candidate::at(own),
            })],
        };
        let mut directories: Vec<Candidate> = found.into_iter().flatten().collect();
        directories.dedup_by(|one, other| one.path == other.path);
        directories
    }

    fn join_all(&self, base: Candidate, parts: &[&str]) -> Candidate {
        parts.iter().fold(base, |candidate, part| candidate.join(part, self.separator()))
    }

    /// The directory that a variable names; a relative path is ignored.
    fn variable_directory(&self, variable: &str) -> Option<Candidate> {
        let named = self.host_env.var(variable).map(PathBuf::from);
        named.filter(|path| path.is_absolute()).map(Candidate::at)
    }

    fn separator(&self) -> char {
        match self.host_env.platform() {
            Platform::Windows => '\\',
            Platform::Linux | Platform::Macos => '/',
        }
    }

    /// The config files of a directory, sorted by name.
    fn list_directory(&self, directory: Candidate) -> Vec<Candidate> {
        let entries = match std::fs::read_dir(&directory.path) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => {
                return Vec::new();
            }
            Err(error) => {
                let problem = format!("{} cannot be read: {}", directory.display, error.kind());
                return vec![Candidate { problem: Some(problem), ..directory }];
            }
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| {
                let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
                ending.is_some_and(|ending| EXTENSIONS.contains(&ending))
            })
            .collect();
        names.sort();
        names.iter().map(|name| directory.join(name, self.separator())).collect()
    }
}

impl Candidate {
    pub(super) fn at(path: PathBuf) -> Self {
        let display = path.display().to_string();
        Candidate { path, display, problem: None }
    }

    fn join(&self, part: &str, separator: char) -> Self {
        let display = match self.display.ends_with(separator) {
            true => format!("{}{part}", self.display),
            false => format!("{}{separator}{part}", self.display),
        };
        Candidate { path: self.path.join(part), display, problem: None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::Level;

    fn candidate_paths(
        base: Base,
        path: &'static str,
        platform: Platform,
        env: &[(&str, &str)],
    ) -> Vec<String> {
        let env: BTreeMap<String, String> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let host_env = HostEnv::new(Some(env), Some("/me".into()), Some(platform));
        let roots = SearchRoots {
            project: Path::new("/work"),
            host_env: &host_env,
            system: Path::new("/etc"),
        };
        let location = FileLocation { level: Level::User, base, path };
        roots.candidates(&location).into_iter().map(|candidate| candidate.display).collect()
    }

    #[test]
    fn each_platform_has_its_own_place_for_the_files_of_code() {
        let at = |platform, env: &[(&str, &str)]| {
            candidate_paths(Base::CodeUser, "mcp.json", platform, env)
        };
        assert_eq!(at(Platform::Linux, &[]), ["/me/.config/Code/User/mcp.json"]);
        assert_eq!(
            at(Platform::Macos, &[]),
            ["/me/Library/Application Support/Code/User/mcp.json"]
        );
        assert_eq!(
            at(Platform::Windows, &[("APPDATA", "/me/Roaming")]),
            ["/me/Roaming\\Code\\User\\mcp.json"]
        );
    }

    #[test]
    fn a_path_is_shown_as_the_platform_writes_it() {
        let windows =
            candidate_paths(Base::Home, ".kiro/settings/mcp.json", Platform::Windows, &[]);
        assert_eq!(windows, ["/me\\.kiro\\settings\\mcp.json"]);
    }

    #[test]
    fn a_variable_names_a_directory_only_when_it_is_absolute() {
        let at =
            |value| candidate_paths(Base::Env("X"), "c.toml", Platform::Linux, &[("X", value)]);
        assert_eq!(at("/x"), ["/x/c.toml"]);
        assert!(at("").is_empty() && at("x").is_empty());
    }

    #[test]
    fn the_config_directory_is_the_chosen_one_and_the_usual_one() {
        let at = |env: &[(&str, &str)]| candidate_paths(Base::Config, "a/b", Platform::Linux, env);
        assert_eq!(at(&[("XDG_CONFIG_HOME", "/x")]), ["/x/a/b", "/me/.config/a/b"]);
        assert_eq!(at(&[("XDG_CONFIG_HOME", "/me/.config")]), ["/me/.config/a/b"]);
    }

    #[test]
    fn windows_has_no_etc() {
        assert_eq!(candidate_paths(Base::System, "a", Platform::Linux, &[]), ["/etc/a"]);
        assert!(candidate_paths(Base::System, "a", Platform::Windows, &[]).is_empty());
    }
}
