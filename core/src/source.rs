//! Owns where a definition comes from. `config` and `trust` decide what follows from it.

use serde::{Deserialize, Serialize};

use crate::shell;

/// Who wrote a definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The program that uses mcpool, in code or in a file that it named.
    #[default]
    Explicit,
    /// The user, in their own files.
    User,
    /// A project, in its files, which others may have written.
    Project,
}

/// Where a definition comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Source {
    /// The product whose config it is; `file` for a file that was named, `code` for what was handed over.
    pub provider: String,
    /// The file.
    pub path: Option<String>,
    /// Who wrote it.
    pub level: Level,
}

impl Source {
    /// A definition that was handed over in code.
    pub fn code() -> Self {
        Source { provider: "code".to_owned(), path: None, level: Level::Explicit }
    }

    /// A definition in a file that was named.
    pub fn file(path: &std::path::Path) -> Self {
        let path = Some(path.display().to_string());
        Source { provider: "file".to_owned(), path, level: Level::Explicit }
    }

    /// The option with which our commands use this file, if discovery does not read it anyway.
    pub(crate) fn command_option(&self) -> String {
        let file = self.path.as_deref().filter(|_| self.level == Level::Explicit);
        file.map_or_else(String::new, |file| format!("--config {}", shell::path(file)))
    }
}
