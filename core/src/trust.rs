//! Owns what the definitions of a project may do: the rule, and the user's word, kept with the fingerprint of what was
//! shown.
//! Invariant: a definition that changed is a definition that nobody has trusted.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::config::{
    Declared, Level, ProjectEntry, ServerConfig, Source, Subject, Transport, physical,
};
use crate::discover::{DiscoverOptions, Discovery, TrustView, discover_with};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::resolve::{BroughtFile, SWITCHED_OFF, brought, trust_fingerprint};
use crate::shell;
use crate::similar::did_you_mean;

mod request;
mod store;

pub use request::TrustRequest;
pub(crate) use store::Store;

/// The file, the directory that holds it, and two more up to the project's: no product keeps its file deeper.
const DEPTH: usize = 4;
/// How much is read of all the files that a project's definitions bring, in one discovery.
const MOST_BROUGHT: usize = 8 << 20;
/// What each of them counts besides its length.
const ONE_FILE: usize = 4 << 10;

/// Who decides what a project's definitions may do.
#[derive(Clone, Default)]
pub enum Trust {
    /// The user, by `mcpool trust`. Remote servers that nobody has trusted are dialled at public addresses.
    #[default]
    Stored,
    /// The user, by `mcpool trust`, about every server, whatever its transport.
    Strict,
    /// Every definition is trusted.
    All,
    /// Nothing of a project is started or dialled, whatever is stored.
    None,
    /// The store, and for what it does not know this function.
    Ask(TrustCallback),
}

/// Answers whether a definition is trusted, for the manager that asks.
pub type TrustCallback =
    Arc<dyn Fn(TrustQuestion) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// What a project's file says and what comes with it, whole: what is trusted is what its fingerprint is made of. Printed
/// without what the project wrote, which may be a secret; whoever asks a person shows the fields.
#[derive(Clone, Serialize)]
pub struct TrustQuestion {
    /// The server; empty for the file's lists of servers that are on or off.
    pub server: String,
    /// The file that declares it.
    pub path: String,
    /// The fingerprint of the definition and of the files that it brings.
    pub fingerprint: String,
    /// The definition as the project wrote it. Nothing is starred: it is what would be run or reached.
    pub definition: Value,
    /// The files that become part of what is run.
    pub files: Vec<QuestionFile>,
    /// Servers of the user that it would replace or switch off.
    pub replaces: Vec<Replaced>,
    /// Whether the user trusts it already.
    pub trusted: bool,
    /// Where the file is, for the store.
    #[serde(skip)]
    place: PathBuf,
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

/// A file that becomes part of what is run: variables, an `envFile`, what a value refers to.
#[derive(Clone, Serialize)]
pub struct QuestionFile {
    /// Where it is.
    pub path: String,
    /// Its content; absent when it cannot be read, or is not the project's to show.
    pub text: Option<String>,
    /// Whether it lies outside of what came with the project, which only names it: its content may be the user's.
    pub outside: bool,
}

/// A server of the user that a project's definition would replace or switch off.
#[derive(Clone, Debug, Serialize)]
pub struct Replaced {
    /// Its name.
    pub server: String,
    /// Where it is declared.
    pub source: Source,
}

impl TrustQuestion {
    /// Reads the files that the entry brings; waits for the disk. The fingerprint is that of what was read here, so that
    /// what is shown is what an answer is about.
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

    /// The same for a definition that replaces nothing.
    pub(crate) fn about(
        subject: &Subject,
        definition: &Value,
        config: Option<&ServerConfig>,
    ) -> TrustQuestion {
        let files = config.map(brought).unwrap_or_default();
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
            place: place_of(Path::new(&subject.path), &subject.project),
        }
    }

    #[cfg(feature = "cli")]
    /// Whether it is about a file's lists of servers that are on or off.
    pub(crate) fn is_about_lists(&self) -> bool {
        self.fingerprint.starts_with(crate::discover::LISTS)
    }
}

