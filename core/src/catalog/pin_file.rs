//! Owns the files of pins, that is what tools were when first seen: one file per server name and source, whatever the
//! definition says. Pins do not expire; when there are too many files, the least recently used go. All of it blocks; the
//! caller keeps it off the runtime.
//! Invariant: a tool without a pin gets one; only `accept` moves a pin. A file that exists but cannot be read is
//! replaced only by accepting all tools, so that damage is no way around a block. A reader sees a whole file or none.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::Cache;
use super::cache::{has_hashed_name, is_leftover, read_own, replace};
use super::drift::{MOST_KEPT, difference};
use crate::config::{Level, Source, absolute_unresolved};
use crate::directory_lock::DirectoryLock;
use crate::fork::PerProcess;
use crate::ownership::User;
use crate::redact::Mask;
use crate::sync::lock;
use crate::tool::{ServerTool, Tools};

const VERSION: u32 = 1;
/// The length of the hash of a source in the name of a file.
const HASH_DIGITS: usize = 32;
/// Per level of sources: a project's definitions never displace the user's.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 256 << 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait for another process. After that, a writer may overwrite the other's change, but never corrupts the
/// file.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What pins belong to: the name of a server, and where its definition comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PinKey {
    server: String,
    source: Source,
    kind: PinKind,
}

/// What is pinned. Skills have pins of their own, because they may have the names of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PinKind {
    Tools,
    Skills,
}

impl PinKey {
    pub(crate) fn new(server: &str, source: &Source) -> Self {
        // The same file is the same source from any working directory.
        let absolute = |path: &String| absolute_unresolved(Path::new(path)).display().to_string();
        let path = source.path.as_ref().map(absolute);
        let source = Source { path, ..source.clone() };
        PinKey { server: server.to_owned(), source, kind: PinKind::Tools }
    }

    /// The key of the same server's skills.
    pub(crate) fn of_skills(&self) -> Self {
        PinKey { kind: PinKind::Skills, ..self.clone() }
    }
}

/// The file of one key in one cache directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PinFile {
    path: PathBuf,
    key: PinKey,
}

/// How a tool was when it was first seen.
#[derive(Clone)]
pub(crate) struct Pinned {
    pub(crate) tool: Arc<ServerTool>,
    /// The fingerprint of its changed version, if a warning was given about it.
    pub(crate) warned: Option<String>,
}

impl PartialEq for Pinned {
    fn eq(&self, other: &Self) -> bool {
        self.tool.raw() == other.tool.raw() && self.warned == other.warned
    }
}

/// What earlier sessions have pinned.
pub(crate) enum StoredPins {
    /// Nothing: there is no file.
    None,
    Pins(Vec<Pinned>),
    /// Unreadable pins; the text has the file and the reason.
    Lost(String),
}

#[derive(Serialize, Deserialize)]
struct Content<'a> {
    version: u32,
    server: String,
    source: Source,
    #[serde(borrow)]
    pins: Vec<WrittenPin<'a>>,
}

#[derive(Serialize, Deserialize)]
struct WrittenPin<'a> {
    #[serde(borrow)]
    tool: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warned: Option<String>,
}

