//! Owns the tools remembered from session to session: one file for each definition of a server, which also keeps what
//! a tool was when it was first seen, where it is something else by now. All of it blocks; the caller keeps it off the
//! runtime.
//! Invariant: best effort. Whatever is wrong with a file is a miss, whatever is wrong with the disk is a warning; a
//! reader sees a whole file or none; nothing of a definition but its name and its hash is written.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, DirEntry, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use etcetera::BaseStrategy;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ServerTool;
use super::drift::{MOST_KEPT, difference};
use super::listed::Tools;
use crate::per_process::PerProcess;
use crate::redact::Mask;
use crate::sync::lock;

const VERSION: u32 = 1;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const KEPT_MS: u64 = 30 * DAY_MS;
const LARGEST_FILE: u64 = 64 << 20;
const VARIABLE: &str = "MCPOOL_CACHE_DIR";
const UNFINISHED_PREFIX: &str = ".mcpool-";
const UNFINISHED_SUFFIX: &str = ".tmp";

/// Where tools are remembered, if anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: Option<PathBuf>,
}

impl Cache {
    /// In `dir`; without one, where `MCPOOL_CACHE_DIR` says or the system keeps such things of the user.
    pub(crate) fn at(dir: Option<PathBuf>) -> Self {
        let users = etcetera::base_strategy::choose_native_strategy().ok();
        let users = users.map(|strategy| strategy.cache_dir());
        Cache { dir: place(dir, std::env::var_os(VARIABLE), users) }
    }

    /// Remembers nothing.
    pub(crate) fn off() -> Self {
        Cache { dir: None }
    }

    /// Where that is.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    pub(crate) fn is_off(&self) -> bool {
        self.dir.is_none()
    }

    /// What is remembered of this definition.
    pub(crate) fn recall(
        &self,
        server: &str,
        fingerprint: &str,
        now_ms: u64,
    ) -> Option<Remembered> {
        let path = self.file(server, fingerprint)?;
        match Remembered::read(&path) {
            Ok(found) => {
                let found = found.filter(|it| it.is_of(server, fingerprint))?;
                found.is_fresh(now_ms, KEPT_MS).then_some(found)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(server, file = %path.display(), "cannot read the remembered tools: {error}");
                None
            }
        }
    }

    /// Remembers the tools of this definition, and of those that are not as they were, how they were. `warned` has the
    /// fingerprints, by raw name, of which somebody was warned.
    pub(crate) fn store(
        &self,
        server: &str,
        fingerprint: &str,
        protocol_version: Option<&str>,
        tools: &[Bytes],
        warned: &HashMap<String, String>,
        now_ms: u64,
    ) {
        let Some(path) = self.file(server, fingerprint) else { return };
        let _alone = lock(CHANGING.get());
        let old = Remembered::read(&path).ok().flatten();
        let old = old.filter(|old| old.is_of(server, fingerprint));
        let pins = old.as_ref().filter(|old| old.is_fresh(now_ms, KEPT_MS));
        let new = Remembered {
            server: server.to_owned(),
            fingerprint: fingerprint.to_owned(),
            time_ms: now_ms,
            protocol_version: protocol_version.map(str::to_owned),
            tools: tools.to_vec(),
            pinned: pins.map(|old| old.pins_against(tools, warned)).unwrap_or_default(),
        };
        // Each start of each agent comes by here: what is known already need not wear the disk.
        let known = old.is_some_and(|old| old.is_fresh(now_ms, DAY_MS) && old.says(&new));
        if !known {
            new.save(&path, now_ms);
        }
    }

    /// Takes these entries for what was first seen.
    pub(crate) fn accept(&self, server: &str, fingerprint: &str, entries: &[(String, Bytes)]) {
        let Some(path) = self.file(server, fingerprint) else { return };
        let _alone = lock(CHANGING.get());
        let old = Remembered::read(&path).ok().flatten();
        let Some(mut known) = old.filter(|old| old.is_of(server, fingerprint)) else { return };
        let of: Arc<str> = server.into();
        let names = |tool: &Bytes| {
            let name = ServerTool::read(&of, tool.clone()).ok()?.raw_name().to_owned();
            entries.iter().find(|(accepted, _)| *accepted == name)
        };
        known.pinned.retain(|pin| names(&pin.tool).is_none());
        // The list may be from before the change.
        for tool in &mut known.tools {
            if let Some((_, accepted)) = names(tool) {
                *tool = accepted.clone();
            }
        }
        known.save(&path, known.time_ms);
    }

    fn file(&self, server: &str, fingerprint: &str) -> Option<PathBuf> {
        let short = fingerprint.get(..16).unwrap_or(fingerprint);
        Some(self.dir.as_ref()?.join("tools").join(format!("{server}-{short}.json")))
    }
}

