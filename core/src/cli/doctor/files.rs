//! Owns the checks of files and directories: can they be read, may others read secrets in them, can tools be
//! remembered.

use std::path::Path;

use super::Examined;
use super::finding::Finding;
use crate::catalog::Cache;
use crate::cli::display::{quoted_path, without_path};
use crate::cli::sources::FoundServers;
use crate::file_system::can_create_files_in;
use crate::ownership::is_readable_by_others;
use crate::redact;

pub(super) fn examine(found: &FoundServers) -> Vec<Examined> {
    let mut examined: Vec<Examined> = match &found.discovery {
        Some(discovery) => discovery
            .files
            .iter()
            .map(|file| {
                let read = match &file.problem {
                    Some(problem) => Finding::broken("read", without_path(problem, &file.path))
                        .with_advice("correct the file; the others are used without it"),
                    None => Finding::ok("read", servers(&file.provider, file.servers)),
                };
                Examined::new(&file.path, with_privacy(read, &file.path, found))
            })
            .collect(),
        None => {
            let mut paths: Vec<&str> = found
                .config
                .servers
                .values()
                .filter_map(|declared| declared.source.path.as_deref())
                .collect();
            paths.dedup();
            let count = found.config.servers.len();
            let read = || Finding::ok("read", servers("config", count));
            paths
                .into_iter()
                .map(|path| Examined::new(path, with_privacy(read(), path, found)))
                .collect()
        }
    };
    let failed = found.discovery.iter().flat_map(|discovery| &discovery.errors);
    examined.extend(
        failed.map(|it| Examined::new(&it.path, vec![Finding::error("discover", &it.error)])),
    );
    if let Some(directory) = Cache::at(None).directory() {
        let name = directory.display().to_string();
        examined.push(Examined::new(name, vec![cache(directory)]));
    }
    examined
}

fn servers(of: &str, count: usize) -> String {
    match count {
        1 => format!("{of}, 1 server"),
        count => format!("{of}, {count} servers"),
    }
}

fn with_privacy(read: Finding, path: &str, found: &FoundServers) -> Vec<Finding> {
    let is_exposed = std::fs::metadata(path).is_ok_and(|about| is_readable_by_others(&about));
    if !is_exposed || !holds_secrets(path, found) {
        return vec![read];
    }
    let text = "it holds secrets, and others on this machine may read it";
    let advice = format!("write ${{NAME}} for the secrets, or: chmod 600 {}", quoted_path(path));
    vec![read, Finding::warning("permissions", text).with_advice(advice)]
}

/// Whether something of the file had to be starred.
fn holds_secrets(path: &str, found: &FoundServers) -> bool {
    let servers = found.config.servers.values();
    servers.filter(|declared| declared.source.path.as_deref() == Some(path)).any(|declared| {
        let definition = declared.config.as_ref().ok().map(|config| config.to_value());
        definition.is_some_and(|definition| redact::definition(definition.clone()) != definition)
    })
}

/// Creates nothing: a missing directory can be created if its parent is writable.
fn cache(directory: &Path) -> Finding {
    let existing = directory.ancestors().find(|directory| directory.exists());
    let writable =
        existing.is_some_and(|existing| existing.is_dir() && can_create_files_in(existing));
    if writable {
        return Finding::ok("cache", "tools can be remembered here");
    }
    Finding::warning("cache", "tools cannot be remembered here: it cannot be written")
        .with_advice("correct its permissions, or set MCPOOL_CACHE_DIR to another directory")
}
