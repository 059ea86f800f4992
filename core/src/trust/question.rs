//! Owns the questions about trust: a project's definition, its files, and the servers that it would replace.
//! Invariant: the fingerprint covers exactly what the question shows.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::stored_path;
use super::stored_trust::fingerprint_of;
use crate::config::{ProjectEntry, ServerConfig, Source, Subject, physical};
use crate::resolve::referenced_files;

/// A project's definition with everything that its fingerprint covers. Its `Debug` output omits what the project wrote,
/// which may be secret; use the fields to show it to a person.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct TrustQuestion {
    /// The server; empty for the file's lists of enabled and disabled servers.
    pub server: String,
    /// The file that declares it.
    pub path: String,
    /// The fingerprint of the definition and its files.
    pub fingerprint: String,
    /// The definition as the project wrote it, unredacted: it is what would be run or dialled.
    pub definition: Value,
    /// The files that become part of what is run.
    pub files: Vec<QuestionFile>,
    /// The user's servers that it would replace or disable.
    pub replaces: Vec<Replaced>,
    /// Whether the user trusts it already.
    pub trusted: bool,
    /// The file's location in the store.
    #[serde(skip)]
    pub(super) stored_path: PathBuf,
}

impl fmt::Debug for TrustQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustQuestion")
            .field("server", &self.server)
            .field("path", &self.path)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// A file that becomes part of what is run: variables, an `envFile`, or a file that a value references.
#[derive(Clone, Serialize)]
pub struct QuestionFile {
    /// Where it is: as written where variables are part of it, whose values are not shown.
    pub path: String,
    /// Its content; `None` if it cannot be read or must not be shown, as a private key.
    pub text: Option<String>,
    /// Its size in bytes, where it lies in the project and can be read.
    pub size: Option<usize>,
    /// Whether it lies outside of the project, which only names it: its content may be the user's.
    pub outside: bool,
}

/// A server of the user that a project's definition would replace or disable.
#[derive(Clone, Debug, Serialize)]
pub struct Replaced {
    /// Its name.
    pub server: String,
    /// Where it is declared.
    pub source: Source,
}

impl TrustQuestion {
    /// Reads the entry's files; blocks on the disk. The fingerprint covers exactly what was read here, so that an
    /// answer is about what was shown.
    pub(crate) fn from_entry(entry: &ProjectEntry) -> TrustQuestion {
        let subject = &entry.subject;
        let mut question = TrustQuestion::about(subject, &entry.definition, entry.config.as_ref());
        let held_back = entry.held_back.iter().flat_map(|held_back| &held_back.servers);
        question.replaces = held_back
            .map(|(server, source)| Replaced { server: server.clone(), source: source.clone() })
            .collect();
        question.trusted = entry.trusted && question.fingerprint == subject.fingerprint;
        question
    }

    /// A question about a definition that replaces nothing.
    pub(crate) fn about(
        subject: &Subject,
        definition: &Value,
        config: Option<&ServerConfig>,
    ) -> TrustQuestion {
        let files = config.map(referenced_files).unwrap_or_default();
        let fingerprint = match config {
            Some(config) => fingerprint_of(config, &files),
            None => subject.fingerprint.clone(),
        };
        let root = repository_root(subject, config);
        let shown = files.into_iter().map(|file| {
            let physical = physical(&file.path);
            let outside = !physical.starts_with(&root);
            let text = file.text.filter(|_| !outside);
            let size = text.as_ref().map(String::len);
            let text = text.filter(|_| !file.is_private);
            let path = file.as_written.unwrap_or_else(|| physical.display().to_string());
            QuestionFile { path, text, size, outside }
        });
        TrustQuestion {
            server: subject.server.clone(),
            path: subject.path.clone(),
            fingerprint,
            definition: definition.clone(),
            files: shown.collect(),
            replaces: Vec::new(),
            trusted: false,
            stored_path: stored_path(Path::new(&subject.path), &subject.project),
        }
    }

    #[cfg(feature = "cli")]
    /// Whether it is about a file's lists of enabled and disabled servers.
    pub(crate) fn is_about_lists(&self) -> bool {
        self.fingerprint.starts_with(crate::discover::LISTS)
    }
}

/// The extent of the project: the outermost repository around its directory, below the user's home.
fn repository_root(subject: &Subject, config: Option<&ServerConfig>) -> PathBuf {
    let project = physical(&subject.project);
    let home = config.and_then(|config| config.scope.host_env.home()).map(|it| physical(&it));
    let is_clone = |directory: &&Path| directory.join(".git").exists();
    let above = project
        .ancestors()
        .take_while(|directory| home.as_ref().is_none_or(|home| !home.starts_with(directory)));
    above.filter(is_clone).last().unwrap_or(&project).to_owned()
}
