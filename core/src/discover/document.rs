//! Owns what one file says: its servers and lists of names, in the product's own words, and where it comes from.
//! Leaves reading it to `reading`, and which of several wins to `choice`.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::config::{Level, Scope, Source};
use crate::provider::{Inputs, NameList, Provider};

/// The content of one file.
pub(super) struct Document {
    pub(super) provider: &'static Provider,
    pub(super) source: Source,
    pub(super) scope: Scope,
    /// The default answers for `${input:id}`.
    pub(super) inputs: Inputs,
    pub(super) servers: Vec<WrittenServer>,
    /// Names of entries that are part of the product.
    pub(super) built_in: Vec<String>,
    pub(super) lists: Vec<(NameList, HashSet<String>)>,
}

impl Document {
    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.built_in.is_empty() && self.lists.is_empty()
    }

    /// Whether it is in our own form and was handed over, so that nothing of it may be left out.
    pub(super) fn is_own_explicit(&self) -> bool {
        self.provider.is_own && self.source.level == Level::Explicit
    }

    /// The file's path for display.
    pub(super) fn shown_path(&self) -> &str {
        self.source.path.as_deref().unwrap_or_default()
    }
}

/// A server as its product declares it.
pub(super) struct WrittenServer {
    pub(super) name: String,
    /// Its name in the file.
    pub(super) original: String,
    pub(super) definition: Value,
    /// The base directory of its relative paths.
    pub(super) directory: PathBuf,
}
