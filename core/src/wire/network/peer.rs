//! Owns what is known of the server at the other end of a network link, and the errors about it.
//! Invariant: no error shows a value that the server was given.

use std::error::Error as StdError;
use std::sync::Arc;

use url::Url;

use crate::caller::ConnectionHeaders;
use crate::descriptors::{is_caused_by_shortage, shortage};
use crate::error::{Error, ErrorKind, Executed, ForeignError, Message, Stage};
use crate::http_client::SendError;
use crate::http_client::may_want_certificate;
use crate::http_client::{NoTunnel, UnreachableProxy};
use crate::redact::Mask;
use crate::resolve::RefusedAddress;
use crate::wire::Loss;

pub(crate) struct Peer {
    pub(crate) server: Arc<str>,
    pub(crate) url: Url,
    /// The redacted URL.
    pub(crate) shown: String,
    /// Hides the values of the definition.
    pub(crate) definition_mask: Mask,
    /// The headers of the connection's identity, whose values are hidden too.
    pub(crate) caller: Arc<ConnectionHeaders>,
}

impl Peer {
    /// Hides the values that the server was given.
    pub(crate) fn mask(&self) -> Mask {
        self.caller.mask(&self.definition_mask)
    }

    /// What happened, and where. Texts of others are masked.
    pub(crate) fn error(&self, kind: ErrorKind, what: impl Into<Message>) -> Error {
        let mask = self.mask();
        let what = what.into().map(|part| mask.text(part));
        Error::new(kind, what.detail(&format!(" ({})", self.shown)))
    }

    pub(crate) fn lost(&self, what: impl Into<Message>) -> Error {
        self.error(ErrorKind::ConnectionLost, what)
    }

    pub(crate) fn lost_by(&self, what: &str, error: &(dyn StdError + 'static)) -> Error {
        let cause = root_cause(error);
        let words = cause.to_string();
        let errno = cause.downcast_ref::<std::io::Error>().and_then(|it| it.raw_os_error());
        let message = self.mask().text(&words).into_owned();
        // The text may include a certificate's names or a message of the peer; a system error does not.
        let what = match errno {
            Some(_) => Message::new(what).text(": ").text(&words),
            None => Message::new(what).detail(&format!(": {words}")).quoting(&words),
        };
        self.lost(what).caused_by(ForeignError { message, errno })
    }

    pub(crate) fn unreachable(&self, error: &(dyn StdError + 'static)) -> Error {
        if UnreachableProxy::is_cause_of(error) {
            return self
                .lost_by("The proxy cannot be reached", error)
                .with_hint("is it running, and is its variable, such as HTTPS_PROXY, right?");
        }
        if let Some(no_tunnel) = NoTunnel::cause_of(error) {
            return self
                .lost_by("The proxy opened no connection to the server", error)
                .with_hint(no_tunnel.hint());
        }
        let sending = error.downcast_ref::<SendError>();
        let lacks_certificate = sending.is_some_and(SendError::lacks_certificate);
        let hint = match lacks_certificate || may_want_certificate(error) {
            true => "does the server want a client certificate? see \"tls.cert\"",
            false => "is it running, and is the URL right?",
        };
        self.lost_by("The server cannot be reached", error).with_hint(hint)
    }

    /// The error of a dial that failed, and what it means for the link. Nothing was sent.
    pub(crate) fn not_dialled(&self, error: &(dyn StdError + 'static)) -> (Error, Option<Loss>) {
        let (error, loss) = if let Some(refused) = RefusedAddress::cause_of(error) {
            (refused.to_error(&self.server).with_stage(Stage::Dial), Some(Loss::Gone))
        } else if is_caused_by_shortage(error) {
            (shortage(&self.server), None)
        } else {
            (self.unreachable(error).with_stage(Stage::Dial), Some(Loss::Gone))
        };
        (error.with_executed(Executed::No), loss)
    }
}

/// The innermost error, whose text does not include the URL, which may contain secrets.
fn root_cause<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}
