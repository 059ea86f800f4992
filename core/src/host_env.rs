//! Owns the host environment: variables, home directory, platform. Every lookup of one of them goes through here, so
//! that a host or a test can replace them.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::options::{Language, OptionKind, OptionValue};

/// The platform whose paths and variables are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Platform {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one we run on.
    pub fn current() -> Platform {
        if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::Macos
        } else {
            Platform::Linux
        }
    }

    /// Whether a command is a path, not a name to look for.
    pub(crate) fn is_path(self, command: &str) -> bool {
        match self {
            Platform::Windows => command.contains(['/', '\\', ':']),
            Platform::Linux | Platform::Macos => command.contains('/'),
        }
    }
}

/// Environment, home and platform: the process's own, or replacements.
#[derive(Clone, Default)]
pub struct HostEnv(Option<Arc<Injected>>);

#[derive(PartialEq, Eq, Hash)]
struct Injected {
    env: Option<BTreeMap<String, String>>,
    home: Option<PathBuf>,
    platform: Platform,
}

/// Variables hold secrets: none of them is shown.
impl fmt::Debug for HostEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_process() { "HostEnv(process)" } else { "HostEnv(***)" })
    }
}

impl Eq for HostEnv {}

impl Hash for HostEnv {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for HostEnv {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs) || ours == theirs,
            _ => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenHostEnv {
    env: Option<BTreeMap<String, String>>,
    home: Option<PathBuf>,
    platform: Option<Platform>,
}

impl From<WrittenHostEnv> for HostEnv {
    fn from(written: WrittenHostEnv) -> Self {
        HostEnv::new(written.env, written.home, written.platform)
    }
}

impl OptionValue for HostEnv {
    fn kind() -> OptionKind {
        OptionKind::Declared("HostEnv", "an object of env, home and platform")
    }

    fn read(value: Value, language: Language) -> std::result::Result<Self, String> {
        let expected = || Self::kind().expected(language);
        let written: WrittenHostEnv =
            crate::redact::from_value(value).map_err(|why| format!("{}: {why}", expected()))?;
        Ok(written.into())
    }

    fn from_value(value: &Value, language: Language) -> Option<Self> {
        Self::read(value.clone(), language).ok()
    }
}

impl HostEnv {
    /// The process's own, read when they are asked for.
    pub fn process() -> HostEnv {
        HostEnv(None)
    }

    /// Replacements; a missing part is the process's own.
    pub fn new(
        env: Option<BTreeMap<String, String>>,
        home: Option<PathBuf>,
        platform: Option<Platform>,
    ) -> HostEnv {
        let platform = platform.unwrap_or_else(Platform::current);
        HostEnv(Some(Arc::new(Injected { env, home, platform })))
    }

    /// Whether they are the process's own.
    pub(crate) fn is_process(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the variables are those of the home's user: a replaced home with the process's variables has another
    /// session than these name.
    pub(crate) fn has_own_session(&self) -> bool {
        self.0.as_ref().is_none_or(|injected| injected.env.is_some() || injected.home.is_none())
    }

    /// Reads `{"env": {…}, "home": "…", "platform": "linux"}` or null, which is the process's own.
    #[doc(hidden)]
    pub fn from_json(text: &str) -> Result<HostEnv> {
        let written: Option<WrittenHostEnv> = crate::redact::from_json(text).map_err(|why| {
            let text = format!("The host environment cannot be used: {why}");
            Error::new(ErrorKind::ConfigInvalid, text)
        })?;
        Ok(written.map(Into::into).unwrap_or_default())
    }

    /// One variable. A value that is not Unicode counts as not set. On Windows, names are not case-sensitive.
    pub fn var(&self, name: &str) -> Option<String> {
        let Some(env) = self.injected_env() else { return std::env::var(name).ok() };
        let exact = env.get(name);
        let found = exact.or_else(|| {
            let windows = self.platform() == Platform::Windows;
            env.iter().find(|(key, _)| windows && key.eq_ignore_ascii_case(name)).map(|(_, it)| it)
        });
        found.cloned()
    }

    /// All variables.
    pub fn vars(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        match self.injected_env() {
            Some(env) => env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            None => std::env::vars_os().collect(),
        }
    }

    /// The user's home.
    pub fn home(&self) -> Option<PathBuf> {
        if let Some(home) = self.0.as_ref().and_then(|injected| injected.home.clone()) {
            return Some(home);
        }
        let variable = match self.platform() {
            Platform::Windows => "USERPROFILE",
            Platform::Linux | Platform::Macos => "HOME",
        };
        let named = self.var(variable).filter(|home| !home.is_empty()).map(PathBuf::from);
        named.or_else(|| etcetera::home_dir().ok())
    }

    /// The platform whose paths count.
    pub fn platform(&self) -> Platform {
        self.0.as_ref().map_or_else(Platform::current, |injected| injected.platform)
    }

    /// The directory of our own files: `mcp.json` and the list of trusted sources.
    pub fn config_dir(&self) -> Option<PathBuf> {
        let chosen = |variable: &str| {
            self.var(variable).map(PathBuf::from).filter(|directory| directory.is_absolute())
        };
        let base = match self.platform() {
            Platform::Windows => {
                let named = self.var("APPDATA").filter(|it| !it.is_empty()).map(PathBuf::from);
                named.or_else(|| Some(self.home()?.join("AppData").join("Roaming")))
            }
            Platform::Linux | Platform::Macos => {
                chosen("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
            }
        };
        base.map(|base| base.join(Path::new("mcpool")))
    }

    fn injected_env(&self) -> Option<&BTreeMap<String, String>> {
        self.0.as_ref().and_then(|injected| injected.env.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_a_name() {
        let is_path = |command| [Platform::Linux, Platform::Windows].map(|it| it.is_path(command));
        assert_eq!(is_path("npx"), [false, false]);
        assert_eq!(is_path("bin/npx"), [true, true]);
        assert_eq!(is_path("bin\\npx"), [false, true]);
        assert_eq!(is_path("C:npx"), [false, true]);
    }
}
