//! Owns writing results that are too long for a model to files, one for each, readable by the user only. The files are
//! for the agent that is told about them, and are removed after a day when another one is written. Best effort: disk
//! errors are only warnings.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;

use super::wrap::reduced;
use crate::ownership::{User, temporary_directory_name};
use crate::sync::lock;

const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Old files are looked for at most this often.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
const PREFIX: &str = "result-";
const SUFFIX: &str = ".txt";

/// What happens to the full text of a result that is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Spill {
    /// It is only in the raw result.
    #[default]
    None,
    /// It is written to a file that only the user can read, and the notice names the file. Files are removed after a
    /// day.
    File,
}

/// The directory of spilled texts.
pub(crate) struct SpillDir {
    dir: PathBuf,
    swept: Mutex<Option<Instant>>,
}

impl SpillDir {
    /// In the cache directory, or in the system's temporary directory where there is none.
    pub(crate) fn beside(cache: Option<&Path>) -> SpillDir {
        let temporary = || std::env::temp_dir().join(temporary_directory_name());
        let dir = cache.map_or_else(temporary, |dir| dir.join("results"));
        SpillDir { dir, swept: Mutex::default() }
    }

    /// Writes the text to a file; returns its path.
    pub(super) fn spill(&self, server: &str, tool: &str, text: &str) -> Option<String> {
        match self.write(tool, text) {
            Ok(path) => Some(path.display().to_string()),
            Err(error) => {
                let dir = self.dir.display();
                tracing::warn!(server, tool, %dir, "cannot keep the whole of a result: {error}");
                None
            }
        }
    }

    fn write(&self, tool: &str, text: &str) -> io::Result<PathBuf> {
        User::current().own_directory(&self.dir)?;
        self.remove_old_files();
        let tool: String = reduced(tool).chars().take(40).collect();
        // Created exclusively, private, with an unpredictable name; removed if it cannot be written completely.
        let mut file = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{tool}-"))
            .suffix(SUFFIX)
            .rand_bytes(22)
            .tempfile_in(&self.dir)?;
        file.write_all(text.as_bytes())?;
        Ok(file.keep()?.1)
    }

    fn remove_old_files(&self) {
        {
            let mut swept = lock(&self.swept);
            if swept.is_some_and(|at| at.elapsed() < SWEEP_EVERY) {
                return;
            }
            *swept = Some(Instant::now());
        }
        let Ok(files) = std::fs::read_dir(&self.dir) else { return };
        for file in files.flatten() {
            let name = file.file_name();
            let ours =
                name.to_str().is_some_and(|it| it.starts_with(PREFIX) && it.ends_with(SUFFIX));
            let modified = file.metadata().ok().and_then(|about| about.modified().ok());
            let age = modified.and_then(|at| SystemTime::now().duration_since(at).ok());
            if ours && age.is_some_and(|age| age > MAX_AGE) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn spill_dir() -> (tempfile::TempDir, SpillDir) {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("deep/results");
        (home, SpillDir { dir, swept: Mutex::default() })
    }

    #[test]
    fn the_whole_is_kept_for_its_owner_only() {
        let (_home, spill_dir) = spill_dir();
        let path = PathBuf::from(spill_dir.spill("s", "../a b\n", "text").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(path.parent().unwrap(), spill_dir.dir);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(&spill_dir.dir)), (0o600, 0o700));
        assert_ne!(spill_dir.spill("s", "t", "text"), spill_dir.spill("s", "t", "text"));
    }

    #[test]
    fn a_directory_that_others_could_read_is_closed() {
        let (_home, spill_dir) = spill_dir();
        std::fs::create_dir_all(&spill_dir.dir).unwrap();
        std::fs::set_permissions(&spill_dir.dir, std::fs::Permissions::from_mode(0o755)).unwrap();
        spill_dir.spill("s", "t", "text").unwrap();
        assert_eq!(std::fs::metadata(&spill_dir.dir).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_link_is_not_followed_and_a_bad_disk_costs_only_the_file() {
        let (home, spill_dir) = spill_dir();
        std::fs::create_dir_all(spill_dir.dir.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(home.path(), &spill_dir.dir).unwrap();
        assert_eq!(spill_dir.spill("s", "t", "text"), None);
        let spill_dir = SpillDir { dir: "/proc/none/x".into(), swept: Mutex::default() };
        assert_eq!(spill_dir.spill("s", "t", "text"), None);
    }

    #[test]
    fn nothing_is_put_where_others_could_change_what_the_path_leads_to() {
        let (_home, spill_dir) = spill_dir();
        spill_dir.spill("s", "t", "text").unwrap();
        let above = spill_dir.dir.parent().unwrap();
        std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(spill_dir.spill("s", "t", "text"), None);
        std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(spill_dir.spill("s", "t", "text").is_some());
    }

    #[test]
    fn old_files_of_ours_go() {
        let (_home, spill_dir) = spill_dir();
        let old = PathBuf::from(spill_dir.spill("s", "t", "old").unwrap());
        let other = spill_dir.dir.join("other.txt");
        std::fs::write(&other, "").unwrap();
        for path in [&old, &other] {
            let long_ago = SystemTime::now() - 2 * MAX_AGE;
            File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
        let again = SpillDir { dir: spill_dir.dir.clone(), swept: Mutex::default() };
        let fresh = PathBuf::from(again.spill("s", "t", "new").unwrap());
        assert!(!old.exists() && other.exists() && fresh.exists());
    }
}
