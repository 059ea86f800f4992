//! Owns the trust rule: what may be done with a definition.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::TrustQuestion;
#[cfg(feature = "cli")]
use crate::config::{Config, ProjectEntry};
use crate::config::{Declared, Level, ServerConfig, Subject};
use crate::error::{Error, ErrorKind};
use crate::shell;

/// Who decides what a project's definitions may do.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Trust {
    /// The user, by `mcpool trust`. Untrusted remote servers are dialled at public addresses only.
    #[default]
    Stored,
    /// The user, by `mcpool trust`, for every server and every transport.
    Strict,
    /// Every definition is trusted.
    All,
    /// Nothing of a project is started or dialled, whatever is stored.
    None,
    /// The store, and this function for what the store does not know.
    Ask(TrustCallback),
}

/// Answers whether a definition is trusted, for the manager that asks.
pub type TrustCallback =
    Arc<dyn Fn(TrustQuestion) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// What may be done with a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Everything: the user wrote or trusts it.
    Full,
    /// Only dialled, at public addresses, without the user's values and without running its commands.
    Restricted,
    /// Neither started nor dialled.
    Refused,
}

/// The trust rule: what may be done with a definition, given the policy and whether the user trusts it. Every start,
/// dial and display asks here.
pub(crate) fn permit(policy: &Trust, trusted: bool, declared: &Declared) -> Permit {
    if declared.source.level != Level::Project {
        return Permit::Full;
    }
    match policy {
        Trust::All => return Permit::Full,
        Trust::None => return Permit::Refused,
        Trust::Stored | Trust::Strict | Trust::Ask(_) if trusted => return Permit::Full,
        Trust::Strict => return Permit::Refused,
        Trust::Stored | Trust::Ask(_) => {}
    }
    match &declared.config {
        Ok(config) if config.transport.remote().is_some() => Permit::Restricted,
        Ok(_) | Err(_) => Permit::Refused,
    }
}

#[cfg(feature = "cli")]
/// What the stored trust permits for a declared server, as of discovery.
pub(crate) fn stored_permit(config: &Config, declared: &Declared) -> Permit {
    let is_it = |entry: &&ProjectEntry| Some(&entry.subject) == declared.subject.as_ref();
    let trusted = config.project.iter().find(is_it).is_some_and(|entry| entry.trusted);
    permit(&Trust::Stored, trusted, declared)
}

/// The error for a server that is not started or dialled.
pub(crate) fn untrusted(subject: &Subject, config: Option<&ServerConfig>) -> Error {
    let Subject { path, server, .. } = subject;
    let text = match config {
        Some(config) if config.transport.starts_program() => {
            format!("Refused to start stdio server \"{server}\" because {path} is not trusted")
        }
        _ => format!("Refused to use server \"{server}\" because {path} is not trusted"),
    };
    Error::new(ErrorKind::Untrusted, text)
        .naming_server(server)
        .with_hint(format!("mcpool trust {}", shell::path(path)))
}
