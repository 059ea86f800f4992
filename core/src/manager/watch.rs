//! Owns watching config files for changes, including files that do not exist yet.
//! Invariant: our own writes are ignored; a burst of writes is one change; a file that is missing only briefly is not
//! removed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::Inner;
use crate::clock::Clock;
use crate::config::own_writes;
use crate::descriptors::check_room_for;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system;
use crate::runtime;
use crate::subscribers::{Subscriber, log_event};
use crate::sync::lock;

/// Writes within this time are one change.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// A file that keeps changing is read after this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// A file that is missing for less than this is being replaced by an editor or by version control.
const GONE: Duration = Duration::from_secs(2);

/// Watches config files until it is dropped.
pub(super) struct Watch {
    follower: AbortHandle,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// The files, and the directories in which they are watched.
struct FileWatcher {
    files: Vec<PathBuf>,
    /// The files that existed at the last read.
    present: Mutex<HashSet<PathBuf>>,
    watcher: Mutex<(RecommendedWatcher, HashSet<PathBuf>)>,
}

impl Watch {
    pub(super) fn new(files: Vec<PathBuf>, clock: Clock, manager: Weak<Inner>) -> Result<Watch> {
        let cannot = |error: notify::Error| {
            let which = match &files[..] {
                [file] => format!("The config file {}", file.display()),
                _ => "The config files".to_owned(),
            };
            Error::new(ErrorKind::ConfigIo, format!("{which} cannot be watched: {error}"))
        };
        runtime::start()?;
        check_room_for("watching config files")?;
        let (tell, changes) = mpsc::unbounded_channel();
        let files = with_targets(&files);
        let watched = files.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if event.kind.is_access() {
                return;
            }
            for path in event.paths {
                // Includes the directory of a file that appears or disappears, and files in a directory that is watched
                // as a whole.
                let concerns =
                    |file: &PathBuf| file.starts_with(&path) || path.parent() == Some(file);
                if watched.iter().any(concerns) {
                    let _ = tell.send(path);
                }
            }
        })
        .map_err(cannot)?;
        let watcher = Mutex::new((watcher, HashSet::new()));
        let file_watcher = FileWatcher { files, present: Mutex::default(), watcher };
        file_watcher.note_present();
        file_watcher.arm().map_err(cannot)?;
        let following = follow(Arc::new(file_watcher), changes, clock, manager);
        let follower = runtime::spawn(following).abort_handle();
        Ok(Watch { follower })
    }
}

/// The target of a symbolic link is watched too. macOS reports the physical path of a directory, so a file is also known
/// by that one.
fn with_targets(files: &[PathBuf]) -> Vec<PathBuf> {
    let targets = files.iter().filter_map(|file| file_system::canonicalize(file).ok());
    let physical = files.iter().filter_map(|file| in_physical_directory(file));
    let mut all: Vec<PathBuf> = files.iter().cloned().chain(targets).chain(physical).collect();
    all.sort();
    all.dedup();
    all
}

/// The file below the physical path of its nearest directory that exists.
fn in_physical_directory(file: &Path) -> Option<PathBuf> {
    let directory = file.ancestors().skip(1).find(|directory| directory.is_dir())?;
    Some(file_system::canonicalize(directory).ok()?.join(file.strip_prefix(directory).ok()?))
}

impl FileWatcher {
    fn note_present(&self) {
        let present = self.files.iter().filter(|file| file.exists()).cloned();
        *lock(&self.present) = present.collect();
    }

    fn misses_one(&self) -> bool {
        lock(&self.present).iter().any(|file| !file.exists())
    }

    /// Watches the directory of every file, because editors replace a file by renaming another one onto it. If the
    /// directory does not exist yet, the nearest existing parent is watched.
    fn arm(&self) -> Result<(), notify::Error> {
        let mut guard = lock(&self.watcher);
        let (watcher, armed) = &mut *guard;
        let mut wanted = HashSet::new();
        for file in &self.files {
            let above = file.ancestors().skip(1).find(|directory| directory.is_dir());
            wanted.extend(above.map(Path::to_owned));
            if file.is_dir() {
                wanted.insert(file.clone());
            }
        }
        armed.retain(|directory| directory.is_dir());
        let mut outcome = Ok(());
        for directory in wanted {
            if armed.contains(&directory) {
                continue;
            }
            match watcher.watch(&directory, RecursiveMode::NonRecursive) {
                Ok(()) => drop(armed.insert(directory)),
                Err(error) => outcome = Err(error),
            }
        }
        // One unreadable directory does not affect the others.
        if armed.is_empty() { outcome } else { Ok(()) }
    }
}

