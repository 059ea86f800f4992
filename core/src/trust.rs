//! Owns what a project's definitions may do: the trust rule, and the user's decisions, stored with a fingerprint of
//! what was shown.
//! Invariant: a changed definition is not trusted.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::config::{Declared, Level, ProjectEntry, ServerConfig, Source, Subject, physical};
use crate::discover::{DiscoverOptions, Discovery, TrustView, discover_with};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::resolve::{ReferencedFile, SWITCHED_OFF, referenced_files, trust_fingerprint};
use crate::shell;
use crate::similar::did_you_mean;

mod request;
mod store;

pub use request::TrustRequest;
pub(crate) use store::Store;

/// The levels from a file up to its project's directory: no product keeps its file deeper.
const MAX_DEPTH: usize = 4;
/// The most bytes of files that are read for fingerprints in one discovery.
const MAX_READ: usize = 8 << 20;
/// The cost of each file besides its length.
const FILE_COST: usize = 4 << 10;

/// Who decides what a project's definitions may do.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Trust {
    /// The user, by `mcpool trust`. Untrusted remote servers are dialled at public addresses only.
    #[default]
    Stored,
    /// The user, by `mcpool trust`, for every server and every transport.
    Strict,
    /// Every definition is trusted.
    All,
    /// Nothing of a project is started or dialled, whatever is stored.
    None,
    /// The store, and this function for what the store does not know.
    Ask(TrustCallback),
}

/// Answers whether a definition is trusted, for the manager that asks.
pub type TrustCallback =
    Arc<dyn Fn(TrustQuestion) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

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
    stored_path: PathBuf,
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
    /// Where it is.
    pub path: String,
    /// Its content; `None` if it cannot be read or must not be shown.
    pub text: Option<String>,
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
    pub(crate) fn of(entry: &ProjectEntry) -> TrustQuestion {
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
            QuestionFile { path: physical.display().to_string(), text, outside }
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

fn fingerprint_of(config: &ServerConfig, files: &[ReferencedFile]) -> String {
    let off = if config.enabled { "" } else { SWITCHED_OFF };
    format!("{off}{}", trust_fingerprint(config, files))
}

/// A trusted definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Trusted {
    /// The file that declares it.
    pub path: String,
    /// The server.
    pub server: String,
    /// The fingerprint of the definition.
    pub fingerprint: String,
}

/// What may be done with a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Everything: the user wrote or trusts it.
    Full,
    /// Only dialled, at public addresses, without the user's values and without running its commands.
    Restricted,
    /// Neither started nor dialled.
    Refused,
}

/// The trust rule: what may be done with a definition, given the policy and whether the user trusts it. Every start,
/// dial and display asks here.
pub(crate) fn permit(policy: &Trust, trusted: bool, declared: &Declared) -> Permit {
    if declared.source.level != Level::Project {
        return Permit::Full;
    }
    match policy {
        Trust::All => return Permit::Full,
        Trust::None => return Permit::Refused,
        Trust::Stored | Trust::Strict | Trust::Ask(_) if trusted => return Permit::Full,
        Trust::Strict => return Permit::Refused,
        Trust::Stored | Trust::Ask(_) => {}
    }
    match &declared.config {
        Ok(config) if config.transport.remote().is_some() => Permit::Restricted,
        Ok(_) | Err(_) => Permit::Refused,
    }
}

#[cfg(feature = "cli")]
/// What the stored trust permits for a declared server, as of discovery.
pub(crate) fn stored_permit(config: &crate::config::Config, declared: &Declared) -> Permit {
    let is_it = |entry: &&ProjectEntry| Some(&entry.subject) == declared.subject.as_ref();
    let trusted = config.project.iter().find(is_it).is_some_and(|entry| entry.trusted);
    permit(&Trust::Stored, trusted, declared)
}

