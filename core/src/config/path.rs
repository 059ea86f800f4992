//! Owns the forms of a path under which a file is known.

use std::path::{Component, Path, PathBuf};

use crate::file_system;

/// A canonical path of the file, also for one that does not exist.
pub(crate) fn physical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    file_system::canonicalize(&absolute).unwrap_or_else(|_| {
        match (absolute.parent().map(file_system::canonicalize), absolute.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => absolute,
        }
    })
}

/// The absolute path with its links unresolved, except where `..` makes that ambiguous. A project's link to another
/// project's file is a file of this project.
pub(crate) fn absolute_unresolved(path: &Path) -> PathBuf {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    match std::path::absolute(path) {
        Ok(absolute) if !goes_up => absolute,
        _ => physical(path),
    }
}
