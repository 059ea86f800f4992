//! Owns where a remote server is, ready to be dialled.

use std::sync::Arc;

use http::HeaderMap;
use url::Url;

use super::Addresses;
use crate::redact::Mask;

/// Where a server is, ready to be asked.
pub(crate) struct Target {
    pub(crate) server: Arc<str>,
    pub(crate) url: Url,
    pub(crate) addresses: Addresses,
    pub(crate) headers: HeaderMap,
    /// The URL as it may be shown.
    pub(crate) shown: String,
    /// What the server was given and may repeat.
    pub(crate) mask: Mask,
}