impl PinFile {
    /// `None` if nothing is stored.
    pub(crate) fn for_key(cache: &Cache, key: &PinKey) -> Option<Self> {
        let level = match key.source.level {
            Level::Explicit => "explicit",
            Level::User => "user",
            Level::Project => "project",
        };
        let mut source = serde_json::to_vec(&key.source).expect("texts are JSON");
        if key.kind == PinKind::Skills {
            source.extend_from_slice(b"skills");
        }
        let hash = format!("{:x}", Sha256::digest(source));
        let name = format!("{}-{}.json", key.server, &hash[..HASH_DIGITS]);
        let path = cache.directory()?.join("pins").join(level).join(name);
        Some(PinFile { path, key: key.clone() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn read(&self) -> StoredPins {
        match self.content() {
            Ok(pins) => StoredPins::Pins(pins),
            // If no file can be reached, nothing is known to be lost.
            Err(_) if self.path.symlink_metadata().is_err() => StoredPins::None,
            Err(error) => StoredPins::Lost(format!("{}: {error}", self.path.display())),
        }
    }

    fn content(&self) -> io::Result<Vec<Pinned>> {
        if let Some(pins) = self.path.parent().and_then(Path::parent) {
            // Also the cache directory above it: a link of another user there would lead elsewhere.
            User::current().open_directory(pins)?;
        }
        let bytes = read_own(&self.path, User::current())?;
        let content: Content<'_> = serde_json::from_slice(&bytes)?;
        if content.version != VERSION {
            return Err(io::Error::other("another version of this library wrote it"));
        }
        if content.server != self.key.server || content.source != self.key.source {
            return Err(io::Error::other("it is of another server"));
        }
        let server = self.key.server.as_str().into();
        let pins = content.pins.into_iter().map(|WrittenPin { tool, warned }| {
            let tool = ServerTool::read(&server, bytes.slice_ref(tool.get().as_bytes()));
            let tool =
                tool.map_err(|(_, problem)| io::Error::other(format!("a tool: {problem}")))?;
            Ok(Pinned { tool: Arc::new(tool), warned })
        });
        pins.collect()
    }

    /// Pins the tools of a list that have no pin yet. `warned` has the fingerprints, by raw name, of changes that were
    /// warned about.
    pub(crate) fn add(&self, listed: &[Bytes], warned: &HashMap<String, String>) {
        self.change(|earlier| {
            let pins = match earlier {
                StoredPins::Lost(_) => return None,
                StoredPins::None if listed.is_empty() => return None,
                StoredPins::None => Vec::new(),
                StoredPins::Pins(pins) => pins,
            };
            let merged = self.merged(&pins, listed, warned);
            if merged == pins {
                self.note_use();
                return None;
            }
            Some(merged)
        });
    }

    /// Accepts these entries as first seen. If the pins were lost, `all` says that these are all the tools.
    pub(crate) fn accept(&self, entries: &[(String, Bytes)], all: bool) {
        self.change(|earlier| {
            let mut pins = match earlier {
                StoredPins::Lost(why) if !all => {
                    tracing::warn!(server = self.key.server, "cannot change the pins: {why}");
                    return None;
                }
                StoredPins::None | StoredPins::Lost(_) => Vec::new(),
                StoredPins::Pins(pins) => pins,
            };
            let names = pins.iter().map(|pin| pin.tool.raw_name().to_owned());
            let places: HashMap<String, usize> = names.zip(0..).collect();
            let server = self.key.server.as_str().into();
            for (name, entry) in entries {
                let Ok(tool) = ServerTool::read(&server, entry.clone()) else { continue };
                let accepted = Pinned { tool: Arc::new(tool), warned: None };
                match places.get(name.as_str()) {
                    Some(&at) => pins[at] = accepted,
                    None => pins.push(accepted),
                }
            }
            Some(pins)
        });
    }

    fn merged(
        &self,
        pins: &[Pinned],
        listed: &[Bytes],
        warned: &HashMap<String, String>,
    ) -> Vec<Pinned> {
        let (server, mask) = (self.key.server.as_str().into(), Mask::default());
        let now = Tools::read(&server, listed.to_vec(), &mask).0;
        let known: HashSet<&str> = pins.iter().map(|pin| pin.tool.raw_name()).collect();
        let mut merged = Vec::with_capacity(pins.len().max(listed.len()));
        for pin in pins {
            let name = pin.tool.raw_name();
            let Some(tool) = now.get(name) else {
                merged.push((false, pin.clone()));
                continue;
            };
            let print = difference(&pin.tool, &mask, tool, &mask).map(|drift| drift.fingerprint);
            let was_said = |print: &String| {
                warned.get(name) == Some(print) || pin.warned.as_ref() == Some(print)
            };
            merged.push((true, Pinned { tool: pin.tool.clone(), warned: print.filter(was_said) }));
        }
        let new = now.list.iter().filter(|tool| !known.contains(tool.raw_name()));
        merged.extend(new.map(|tool| (true, Pinned { tool: tool.clone(), warned: None })));
        // Drops the newest pins of removed tools: a server must not get rid of an old pin by listing many others.
        let excess = merged.len().saturating_sub(MOST_KEPT);
        let mut spared = merged.iter().filter(|(there, _)| !there).count().saturating_sub(excess);
        merged.retain(|(there, _)| {
            let stays = *there || spared > 0;
            spared = spared.saturating_sub(usize::from(!there));
            stays
        });
        merged.into_iter().map(|(_, pin)| pin).collect()
    }

    /// Serialises changes of a directory over all processes, because a write depends on the preceding read.
    fn change(&self, change: impl FnOnce(StoredPins) -> Option<Vec<Pinned>>) {
        static CHANGING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);
        let _alone = lock(CHANGING.get());
        let _lock = self.path.parent().and_then(lock_directory);
        let Some(pins) = change(self.read()) else { return };
        match self.write(&pins) {
            Ok(()) => self.prune(),
            Err(error) => {
                let (server, file) = (self.key.server.as_str(), self.path.display());
                tracing::warn!(server, %file, "cannot remember what the tools were: {error}");
            }
        }
    }

    fn write(&self, pins: &[Pinned]) -> io::Result<()> {
        let written = pins.iter().map(|pin| {
            let tool = serde_json::from_str(pin.tool.json())?;
            Ok(WrittenPin { tool, warned: pin.warned.clone() })
        });
        let content = Content {
            version: VERSION,
            server: self.key.server.clone(),
            source: self.key.source.clone(),
            pins: written.collect::<Result<_, serde_json::Error>>()?,
        };
        if let Some(pins) = self.path.parent().and_then(Path::parent) {
            User::current().own_directory(pins)?;
        }
        // Synced: a file torn by a crash would withhold the tools in every manager that blocks drift.
        replace(&self.path, &serde_json::to_vec(&content)?, User::current(), File::sync_data)
    }

    /// Marks the file as recently used.
    fn note_use(&self) {
        let Ok(file) = File::open(&self.path) else { return };
        let used = file.metadata().and_then(|metadata| metadata.modified());
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > DAY)) {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Removes the least recently used files above the limits, and those of interrupted writers.
    fn prune(&self) {
        let Some(entries) = self.path.parent().and_then(|dir| dir.read_dir().ok()) else { return };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(used) = metadata.modified() else { continue };
            if is_leftover(&name) && used.elapsed().is_ok_and(|age| age > DAY) {
                let _ = std::fs::remove_file(entry.path());
            } else if has_hashed_name(&name, HASH_DIGITS)
                && metadata.is_file()
                && entry.path() != self.path
            {
                files.push((used, metadata.len(), entry.path()));
            }
        }
        let written = self.path.metadata().map_or(0, |metadata| metadata.len());
        for path in excess(files, written) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The files to remove when a file of this length is added: the least recently used first.
fn excess(mut files: Vec<(SystemTime, u64, PathBuf)>, written: u64) -> Vec<PathBuf> {
    files.sort();
    let mut bytes: u64 = written + files.iter().map(|(_, length, _)| length).sum::<u64>();
    let mut count = files.len() + 1;
    let too_much = files.into_iter().take_while(|(_, length, _)| {
        let goes = count > MOST_FILES || bytes > MOST_BYTES;
        (count, bytes) = (count - 1, bytes - length);
        goes
    });
    too_much.map(|(_, _, path)| path).collect()
}

/// Waits for other processes; `None` where the directory cannot be locked.
fn lock_directory(directory: &Path) -> Option<DirectoryLock> {
    User::current().own_directory(directory.parent()?).ok()?;
    User::current().own_directory(directory).ok()?;
    DirectoryLock::acquire(directory, |waited| waited <= LONGEST_WAIT).ok()?
}

#[cfg(test)]
mod tests;
