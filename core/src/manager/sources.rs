//! Owns where a manager's config comes from, and reading it again: from a file, from discovery, or from code.
//! Invariant: files are read off the runtime's workers; a config that is unreadable or has become empty changes
//! nothing.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    Inner, Manager, ManagerOptions, ReloadReport, TrustPolicy, Watch, on_runtime, trust_policy,
};
use crate::config::{Config, Source};
use crate::discover::{
    DiscoverOptions, Discovery, DiscoveryError, FoundFile, PROJECT_FILE, candidates, discover_with,
};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;
use crate::sync::lock;

/// Where the config comes from.
pub(super) enum ConfigOrigin {
    Code,
    File(PathBuf),
    Discovered(DiscoverOptions),
}

impl Manager {
    /// A manager for the servers that the user already has. Files are read off the caller's thread, and nothing is
    /// started. [`Manager::reload`] repeats the discovery; [`ManagerOptions::watch`] follows the files.
    pub fn discover(
        discover: DiscoverOptions,
        options: ManagerOptions,
    ) -> impl Future<Output = Result<Manager>> + Send + use<> {
        on_runtime(async move {
            let mut options = options;
            if options.host_env.is_process() {
                options.host_env = discover.host_env.clone();
            }
            let trust = trust_policy(&options);
            let (found, problem) = discover_now(discover.clone(), trust.clone()).await;
            let (config, follow) = (found.config.clone(), options.watch);
            let files = if follow { files_to_watch(discover.clone()).await } else { Vec::new() };
            let origin = ConfigOrigin::Discovered(discover);
            let manager = Manager::assemble(config, options, origin, trust, None);
            if let Some(problem) = problem {
                manager.0.warn_of_store(&problem);
            }
            manager.0.discovery.store(Some(Arc::new(found)));
            if follow {
                manager.follow(files)?;
            }
            Ok(manager)
        })
    }

    /// What discovery found, for a manager that was made by it.
    pub fn discovery(&self) -> Option<Arc<Discovery>> {
        self.0.discovery.load_full()
    }

    /// A manager for the servers of a config file; [`ManagerOptions::watch`] follows the file.
    pub fn open(path: impl AsRef<Path>, options: ManagerOptions) -> Result<Manager> {
        let path = std::path::absolute(path.as_ref()).map_err(|error| {
            Error::new(ErrorKind::ConfigIo, format!("The config file has no place: {error}"))
        })?;
        let config = Config::from_file(&path)?;
        let (follow, trust) = (options.watch, trust_policy(&options));
        let manager =
            Manager::assemble(config, options, ConfigOrigin::File(path.clone()), trust, None);
        if follow {
            manager.follow(vec![path])?;
        }
        Ok(manager)
    }

    /// Reads the config file or the discovered files again and applies the difference. Unchanged servers keep their
    /// connections and calls; others are closed, connected or restarted; settings change in place.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// let report = manager.reload().await?;
    /// println!("new: {:?}, gone: {:?}", report.added, report.removed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reload(&self) -> impl Future<Output = Result<ReloadReport>> + Send + use<> {
        let manager = self.clone();
        on_runtime(async move {
            manager.check_open()?;
            manager.0.read_again().await
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
            let turn = manager.0.reloading.lock().await;
            manager.0.apply(config, turn).await
        })
    }

    fn follow(&self, files: Vec<PathBuf>) -> Result<()> {
        let clock = self.0.pool.clock().clone();
        *lock(&self.0.watch) = Some(Watch::new(files, clock, self.0.me.clone())?);
        Ok(())
    }
}

impl Inner {
    /// Reads the config from its origin and applies the difference.
    pub(super) async fn read_again(&self) -> Result<ReloadReport> {
        let turn = self.reloading.lock().await;
        match &self.origin {
            ConfigOrigin::Code => {
                let text = "This manager was made without a config file";
                Err(Error::new(ErrorKind::ConfigInvalid, text)
                    .with_hint("hand the new config to reload"))
            }
            ConfigOrigin::File(file) => {
                let file = file.clone();
                let read = runtime::handle().spawn_blocking(move || Config::from_file(file));
                self.apply(read.await.unwrap_or_else(|_| Err(internal_error()))?, turn).await
            }
            ConfigOrigin::Discovered(options) => {
                let (mut found, _) = discover_now(options.clone(), self.trust.clone()).await;
                if let Some(failed) = found.errors.first() {
                    return Err(failed.error.clone());
                }
                self.keep_servers_of_unreadable_files(&mut found);
                let config = found.config.clone();
                self.discovery.store(Some(Arc::new(found)));
                self.apply(config, turn).await
            }
        }
    }

    /// A file that is unreadable or has become empty changes nothing: its previous declarations stay, and still shadow
    /// others.
    fn keep_servers_of_unreadable_files(&self, found: &mut Discovery) {
        let Discovery { config, files, .. } = found;
        let rank = |source: &Source| {
            let is_it = |file: &FoundFile| {
                file.provider == source.provider && source.path.as_ref() == Some(&file.path)
            };
            files.iter().position(is_it)
        };
        for (name, server) in self.servers.load().iter() {
            let is_broken = |at: &usize| files[*at].problem.is_some() || files[*at].is_empty;
            let before = rank(&server.declared.source).filter(is_broken);
            let now = config.servers.get(name).and_then(|declared| rank(&declared.source));
            if now.is_some() && self.is_untrusted(server) {
                continue;
            }
            if before.is_some_and(|before| now.is_none_or(|now| before < now)) {
                config.servers.insert(name.clone(), server.declared.clone());
            }
        }
    }
}

/// Discovers with the trust that is stored now; also returns a problem with the trust store.
async fn discover_now(
    options: DiscoverOptions,
    trust: Arc<TrustPolicy>,
) -> (Discovery, Option<Error>) {
    let discover = move || {
        let (view, problem) = trust.view();
        (discover_with(&options, &view), problem)
    };
    runtime::handle().spawn_blocking(discover).await.unwrap_or_else(|_| {
        let errors =
            vec![DiscoveryError { path: PROJECT_FILE.to_owned(), error: internal_error() }];
        (Discovery { errors, ..Discovery::default() }, None)
    })
}

/// Every file that discovery would read, if it existed.
async fn files_to_watch(options: DiscoverOptions) -> Vec<PathBuf> {
    runtime::handle().spawn_blocking(move || candidates(&options)).await.unwrap_or_default()
}

fn internal_error() -> Error {
    Error::new(ErrorKind::DiscoveryFailed, "Looking for config files failed by a mistake of ours")
}