/// The error for a server that is not started or dialled.
pub(crate) fn untrusted(subject: &Subject, config: Option<&ServerConfig>) -> Error {
    let Subject { path, server, .. } = subject;
    let text = match config {
        Some(config) if config.transport.is_stdio() => {
            format!("Refused to start stdio server \"{server}\" because {path} is not trusted")
        }
        _ => format!("Refused to use server \"{server}\" because {path} is not trusted"),
    };
    Error::new(ErrorKind::Untrusted, text)
        .with_server(server)
        .with_hint(format!("mcpool trust {}", shell::path(path)))
}

/// Computes fingerprints within a read limit: a file may declare thousands of servers that each bring a large file.
/// Beyond the limit, the fingerprint matches nothing.
#[derive(Default)]
pub(crate) struct Fingerprints {
    read: Cell<usize>,
}

impl Fingerprints {
    pub(crate) fn compute(&self, config: &ServerConfig) -> String {
        if self.read.get() > MAX_READ {
            return format!("not read: {}", config.fingerprint());
        }
        let files = referenced_files(config);
        let read = |file: &ReferencedFile| FILE_COST + file.text.as_ref().map_or(0, String::len);
        self.read.set(self.read.get() + files.iter().map(read).sum::<usize>());
        fingerprint_of(config, &files)
    }
}

/// The user's stored trust.
pub(crate) struct StoredTrust {
    store: Store,
    fingerprints: Fingerprints,
}

impl StoredTrust {
    /// An unreadable store trusts nothing; the error says why.
    pub(crate) fn load(host_env: &HostEnv) -> (StoredTrust, Option<Error>) {
        let (store, problem) = match Store::load(host_env) {
            Ok(store) => (store, None),
            Err(error) => (Store::default(), Some(error)),
        };
        (StoredTrust { store, fingerprints: Fingerprints::default() }, problem)
    }
}

impl TrustView for StoredTrust {
    fn fingerprint(&self, config: &ServerConfig) -> String {
        self.fingerprints.compute(config)
    }

    fn trusts(&self, subject: &Subject) -> bool {
        let stored_path = stored_path(Path::new(&subject.path), &subject.project);
        self.store.trusts(&stored_path, &subject.server, &subject.fingerprint)
    }
}

/// Finds the servers configured on this machine. Reads files, starts nothing, never fails as a whole. A project's
/// entries count as far as the user trusts them.
pub fn discover(options: &DiscoverOptions) -> Discovery {
    let (stored, problem) = StoredTrust::load(&options.host_env);
    let mut found = discover_with(options, &stored);
    found.config.warnings.extend(problem.map(|error| error.message().to_owned()));
    found
}

/// Everything that a project's config file, or all files of a project's directory, declare now and that can be trusted,
/// including what is trusted already.
pub fn questions(path: &Path, host_env: &HostEnv) -> Result<Vec<TrustQuestion>> {
    Ok(project_entries(path, host_env)?.iter().map(TrustQuestion::of).collect())
}

/// Trusts what a project's config file, or all files of a project's directory, declare now; returns what is trusted.
/// `servers` limits it to these names; an empty list means none.
pub fn trust(path: &Path, only: Option<&[String]>, host_env: &HostEnv) -> Result<Vec<Trusted>> {
    let questions = questions(path, host_env)?;
    trust_these(&select_questions(path, questions, only)?, host_env)
}

/// The questions about the named servers; all if no names are given.
pub(crate) fn select_questions(
    path: &Path,
    mut questions: Vec<TrustQuestion>,
    only: Option<&[String]>,
) -> Result<Vec<TrustQuestion>> {
    let mut names = only.unwrap_or_default().iter();
    if let Some(name) = names.find(|name| !questions.iter().any(|one| one.server == **name)) {
        let text = format!("{} declares no server \"{name}\" that can be trusted", path.display());
        let similar = did_you_mean(name, questions.iter().map(|one| one.server.as_str()));
        let error = Error::new(ErrorKind::ServerNotFound, text).with_server(name);
        return Err(match similar {
            Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")),
            None => error,
        });
    }
    questions.retain(|one| only.is_none_or(|only| only.contains(&one.server)));
    Ok(questions)
}

