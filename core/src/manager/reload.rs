//! Owns changing a manager's servers while it runs: what is the same stays untouched, the rest is applied as a
//! difference; on request or whenever the config file changes.
//! Invariant: a config that cannot be read changes nothing.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::server::Server;
use super::{CLOSE_ONE, ConnectReport, Inner, Manager, ManagerOptions, Servers, on_runtime};
use crate::config::{Config, ServerConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{EventKind, LogOrigin};
use crate::pool::Leaving;
use crate::runtime;
use crate::sync::lock;

/// Writes within this time are one change.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// What a reload changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReloadReport {
    /// New servers.
    pub added: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers that were replaced by another definition of the same name.
    pub restarted: Vec<String>,
    /// Servers whose settings changed while they ran on.
    pub updated: Vec<String>,
    /// Servers that nothing happened to.
    pub unchanged: Vec<String>,
    /// How connecting the added and restarted ones went.
    pub connect: ConnectReport,
}

/// Follows a config file for as long as it is held.
pub(super) struct Watch {
    _watcher: RecommendedWatcher,
    follower: AbortHandle,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl Manager {
    /// A manager for the servers of a config file; with [`ManagerOptions::watch`] it follows the file as it changes.
    pub fn open(path: impl AsRef<Path>, options: ManagerOptions) -> Result<Manager> {
        let path = std::path::absolute(path.as_ref()).map_err(|error| {
            Error::new(ErrorKind::ConfigIo, format!("The config file has no place: {error}"))
        })?;
        let config = Config::from_file(&path)?;
        let follow = options.watch;
        let manager = Manager::assemble(config, options, Some(path.clone()), Arc::default());
        if follow {
            *lock(&manager.0.watch) = Some(watch(&path, Arc::downgrade(&*manager.0))?);
        }
        Ok(manager)
    }

    /// Reads the config file again and applies the difference: servers that are the same keep their connections and
    /// calls, others are closed, connected or restarted; settings change in place.
    pub fn reload(&self) -> impl Future<Output = Result<ReloadReport>> + Send + use<> {
        let manager = self.clone();
        on_runtime(async move {
            manager.check_open()?;
            let Some(file) = &manager.0.file else {
                return Err(Error::new(
                    ErrorKind::ConfigInvalid,
                    "This manager was made without a config file",
                )
                .with_hint("hand the new config to reload"));
            };
            let config = Config::from_file(file)?;
            manager.0.apply(config).await
        })
    }

    /// Applies the difference to this config.
    pub fn reload_with(
        &self,
        config: Config,
    ) -> impl Future<Output = Result<ReloadReport>> + Send + use<> {
        let manager = self.clone();
        on_runtime(async move {
            manager.check_open()?;
            manager.0.apply(config).await
        })
    }
}

/// What becomes of a server that is in both configs.
enum Fate {
    Same,
    Updated,
    Replaced,
}

fn fate(old: &Server, new: &Result<ServerConfig>, required: bool) -> Fate {
    let (old_config, new) = match (&old.definition, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(old), Err(new)) if old.message() == new.message() => return Fate::Same,
        _ => return Fate::Replaced,
    };
    let home = |config: &ServerConfig| (config.enabled, config.shared, config.isolate);
    if !old_config.identity_differences(new).is_empty() || home(old_config) != home(new) {
        Fate::Replaced
    } else if old_config.setting_differences(new).is_empty()
        && old_config.view_differences(new).is_empty()
        && old.required == required
    {
        Fate::Same
    } else {
        Fate::Updated
    }
}

impl Inner {
    async fn apply(&self, config: Config) -> Result<ReloadReport> {
        let _alone = self.reloading.lock().await;
        self.check_open()?;
        let Config { servers, required, warnings } = config;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        *lock(&self.warnings) = warnings;
        let old = self.servers.load_full();
        let mut report = ReloadReport::default();
        let mut next = Servers::new();
        let mut leaving = Vec::new();
        let mut coming = Vec::new();
        for (name, definition) in servers {
            let required = required.contains(&name);
            let server = match old.get(&name) {
                None => {
                    report.added.push(name.clone());
                    let server = Server::new(&name, definition, required);
                    coming.push(server.clone());
                    server
                }
                Some(old) => match fate(old, &definition, required) {
                    Fate::Same => {
                        report.unchanged.push(name.clone());
                        old.clone()
                    }
                    Fate::Updated => {
                        report.updated.push(name.clone());
                        old.redefined(definition, required)
                    }
                    Fate::Replaced => {
                        report.restarted.push(name.clone());
                        leaving.push(old.clone());
                        let server = Server::new(&name, definition, required);
                        coming.push(server.clone());
                        server
                    }
                },
            };
            next.insert(name, server);
        }
        let gone = old.iter().filter(|(name, _)| !next.contains_key(*name));
        for (name, server) in gone {
            report.removed.push(name.clone());
            leaving.push(server.clone());
        }
        let something_changed =
            [&report.added, &report.removed, &report.restarted, &report.updated]
                .iter()
                .any(|names| !names.is_empty());
        if !something_changed {
            return Ok(report);
        }
        self.servers.store(Arc::new(next));
        let ending = leaving.iter().map(|server| server.leave(Leaving::Disconnecting));
        let ending: Vec<_> = ending.map(|ending| timeout(CLOSE_ONE, ending)).collect();
        self.view.outdate_catalog();
        self.view.events.emit(
            "",
            EventKind::ConfigChanged {
                added: report.added.clone(),
                removed: report.removed.clone(),
                restarted: report.restarted.clone(),
                updated: report.updated.clone(),
            },
        );
        // A server that is replaced waits for its predecessor's end by itself.
        let (gate, entrants) = self.at_the_gate(coming);
        let (connected, _) = tokio::join!(gate.pass(entrants), join_all(ending));
        report.connect = connected?;
        Ok(report)
    }
}

fn watch(path: &Path, manager: Weak<Inner>) -> Result<Watch> {
    let cannot = |error: notify::Error| {
        let text = format!("The config file {} cannot be watched: {error}", path.display());
        Error::new(ErrorKind::ConfigIo, text)
    };
    let (tell, changes) = mpsc::unbounded_channel();
    let file = path.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = event.is_ok_and(|event| {
            !event.kind.is_access() && event.paths.iter().any(|changed| changed == &file)
        });
        if concerns {
            let _ = tell.send(());
        }
    })
    .map_err(cannot)?;
    // The directory: editors replace a file by renaming another one onto it.
    let directory = path.parent().unwrap_or(Path::new("/"));
    watcher.watch(directory, RecursiveMode::NonRecursive).map_err(cannot)?;
    let follower = runtime::spawn(follow(path.to_owned(), changes, manager)).abort_handle();
    Ok(Watch { _watcher: watcher, follower })
}

async fn follow(path: PathBuf, mut changes: mpsc::UnboundedReceiver<()>, manager: Weak<Inner>) {
    while changes.recv().await.is_some() {
        while let Ok(Some(())) = timeout(DEBOUNCE, changes.recv()).await {}
        let Some(manager) = manager.upgrade() else { return };
        let outcome = match Config::from_file(&path) {
            Ok(config) => manager.apply(config).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::warn!("the config was not reloaded: {error}");
            let data = format!("the config was not reloaded: {}", error.message()).into();
            let (origin, level) = (LogOrigin::Mcpool, "warning".to_owned());
            let log = EventKind::Log { origin, level, logger: None, data };
            manager.view.events.emit("", log);
        }
    }
}
