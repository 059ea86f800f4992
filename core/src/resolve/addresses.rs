//! Owns which addresses a server may have: an untrusted project's server only public ones.
//! Invariant: for an untrusted project, no byte is sent to an address that is not public. The dialled address decides:
//! names are checked after each lookup, and no proxy is used.

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;

use url::Url;

use super::address::{self, Class};
use crate::config::Scope;
use crate::error::{Error, ErrorKind, Result};

/// Which addresses may be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    Any,
    PublicOnly,
}

impl Addresses {
    /// The addresses that a definition of this scope may dial.
    pub(crate) fn open_to(scope: &Scope) -> Self {
        if scope.is_restricted() { Addresses::PublicOnly } else { Addresses::Any }
    }

    /// Checks a URL before any lookup: an IP address in it is never looked up.
    pub(crate) fn check(self, url: &Url) -> Result<(), Refused> {
        let class = match self {
            Addresses::Any => None,
            Addresses::PublicOnly => url.host().and_then(address::not_public_host),
        };
        match class {
            Some(class) => {
                let host = url.host_str().unwrap_or_default().to_owned();
                Err(Refused { host, class })
            }
            None => Ok(()),
        }
    }

    /// The addresses of a host that may be dialled.
    pub(crate) fn among(
        self,
        host: &str,
        all: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Refused> {
        if self == Addresses::Any {
            return Ok(all);
        }
        let class = |address: &SocketAddr| address::not_public(address.ip());
        let first = all.first().and_then(class);
        let public: Vec<_> = all.into_iter().filter(|it| class(it).is_none()).collect();
        match first {
            Some(class) if public.is_empty() => Err(Refused { host: host.to_owned(), class }),
            _ => Ok(public),
        }
    }
}

/// A host that is not dialled.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused {
    pub(crate) host: String,
    pub(crate) class: Class,
}

impl Refused {
    /// The refusal that caused a request's failure, if any.
    pub(crate) fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Refused> {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref() {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }

    pub(crate) fn told(&self, server: &str) -> Error {
        Error::new(ErrorKind::Untrusted, format!("Refused to dial \"{server}\" at {self}"))
            .with_server(server)
            .with_hint("if you trust the file that declares it: mcpool trust FILE")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of a project that is not trusted", self.host, self.class)
    }
}

impl StdError for Refused {}