/// What came with the project: the outermost repository around its directory, below the user's home.
fn repository_root(subject: &Subject, config: Option<&ServerConfig>) -> PathBuf {
    let project = physical(&subject.project);
    let home = config.and_then(|config| config.scope.host_env.home()).map(|it| physical(&it));
    let is_clone = |directory: &&Path| directory.join(".git").exists();
    let above = project
        .ancestors()
        .take_while(|directory| home.as_ref().is_none_or(|home| !home.starts_with(directory)));
    above.filter(is_clone).last().unwrap_or(&project).to_owned()
}

fn fingerprint_of(config: &ServerConfig, files: &[BroughtFile]) -> String {
    let off = if config.enabled { "" } else { SWITCHED_OFF };
    format!("{off}{}", trust_fingerprint(config, files))
}

/// A definition that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// It is dialled, at a public address, with nothing of the user, and its commands are not run.
    Restricted,
    /// It is neither started nor dialled.
    Refused,
}

/// The rule of trust: what may be done with a definition, by the policy and by whether the user trusts it. Whoever
/// starts, dials or shows a server asks here.
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
    match declared.config.as_ref().map(|config| &config.transport) {
        Ok(Transport::Http(_) | Transport::Sse(_) | Transport::WebSocket(_)) => Permit::Restricted,
        Ok(Transport::Stdio { .. }) | Err(_) => Permit::Refused,
    }
}

#[cfg(feature = "cli")]
/// What may be done with a declared server by what the user has stored, as it was when its config was found.
pub(crate) fn stored_permit(config: &crate::config::Config, declared: &Declared) -> Permit {
    let is_it = |entry: &&ProjectEntry| Some(&entry.subject) == declared.subject.as_ref();
    let trusted = config.project.iter().find(is_it).is_some_and(|entry| entry.trusted);
    permit(&Trust::Stored, trusted, declared)
}

/// Why a server is not started or dialled.
pub(crate) fn untrusted(subject: &Subject, config: Option<&ServerConfig>) -> Error {
    let Subject { path, server, .. } = subject;
    let text = match config.map(|config| &config.transport) {
        Some(Transport::Stdio { .. }) => {
            format!("Refused to start stdio server \"{server}\" because {path} is not trusted")
        }
        _ => format!("Refused to use server \"{server}\" because {path} is not trusted"),
    };
    Error::new(ErrorKind::Untrusted, text)
        .with_server(server)
        .with_hint(format!("mcpool trust {}", shell::path(path)))
}

/// Makes fingerprints, and reads no more for them than a bound: a file may declare thousands of servers that each bring
/// a large file. What is beyond it has a fingerprint that nothing is ever compared with.
#[derive(Default)]
pub(crate) struct Fingerprints {
    read: Cell<usize>,
}

impl Fingerprints {
    pub(crate) fn of(&self, config: &ServerConfig) -> String {
        if self.read.get() > MOST_BROUGHT {
            return format!("not read: {}", config.fingerprint());
        }
        let files = brought(config);
        let read = |file: &BroughtFile| ONE_FILE + file.text.as_ref().map_or(0, String::len);
        self.read.set(self.read.get() + files.iter().map(read).sum::<usize>());
        fingerprint_of(config, &files)
    }
}

/// What the user has stored.
pub(crate) struct StoredTrust {
    store: Store,
    fingerprints: Fingerprints,
}

impl StoredTrust {
    /// A store that cannot be read trusts nothing; the error says why.
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
        self.fingerprints.of(config)
    }

    fn trusts(&self, subject: &Subject) -> bool {
        let place = place_of(Path::new(&subject.path), &subject.project);
        self.store.trusts(&place, &subject.server, &subject.fingerprint)
    }
}

/// Looks for the servers that are configured on this machine. Reads files, starts nothing, never fails as a whole. What
/// a project says counts as far as the user trusts it.
pub fn discover(options: &DiscoverOptions) -> Discovery {
    let (stored, problem) = StoredTrust::load(&options.host_env);
    let mut found = discover_with(options, &stored);
    found.config.warnings.extend(problem.map(|error| error.message().to_owned()));
    found
}

