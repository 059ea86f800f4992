//! Owns the config model: what a user may write about a server, checked, with defaults filled in. It reads text and
//! does not depend on the machine; `resolve` finds programs and secrets.
//! Invariant: one server's mistake is that server's error and never affects the others.

use indexmap::IndexMap;

pub use crate::source::{Level, Source};

mod auth;
mod builder;
mod codec;
pub(crate) mod container;
mod declared;
mod difference;
mod document;
mod enabled;
mod field;
mod file;
#[cfg(test)]
mod generated;
mod keep_alive;
mod limits;
pub(crate) mod own_file;
pub(crate) mod own_writes;
pub(crate) mod parse;
mod path;
mod project;
mod project_bounds;
mod protocol;
mod reader;
mod restart;
mod schema;
mod scope;
mod server;
mod shape;
pub(crate) mod syntax;
mod tls;
mod tools;
mod transport;
mod validate;
mod write;

pub use auth::{AuthConfig, AuthType, CallbackHost, Dpop, Grant, IdentityProvider};
pub use declared::Declared;
pub(crate) use document::{take_bare_env_names, warn_of_misspelt};
pub(crate) use file::{in_file, io_problem_in_words, parse_document, read_text};
pub use keep_alive::KeepAlive;
pub use limits::Limits;
pub(crate) use path::{absolute_unresolved, physical};
pub use project::{HeldBack, HeldBackEffect, ProjectEntry, Subject};
pub use restart::RestartPolicy;
pub use schema::schema;
pub use scope::{Scope, ScopeTrust};
pub use server::{HealthProbe, InheritEnv, Isolate, ServerConfig};
pub(crate) use server::{MAX_RESULT_CHARS, field_names};
pub use tls::TlsConfig;
pub use tools::ToolFilter;
pub use transport::{Remote, TransportConfig};
pub use validate::check_name;
pub(crate) use validate::server as check_definition;
pub(crate) use write::{canonical_definition, explicit_defaults, is_default, is_field};

/// All servers of one config, each usable or with its error, in the order written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// Servers by name.
    pub servers: IndexMap<String, Declared>,
    /// Warnings; each line names its server or its file.
    pub warnings: Vec<String>,
    /// Everything that a project's files say, trusted or not.
    pub project: Vec<ProjectEntry>,
}
