//! Owns the address of a remote server.

use std::sync::Arc;

use http::HeaderMap;
use url::Url;

use super::Addresses;
use crate::redact::Mask;

/// A remote server that is ready to be dialled.
pub(crate) struct Target {
    pub(crate) server: Arc<str>,
    pub(crate) url: Url,
    pub(crate) addresses: Addresses,
    pub(crate) headers: HeaderMap,
    /// The redacted URL.
    pub(crate) shown: String,
    /// Hides the values that the server was given.
    pub(crate) mask: Mask,
}