/// Everything that a project's config file says now and that can be trusted, or that all files of a project's directory
/// say; trusted already or not.
pub fn questions(path: &Path, host_env: &HostEnv) -> Result<Vec<TrustQuestion>> {
    Ok(project_entries(path, host_env)?.iter().map(TrustQuestion::of).collect())
}

/// Trusts what a project's config file declares now, or what all files of a project's directory do; gives what is
/// trusted. With names, only these; no names at all are nobody.
pub fn trust(path: &Path, only: Option<&[String]>, host_env: &HostEnv) -> Result<Vec<Trusted>> {
    let questions = questions(path, host_env)?;
    trust_these(&chosen(path, questions, only)?, host_env)
}

/// Those of the named servers; all when none are named.
pub(crate) fn chosen(
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

/// Trusts what was asked about, as it was asked: the files are not read again.
pub fn trust_these(questions: &[TrustQuestion], host_env: &HostEnv) -> Result<Vec<Trusted>> {
    let trusted = questions.iter().map(|question| Trusted {
        path: question.place.display().to_string(),
        server: question.server.clone(),
        fingerprint: question.fingerprint.clone(),
    });
    let trusted: Vec<Trusted> = trusted.collect();
    Store::change(host_env, |store| store.add(&trusted))?;
    Ok(trusted)
}

/// Takes trust in a file's definitions back, or in those of all files below a directory; gives what was trusted. With
/// names, only these; no names at all are nobody.
pub fn untrust(path: &Path, only: Option<&[String]>, host_env: &HostEnv) -> Result<Vec<Trusted>> {
    let path = &named(path);
    // Any directory above may be the project's; a file is in one.
    let projects = path.ancestors().take(DEPTH).skip(usize::from(!path.is_dir()));
    let places: Vec<PathBuf> = projects.map(|project| place_of(path, project)).collect();
    let is_meant = |one: &Trusted| {
        let file = Path::new(&one.path);
        let is_there = places.iter().any(|place| file.starts_with(place));
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

/// Where a project's file is. Links on the way to the project are followed, links inside it are not: a project that
/// links to a file of another one is still itself, and nobody has trusted what the same words mean there.
pub(crate) fn place_of(file: &Path, project: &Path) -> PathBuf {
    match file.strip_prefix(project) {
        Ok(inside) => physical(project).join(inside),
        Err(_) => physical(file),
    }
}

/// The path that the user means, in the words of the user as long as these say where it is.
fn named(path: &Path) -> PathBuf {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    match std::path::absolute(path) {
        Ok(absolute) if !goes_up => absolute,
        _ => physical(path),
    }
}

/// What discovery finds in the project's files at this place.
fn project_entries(path: &Path, host_env: &HostEnv) -> Result<Vec<ProjectEntry>> {
    let wanted = named(path);
    if !wanted.exists() {
        let text = format!("{} does not exist", path.display());
        return Err(Error::new(ErrorKind::ConfigIo, text)
            .with_hint("\"mcpool discover\" shows the files that are there"));
    }
    let is_meant = |file: &str| {
        let file = Path::new(file);
        file == wanted || (wanted.is_dir() && file.starts_with(&wanted))
    };
    // From above: in the directory of a product's file, another product may take it for its own.
    let above: Vec<&Path> = wanted.ancestors().take(DEPTH).collect();
    for directory in above.into_iter().rev().filter(|directory| directory.is_dir()) {
        let (cwd, host_env) = (Some(directory.to_owned()), host_env.clone());
        let found = discover(&DiscoverOptions { cwd, host_env, ..Default::default() });
        let files = found.files.into_iter();
        let mut files = files.filter(|file| file.level == Level::Project && is_meant(&file.path));
        let Some(first) = files.next() else { continue };
        // Of a directory, one bad file is not the others' fault.
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
