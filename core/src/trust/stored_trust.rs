//! Owns the user's stored trust as discovery sees it.

use std::cell::Cell;
use std::path::Path;

use super::{Store, stored_path};
use crate::config::{ServerConfig, Subject};
use crate::discover::TrustView;
use crate::error::Error;
use crate::host_env::HostEnv;
use crate::resolve::{ReferencedFile, SWITCHED_OFF, referenced_files, trust_fingerprint};

/// The most bytes of files that are read for fingerprints in one discovery.
const MAX_READ: usize = 8 << 20;
/// The cost of each file besides its length.
const FILE_COST: usize = 4 << 10;

/// Computes fingerprints within a read limit: a file may declare thousands of servers that each bring a large file.
/// Beyond the limit, the fingerprint matches nothing.
#[derive(Default)]
struct Fingerprints {
    read: Cell<usize>,
}

impl Fingerprints {
    fn compute(&self, config: &ServerConfig) -> String {
        if self.read.get() > MAX_READ {
            return format!("not read: {}", config.fingerprint());
        }
        let files = referenced_files(config);
        let read = |file: &ReferencedFile| FILE_COST + file.text.as_ref().map_or(0, String::len);
        self.read.set(self.read.get() + files.iter().map(read).sum::<usize>());
        fingerprint_of(config, &files)
    }
}

/// The user's stored trust.
pub(crate) struct StoredTrust {
    store: Store,
    fingerprints: Fingerprints,
}

impl StoredTrust {
    /// An unreadable store trusts nothing; the error says why.
    pub(crate) fn load(host_env: &HostEnv) -> (StoredTrust, Option<Error>) {
        let (store, problem) = match Store::load(host_env) {
            Ok(store) => (store, None),
            Err(error) => (Store::default(), Some(error)),
        };
        (StoredTrust { store, fingerprints: Fingerprints::default() }, problem)
    }
}

impl TrustView for StoredTrust {
    fn fingerprint(&self, config: &ServerConfig) -> String {
        self.fingerprints.compute(config)
    }

    fn trusts(&self, subject: &Subject) -> bool {
        let stored_path = stored_path(Path::new(&subject.path), &subject.project);
        self.store.trusts(&stored_path, &subject.server, &subject.fingerprint)
    }
}

/// The fingerprint of a definition with its files; one that is disabled is trusted as such.
pub(super) fn fingerprint_of(config: &ServerConfig, files: &[ReferencedFile]) -> String {
    let off = if config.enabled { "" } else { SWITCHED_OFF };
    format!("{off}{}", trust_fingerprint(config, files))
}
