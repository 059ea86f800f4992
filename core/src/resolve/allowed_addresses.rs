//! Owns which addresses a server may have: an untrusted project's server only public ones.
//! Invariant: for an untrusted project, no byte is sent to an address that is not public. The dialled address decides:
//! names are checked after each lookup, and no proxy is used.

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;

use url::Url;

use super::address_class::{self, AddressClass};
use crate::config::Scope;
use crate::error::{Error, ErrorKind, Result};

/// Which addresses may be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllowedAddresses {
    Any,
    PublicOnly,
}

impl AllowedAddresses {
    /// The addresses that a definition of this scope may dial.
    pub(crate) fn for_scope(scope: &Scope) -> Self {
        if scope.is_restricted() { AllowedAddresses::PublicOnly } else { AllowedAddresses::Any }
    }

    /// Checks a URL before any lookup: an IP address in it is never looked up.
    pub(crate) fn check(self, url: &Url) -> Result<(), RefusedAddress> {
        let class = match self {
            AllowedAddresses::Any => None,
            AllowedAddresses::PublicOnly => url.host().and_then(address_class::not_public_host),
        };
        match class {
            Some(class) => {
                let host = url.host_str().unwrap_or_default().to_owned();
                Err(RefusedAddress { host, class })
            }
            None => Ok(()),
        }
    }

    /// The addresses of a host that may be dialled.
    pub(crate) fn retain_allowed(
        self,
        host: &str,
        all: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, RefusedAddress> {
        if self == AllowedAddresses::Any {
            return Ok(all);
        }
        let class = |address: &SocketAddr| address_class::not_public(address.ip());
        let first = all.first().and_then(class);
        let public: Vec<_> = all.into_iter().filter(|it| class(it).is_none()).collect();
        match first {
            Some(class) if public.is_empty() => {
                Err(RefusedAddress { host: host.to_owned(), class })
            }
            _ => Ok(public),
        }
    }
}

/// A host that is not dialled.
#[derive(Debug, PartialEq)]
pub(crate) struct RefusedAddress {
    pub(crate) host: String,
    pub(crate) class: AddressClass,
}

impl RefusedAddress {
    /// The refusal that caused a request's failure, if any.
    pub(crate) fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a RefusedAddress> {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref() {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }

    pub(crate) fn to_error(&self, server: &str) -> Error {
        Error::new(ErrorKind::Untrusted, format!("Refused to dial \"{server}\" at {self}"))
            .naming_server(server)
            .with_hint("if you trust the file that declares it: mcpool trust FILE")
    }
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of a project that is not trusted", self.host, self.class)
    }
}

impl StdError for RefusedAddress {}
