//! Owns which definitions of a project may start programs: the user's word, kept with the fingerprint of what was seen.
//! Invariant: a definition that changed is a definition that nobody has trusted.

use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::catalog::did_you_mean;
use crate::config::{Level, physical};
use crate::discover::{DiscoverOptions, discover};
use crate::error::{Error, ErrorKind, Result};
use crate::surroundings::Surroundings;

mod request;
mod store;

pub use request::TrustRequest;
pub(crate) use store::Store;

/// The file, the directory that holds it, and two more up to the project's: no product keeps its file deeper.
const DEPTH: usize = 4;

/// Who decides whether a project's definition may start a program.
#[derive(Clone, Default)]
pub enum Trust {
    /// The user, by `mcpool trust`.
    #[default]
    Stored,
    /// Every definition is trusted.
    All,
    /// No definition is trusted, whatever is stored.
    None,
    /// The store, and for what it does not know this function.
    Ask(TrustCallback),
}

/// Answers whether a definition is trusted, for the manager that asks.
pub type TrustCallback =
    Arc<dyn Fn(TrustQuestion) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// A definition that nobody has trusted yet.
#[derive(Clone, Debug, Serialize)]
pub struct TrustQuestion {
    /// The server.
    pub server: String,
    /// The file that declares it.
    pub path: String,
    /// The fingerprint of the definition.
    pub fingerprint: String,
    /// The definition, with stars for what may be secret.
    pub definition: Value,
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

/// Trusts what a project's config file declares now, or what all files of a project's directory do; gives what is
/// trusted. With names, only these; no names at all are nobody.
pub fn trust(
    path: &Path,
    only: Option<&[String]>,
    surroundings: &Surroundings,
) -> Result<Vec<Trusted>> {
    let mut found = project_servers(path, surroundings)?;
    let mut names = only.unwrap_or_default().iter();
    if let Some(name) = names.find(|name| !found.iter().any(|one| one.server == **name)) {
        let text = format!("{} declares no server \"{name}\" that can be trusted", path.display());
        let similar = did_you_mean(name, found.iter().map(|one| one.server.as_str()));
        let error = Error::new(ErrorKind::ServerNotFound, text).with_server(name);
        return Err(match similar {
            Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")),
            None => error,
        });
    }
    found.retain(|one| only.is_none_or(|only| only.contains(&one.server)));
    Store::change(surroundings, |store| store.add(&found))?;
    Ok(found)
}

/// Takes trust in a file's definitions back, or in those of all files below a directory; gives what was trusted. With
/// names, only these; no names at all are nobody.
pub fn untrust(
    path: &Path,
    only: Option<&[String]>,
    surroundings: &Surroundings,
) -> Result<Vec<Trusted>> {
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
    Store::change(surroundings, |store| taken = store.take(is_meant))?;
    Ok(taken)
}

/// Everything that the user trusts.
pub fn trusted(surroundings: &Surroundings) -> Result<Vec<Trusted>> {
    Ok(Store::load(surroundings)?.all())
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

/// The definitions that discovery finds at this place and that ask for trust.
fn project_servers(path: &Path, surroundings: &Surroundings) -> Result<Vec<Trusted>> {
    let wanted = named(path);
    if !wanted.exists() {
        let text = format!("{} does not exist", path.display());
        return Err(Error::new(ErrorKind::ConfigIo, text));
    }
    let is_meant = |file: &str| {
        let file = Path::new(file);
        file == wanted || (wanted.is_dir() && file.starts_with(&wanted))
    };
    // From above: in the directory of a product's file, another product may take it for its own.
    let above: Vec<&Path> = wanted.ancestors().take(DEPTH).collect();
    for directory in above.into_iter().rev().filter(|directory| directory.is_dir()) {
        let look = |providers| {
            let (cwd, surroundings) = (Some(directory.to_owned()), surroundings.clone());
            discover(&DiscoverOptions { cwd, providers, surroundings, ..Default::default() })
        };
        let everything = look(Vec::new());
        let files = everything.files.into_iter();
        let files: Vec<_> = files.filter(|file| is_meant(&file.path)).collect();
        if files.iter().all(|file| file.level != Level::Project) {
            continue;
        }
        if let Some(problem) = files.iter().find_map(|file| file.problem.clone()) {
            return Err(Error::new(ErrorKind::ConfigInvalid, problem));
        }
        // One product at a time: what others shadow today may come to light tomorrow.
        let mut found = Vec::new();
        for file in files.iter().filter(|file| file.level == Level::Project) {
            for (server, declared) in look(vec![file.provider.clone()]).config.servers {
                let here = declared.source.path.as_ref().is_some_and(|path| *path == file.path);
                if let (true, Ok(config)) = (here, &declared.config) {
                    let place = place_of(Path::new(&file.path), directory);
                    let path = place.display().to_string();
                    let one = Trusted { path, server, fingerprint: config.fingerprint() };
                    if !found.contains(&one) {
                        found.push(one);
                    }
                }
            }
        }
        return Ok(found);
    }
    let text = format!("{} is no config file of a project", path.display());
    Err(Error::new(ErrorKind::ConfigInvalid, text)
        .with_hint("name the file that \"mcpool discover\" shows, or the project's directory"))
}

#[cfg(test)]
mod tests;