/// Trusts exactly what the questions show: the files are not read again.
pub fn trust_these(questions: &[TrustQuestion], host_env: &HostEnv) -> Result<Vec<Trusted>> {
    let trusted = questions.iter().map(|question| Trusted {
        path: question.stored_path.display().to_string(),
        server: question.server.clone(),
        fingerprint: question.fingerprint.clone(),
    });
    let trusted: Vec<Trusted> = trusted.collect();
    Store::change(host_env, |store| store.add(&trusted))?;
    Ok(trusted)
}

/// Revokes trust in a file's definitions, or in those of all files below a directory; returns what was trusted.
/// `servers` limits it to these names; an empty list means none.
pub fn untrust(path: &Path, only: Option<&[String]>, host_env: &HostEnv) -> Result<Vec<Trusted>> {
    let path = &user_path(path);
    // Any ancestor may be the project's directory; for a file, start at its parent.
    let projects = path.ancestors().take(MAX_DEPTH).skip(usize::from(!path.is_dir()));
    let places: Vec<PathBuf> = projects.map(|project| stored_path(path, project)).collect();
    let is_meant = |one: &Trusted| {
        let file = Path::new(&one.path);
        let is_there = places.iter().any(|stored_path| file.starts_with(stored_path));
        is_there && only.is_none_or(|only| only.contains(&one.server))
    };
    let mut taken = Vec::new();
    Store::change(host_env, |store| taken = store.take(is_meant))?;
    Ok(taken)
}

/// Everything that the user trusts.
pub fn trusted(host_env: &HostEnv) -> Result<Vec<Trusted>> {
    Ok(Store::load(host_env)?.all())
}

/// The location of a project's file. Links on the way to the project are resolved, links inside it are not: a link to
/// another project's file is a file of this project, and the same text means something else here.
pub(crate) fn stored_path(file: &Path, project: &Path) -> PathBuf {
    match file.strip_prefix(project) {
        Ok(inside) => physical(project).join(inside),
        Err(_) => physical(file),
    }
}

/// The absolute path that the user names, unresolved where that is unambiguous.
fn user_path(path: &Path) -> PathBuf {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    match std::path::absolute(path) {
        Ok(absolute) if !goes_up => absolute,
        _ => physical(path),
    }
}

/// The entries that discovery finds in the project's files at this path.
fn project_entries(path: &Path, host_env: &HostEnv) -> Result<Vec<ProjectEntry>> {
    let wanted = user_path(path);
    if !wanted.exists() {
        let text = format!("{} does not exist", path.display());
        return Err(Error::new(ErrorKind::ConfigIo, text)
            .with_hint("\"mcpool discover\" shows the files that are there"));
    }
    let is_meant = |file: &str| {
        let file = Path::new(file);
        file == wanted || (wanted.is_dir() && file.starts_with(&wanted))
    };
    // From the top: seen from inside a product's directory, another product may claim the file.
    let above: Vec<&Path> = wanted.ancestors().take(MAX_DEPTH).collect();
    for directory in above.into_iter().rev().filter(|directory| directory.is_dir()) {
        let (cwd, host_env) = (Some(directory.to_owned()), host_env.clone());
        let found = discover(&DiscoverOptions { cwd, host_env, ..Default::default() });
        let files = found.files.into_iter();
        let mut files = files.filter(|file| file.level == Level::Project && is_meant(&file.path));
        let Some(first) = files.next() else { continue };
        // For a directory, one bad file does not affect the others.
        if let Some(problem) = first.problem.filter(|_| !wanted.is_dir()) {
            return Err(Error::new(ErrorKind::ConfigInvalid, problem));
        }
        let mut entries = found.config.project;
        entries.retain(|entry| entry.source.path.as_deref().is_some_and(is_meant));
        return Ok(entries);
    }
    let text = format!("{} is no config file of a project", path.display());
    Err(Error::new(ErrorKind::ConfigInvalid, text)
        .with_hint("name the file that \"mcpool discover\" shows, or the project's directory"))
}

#[cfg(test)]
mod tests;
