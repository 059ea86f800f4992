//! Owns keeping a project's config file inside the project: a repository may contain the file, or its directory, as a
//! link to any file of the user.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::disk::{MOST_LINKS, failed};
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::LINK_LOOP;

/// The real path of the file, without links.
pub(super) fn confined(path: &Path, project: &Path) -> Result<PathBuf> {
    let place = |at: &Path| without_links(at).map_err(|error| failed(path, "found", &error));
    let home = place(project)?;
    let found = place(path)?;
    if found.starts_with(&home) {
        return Ok(found);
    }
    let is_outside = |at: &&Path| !place(at).is_ok_and(|at| at.starts_with(&home));
    // The first step that leaves the project.
    let link = path.ancestors().take_while(is_outside).last().unwrap_or(path);
    let (shown, leads) = (path.display(), place(link)?);
    let (link, leads) = (link.display(), leads.display());
    let text = format!(
        "The config file {shown} is not written: {link} leads out of the project, to {leads}"
    );
    Err(Error::new(ErrorKind::ConfigIo, text)
        .with_hint("if that is what you want, name the file that is to be changed"))
}

/// A path without links, also for a file that does not exist yet.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let path = match path.as_os_str().is_empty() {
        true => std::env::current_dir()?,
        false => std::path::absolute(path)?,
    };
    let parts = |path: &Path| path.components().map(|it| it.as_os_str().to_owned()).collect();
    let mut ahead: VecDeque<OsString> = parts(&path);
    let (mut at, mut links) = (PathBuf::new(), 0);
    while let Some(part) = ahead.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::CurDir) => continue,
            _ => at.push(&part),
        }
        if at.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::from_raw_os_error(LINK_LOOP));
            }
            let mut next: VecDeque<OsString> = parts(&std::fs::read_link(&at)?);
            at.pop();
            next.append(&mut ahead);
            ahead = next;
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_followed_as_the_system_would() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("a/b", root.join("relative")).unwrap();
        symlink(root.join("a"), root.join("absolute")).unwrap();
        symlink("absolute/../missing/c", root.join("dangling")).unwrap();
        symlink("ring", root.join("ring")).unwrap();
        let leads = |path: &str| without_links(&root.join(path)).unwrap();
        for there in ["a/b", "relative", "absolute/b", "relative/../b", "./a/b"] {
            assert_eq!(leads(there), root.join(there).canonicalize().unwrap());
        }
        assert_eq!(leads("dangling/d"), root.join("missing/c/d"));
        assert_eq!(leads("relative/new/x"), root.join("a/b/new/x"));
        let error = without_links(&root.join("ring/x")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(LINK_LOOP));
    }
}