fn place(
    given: Option<PathBuf>,
    variable: Option<OsString>,
    of_user: Option<PathBuf>,
) -> Option<PathBuf> {
    let dir = given
        .or_else(|| variable.filter(|dir| !dir.is_empty()).map(PathBuf::from))
        .or_else(|| of_user.map(|dir| dir.join("mcpool")))?;
    // The process may change its directory later; the cache stays where it was.
    Some(std::path::absolute(&dir).unwrap_or(dir))
}

/// One change of a file at a time: what is written depends on what was read.
static CHANGING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

/// What a file says.
pub(crate) struct Remembered {
    server: String,
    fingerprint: String,
    time_ms: u64,
    protocol_version: Option<String>,
    /// The tools, each as the server wrote it.
    pub(crate) tools: Vec<Bytes>,
    /// How tools were that are something else by now, or gone.
    pub(crate) pinned: Vec<Pinned>,
}

/// How a tool was when it was first seen.
#[derive(Clone, PartialEq)]
pub(crate) struct Pinned {
    pub(crate) tool: Bytes,
    /// The fingerprint of what it became, if somebody was warned of that.
    pub(crate) warned: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Content<'a> {
    version: u32,
    server: String,
    fingerprint: String,
    time_ms: u64,
    protocol_version: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pinned: Vec<WrittenPin<'a>>,
}

#[derive(Serialize, Deserialize)]
struct WrittenPin<'a> {
    #[serde(borrow)]
    tool: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warned: Option<String>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Remembered {
    #[cfg(test)]
    pub(super) fn of(server: &str, tools: Vec<Bytes>, pinned: Vec<Pinned>) -> Self {
        let (server, fingerprint) = (server.to_owned(), String::new());
        Remembered { server, fingerprint, time_ms: 0, protocol_version: None, tools, pinned }
    }

    /// `None` is the file of another version of this library.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let bytes = read_regular(path)?;
        let content: Content<'_> = match serde_json::from_slice(&bytes) {
            Ok(content) => content,
            Err(error) => {
                let other = serde_json::from_slice(&bytes)
                    .is_ok_and(|Version { version }| version != VERSION);
                return if other { Ok(None) } else { Err(error.into()) };
            }
        };
        if content.version != VERSION {
            return Ok(None);
        }
        let tools = content.tools.iter().map(|tool| bytes.slice_ref(tool.get().as_bytes()));
        let pinned = content.pinned.into_iter().map(|pin| Pinned {
            tool: bytes.slice_ref(pin.tool.get().as_bytes()),
            warned: pin.warned,
        });
        Ok(Some(Remembered {
            tools: tools.collect(),
            pinned: pinned.collect(),
            server: content.server,
            fingerprint: content.fingerprint,
            time_ms: content.time_ms,
            protocol_version: content.protocol_version,
        }))
    }

    /// The pins that a list leaves in need of keeping.
    fn pins_against(&self, tools: &[Bytes], warned: &HashMap<String, String>) -> Vec<Pinned> {
        if self.tools == tools && self.pinned.is_empty() {
            return Vec::new();
        }
        let (server, mask) = (Arc::<str>::from(self.server.as_str()), Mask::default());
        let read = |tools: &[Bytes]| Tools::read(&server, tools.to_vec(), &mask).0;
        let entries: Vec<_> = self.pinned.iter().map(|pin| pin.tool.clone()).collect();
        let (kept, listed, now) = (read(&entries), read(&self.tools), read(tools));
        let said_of = |tool: &ServerTool| {
            let pin = self.pinned.iter().find(|pin| pin.tool == tool.raw())?;
            pin.warned.as_ref()
        };
        let first_seen = listed.list.iter().filter(|tool| kept.get(tool.raw_name()).is_none());
        // Tools that are gone come last: they must not crowd out those that are there.
        let (there, gone): (Vec<_>, Vec<_>) =
            kept.list.iter().chain(first_seen).partition(|tool| now.get(tool.raw_name()).is_some());
        let differing = there.into_iter().chain(gone).filter_map(|tool| {
            let Some(now) = now.get(tool.raw_name()) else {
                return Some((true, Pinned { tool: tool.raw(), warned: said_of(tool).cloned() }));
            };
            let print = difference(tool, &mask, now, &mask)?.fingerprint;
            let was_said =
                warned.get(tool.raw_name()) == Some(&print) || said_of(tool) == Some(&print);
            Some((false, Pinned { tool: tool.raw(), warned: was_said.then_some(print) }))
        });
        let mut pins: Vec<(bool, Pinned)> = differing.collect();
        // Where there are too many, those of tools that are gone have to go.
        pins.sort_by_key(|(gone, _)| *gone);
        pins.truncate(MOST_KEPT);
        pins.into_iter().map(|(_, pin)| pin).collect()
    }

    fn save(&self, path: &Path, now_ms: u64) {
        match self.write(path) {
            Ok(()) => prune(path, now_ms),
            Err(error) => {
                let (server, file) = (self.server.as_str(), path.display());
                tracing::warn!(server, %file, "cannot remember the tools: {error}");
            }
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let content = self.to_json()?;
        if content.len() as u64 > LARGEST_FILE {
            return Err(io::Error::other(format!("they are over {} MiB", LARGEST_FILE >> 20)));
        }
        let dir = path.parent().expect("a file below the cache's directory");
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // Renamed over whatever is there, and not synced: what a crash tears is a miss.
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED_PREFIX)
            .suffix(UNFINISHED_SUFFIX)
            .tempfile_in(dir)?;
        file.write_all(&content)?;
        file.persist(path)?;
        Ok(())
    }

    fn to_json(&self) -> io::Result<Vec<u8>> {
        let tools: Result<_, _> =
            self.tools.iter().map(|tool| serde_json::from_slice(tool)).collect();
        let pinned: Result<_, serde_json::Error> = self
            .pinned
            .iter()
            .map(|pin| {
                let tool = serde_json::from_slice(&pin.tool)?;
                Ok(WrittenPin { tool, warned: pin.warned.clone() })
            })
            .collect();
        Ok(serde_json::to_vec(&Content {
            version: VERSION,
            server: self.server.clone(),
            fingerprint: self.fingerprint.clone(),
            time_ms: self.time_ms,
            protocol_version: self.protocol_version.clone(),
            tools: tools?,
            pinned: pinned?,
        })?)
    }

    fn is_of(&self, server: &str, fingerprint: &str) -> bool {
        self.server == server && self.fingerprint == fingerprint
    }

    /// Clocks may disagree by a day; a file from further ahead would never grow old.
    fn is_fresh(&self, now_ms: u64, kept_ms: u64) -> bool {
        now_ms.saturating_sub(self.time_ms) <= kept_ms
            && self.time_ms.saturating_sub(now_ms) <= DAY_MS
    }

    fn says(&self, other: &Self) -> bool {
        self.is_of(&other.server, &other.fingerprint)
            && self.protocol_version == other.protocol_version
            && self.tools == other.tools
            && self.pinned == other.pinned
    }
}