async fn follow(
    file_watcher: Arc<FileWatcher>,
    mut changes: mpsc::UnboundedReceiver<PathBuf>,
    clock: Clock,
    manager: Weak<Inner>,
) {
    while let Some(path) = changes.recv().await {
        let mut changed = HashSet::from([path]);
        settle(&mut changes, &mut changed).await;
        let until = clock.now() + GONE;
        while misses_one(&file_watcher).await {
            tokio::select! {
                path = changes.recv() => changed.extend(path),
                () = clock.sleep_until(until) => break,
            }
            settle(&mut changes, &mut changed).await;
        }
        let seen = file_watcher.clone();
        let only_ours = runtime::handle().spawn_blocking(move || {
            let _ = seen.arm();
            changed.iter().all(|path| own_writes::is_own_write(path))
        });
        if only_ours.await.unwrap_or(false) {
            continue;
        }
        let Some(manager) = manager.upgrade() else { return };
        // Recorded before the read, so that a file removed during it is noticed the next time.
        let seen = file_watcher.clone();
        let _ = runtime::handle().spawn_blocking(move || seen.note_present()).await;
        if let Err(error) = manager.read_again().await {
            tracing::warn!("the config was not reloaded: {error}");
            let line = format!("the config was not reloaded: {}", error.message());
            manager.sink.emit("", log_event("warning", &line));
        }
    }
}

/// Collects further changes until there is a pause.
async fn settle(changes: &mut mpsc::UnboundedReceiver<PathBuf>, changed: &mut HashSet<PathBuf>) {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until
        && let Ok(Some(path)) = timeout(DEBOUNCE, changes.recv()).await
    {
        changed.insert(path);
    }
}

async fn misses_one(file_watcher: &Arc<FileWatcher>) -> bool {
    let file_watcher = file_watcher.clone();
    runtime::handle().spawn_blocking(move || file_watcher.misses_one()).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use crate::config::own_writes;
    use crate::manager::{CacheDir, Manager, ManagerOptions};
    use crate::runtime;

    fn text(server: &str) -> String {
        format!("{{\"mcpServers\": {{\"{server}\": {{\"command\": \"x\", \"enabled\": false}}}}}}")
    }

    fn replace(file: &Path, text: &str) {
        let fresh = file.with_extension("new");
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(fresh, file).unwrap();
    }

    async fn names(manager: &Manager, wanted: &str) -> bool {
        for _ in 0..1000 {
            if manager.status().iter().any(|status| status.name == wanted) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    }

    #[test]
    fn files_are_known_by_their_physical_paths_too() {
        let directory = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(directory.path()).unwrap();
        let (link, physical) = (base.join("link"), base.join("physical"));
        std::fs::create_dir(&physical).unwrap();
        std::fs::write(physical.join("target"), "").unwrap();
        std::os::unix::fs::symlink(&physical, &link).unwrap();
        std::os::unix::fs::symlink("target", physical.join("file")).unwrap();
        for (file, expected) in
            [("file", &["file", "target"][..]), ("missing/file", &["missing/file"])]
        {
            let mut all = vec![link.join(file)];
            all.extend(expected.iter().map(|path| physical.join(path)));
            assert_eq!(super::with_targets(&[link.join(file)]), all);
        }
    }

    #[test]
    fn our_own_writes_are_ignored_and_those_of_others_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mcp.json");
        replace(&file, &text("a"));
        let options =
            ManagerOptions { watch: true, cache_dir: CacheDir::Off, ..ManagerOptions::default() };
        let manager = Manager::open(&file, options).unwrap();
        runtime::block_on(async {
            own_writes::record(&file, text("ours").as_bytes());
            replace(&file, &text("ours"));
            // Long enough for a reload that must not come.
            tokio::time::sleep(3 * super::DEBOUNCE).await;
            assert_eq!(manager.status()[0].name, "a");
            replace(&file, &text("theirs"));
            assert!(names(&manager, "theirs").await);
            manager.close().await;
        });
    }
}
