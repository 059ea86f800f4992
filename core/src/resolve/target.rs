//! Owns what is started or dialled: a program, or the address of a remote server.

use std::sync::Arc;

use http::HeaderMap;
use url::Url;

use super::{AllowedAddresses, SignIn};
use crate::caller::ConnectionHeaders;
use crate::config::AuthConfig;
use crate::process::Launch;
use crate::redact::{Mask, Secret};

/// A program that is ready to be started.
pub(crate) struct ProgramTarget {
    pub(crate) launch: Launch,
    /// Names the stored login that it is given.
    pub(crate) login: Option<Arc<AuthConfig>>,
}

/// A remote server that is ready to be dialled.
pub(crate) struct Target {
    pub(crate) server: Arc<str>,
    pub(crate) url: Url,
    pub(crate) dialect: HttpDialect,
    pub(crate) addresses: AllowedAddresses,
    /// The headers of the definition.
    pub(crate) headers: HeaderMap,
    /// The headers of the connection's identity.
    pub(crate) caller: Arc<ConnectionHeaders>,
    /// Whether it may ask us to sign in.
    pub(crate) sign_in: SignIn,
    pub(crate) tls: Option<TlsFiles>,
    /// The redacted URL.
    pub(crate) shown: String,
    /// Hides the values that the server was given.
    pub(crate) mask: Mask,
}

/// The HTTP transport of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpDialect {
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE of protocol 2024-11-05.
    Legacy,
}

/// The files of a server's own TLS settings.
#[derive(Clone)]
pub(crate) struct TlsFiles {
    /// The certificates that the server's own must be signed by, in place of the system's.
    pub(crate) ca: Option<PemFile>,
    /// Our certificate and its key.
    pub(crate) client: Option<(PemFile, PemFile)>,
}

/// A file in PEM form.
#[derive(Clone)]
pub(crate) struct PemFile {
    /// The field that names it.
    pub(crate) field: &'static str,
    pub(crate) text: Secret,
}