/// Anything but a plain file is refused; opening it neither waits for a pipe's writer nor follows a link.
fn read_regular(path: &Path) -> io::Result<Bytes> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= LARGEST_FILE {
        bytes.reserve_exact(metadata.len() as usize + 1);
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= LARGEST_FILE {
            return Ok(bytes.into());
        }
    }
    Err(io::Error::other(format!("it is over {} MiB", LARGEST_FILE >> 20)))
}

/// Removes what is too old to be read and what interrupted writers left; once a day is often enough for that.
fn prune(written: &Path, now_ms: u64) {
    static PRUNED_MS: PerProcess<Mutex<HashMap<PathBuf, u64>>> = PerProcess::new(Mutex::default);
    let Some(dir) = written.parent() else { return };
    let last_ms = lock(PRUNED_MS.get()).get(dir).copied();
    if last_ms.is_some_and(|last_ms| now_ms.abs_diff(last_ms) < DAY_MS) {
        return;
    }
    lock(PRUNED_MS.get()).insert(dir.to_owned(), now_ms);
    let Ok(entries) = dir.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let kept_ms = if is_ours(name) {
            KEPT_MS
        } else if name.starts_with(UNFINISHED_PREFIX) && name.ends_with(UNFINISHED_SUFFIX) {
            DAY_MS
        } else {
            continue;
        };
        if entry.path() != written && age_ms(&entry, now_ms).is_some_and(|age| age > kept_ms) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a file is named as we name them: a server, a dash, a hash.
fn is_ours(name: &str) -> bool {
    name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-')).is_some_and(|(_, hash)| {
        hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn age_ms(entry: &DirEntry, now_ms: u64) -> Option<u64> {
    let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(now_ms.saturating_sub(modified.as_millis() as u64))
}

#[cfg(test)]
mod tests;
