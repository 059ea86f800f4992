//! Owns what a project's definitions may do: the trust rule, and the user's decisions, stored with a fingerprint of
//! what was shown.
//! Invariant: a changed definition is not trusted.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::{Level, ProjectEntry, absolute_unresolved, physical};
use crate::discover::{DiscoverOptions, Discovery, discover_with};
use crate::error::{Error, ErrorKind, Result};
use crate::host_env::HostEnv;
use crate::similar::did_you_mean;

mod permit;
mod question;
mod request;
mod store;
mod stored_trust;

#[cfg(feature = "cli")]
pub(crate) use permit::stored_permit;
pub(crate) use permit::{Permit, permit, untrusted};
pub use permit::{Trust, TrustCallback};
pub use question::{QuestionFile, Replaced, TrustQuestion};
pub use request::TrustRequest;
pub(crate) use store::Store;
pub(crate) use stored_trust::StoredTrust;

/// The levels from a file up to its project's directory: no product keeps its file deeper.
const MAX_DEPTH: usize = 4;

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
    Ok(project_entries(path, host_env)?.iter().map(TrustQuestion::from_entry).collect())
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
        let error = Error::new(ErrorKind::ServerNotFound, text).naming_server(name);
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
    let path = &absolute_unresolved(path);
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

/// The entries that discovery finds in the project's files at this path.
fn project_entries(path: &Path, host_env: &HostEnv) -> Result<Vec<ProjectEntry>> {
    let wanted = absolute_unresolved(path);
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
