//! Owns the errors of failed exchanges: the error of the request, and what it means for the whole link. The meaning of
//! a status is in `status`.
//! The async parts are boxed, so that successful calls do not carry their memory.

use std::error::Error as StdError;
use std::time::Duration;

use http::Method;
use tokio::time::timeout;

use super::HttpLink;
use super::client::{BodyError, SendError};
use crate::descriptors::{is_caused_by_shortage, shortage};
use crate::error::{Error, ErrorKind, Executed, ForeignError, Stage};
use crate::resolve::Refused;
use crate::wire::Loss;

/// How long the check for a live server may take.
const LOOK: Duration = Duration::from_secs(1);

const FLOOD_HINT: &str = "look after the server: it answers without ever coming to its answer";

/// A failed exchange.
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) loss: Option<Loss>,
    /// The server responded with an error status.
    pub(super) by_status: bool,
}

impl Failure {
    fn new(error: Error, loss: Loss) -> Self {
        Failure { error, loss: Some(loss), by_status: false }
    }

    pub(super) fn refused(error: Error, loss: Option<Loss>) -> Self {
        Failure { error, loss, by_status: true }
    }

    /// Same, if only the rest of an answer was requested. A 404 to that may be about the stream; if it is about the
    /// session, the next POST fails too.
    pub(super) fn after_taken(self) -> Self {
        let loss = self.loss.filter(|loss| *loss != Loss::Expired);
        Failure { error: self.error.with_executed(Executed::Unknown), loss, ..self }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, loss: None, by_status: false }
    }
}

impl HttpLink {
    pub(super) fn lost(&self, what: &str) -> Error {
        self.error(ErrorKind::ConnectionLost, what)
    }

    /// What happened, and where. Texts of others are masked.
    pub(super) fn error(&self, kind: ErrorKind, what: &str) -> Error {
        Error::new(kind, format!("{} ({})", self.mask.text(what), self.shown)).quoting(&self.shown)
    }

    fn lost_by(&self, what: &str, error: &(dyn StdError + 'static)) -> Error {
        let cause = root_cause(error);
        let words = cause.to_string();
        let errno = cause.downcast_ref::<std::io::Error>().and_then(|it| it.raw_os_error());
        let message = self.mask.text(&words).into_owned();
        let lost =
            self.lost(&format!("{what}: {words}")).caused_by(ForeignError { message, errno });
        // The text may include a certificate's names or a message of the peer; a system error does not.
        if errno.is_some() { lost } else { lost.quoting(&words) }
    }

    pub(super) async fn not_reached(&self, error: &SendError) -> Failure {
        if let Some(refused) = Refused::cause_of(error) {
            let refused = refused.told(&self.server).with_stage(Stage::Dial);
            let refused = refused.with_executed(Executed::No);
            return Failure::new(refused, Loss::Gone);
        }
        if error.is_unsent() && is_caused_by_shortage(error) {
            return shortage(&self.server).with_executed(Executed::No).into();
        }
        if error.is_flood() {
            let flood = self.error(ErrorKind::LimitExceeded, &format!("The server sent {error}"));
            return flood.with_executed(Executed::Unknown).with_hint(FLOOD_HINT).into();
        }
        let lost = self
            .lost_by("The server cannot be reached", error)
            .with_hint("is it running, and is the URL right?");
        if error.is_unsent() {
            let lost = lost.with_stage(Stage::Dial).with_executed(Executed::No);
            return Failure::new(lost, Loss::Gone);
        }
        // A request on a connection that the server is closing gets no answer either, although the server is fine.
        Failure::new(lost.with_executed(Executed::Unknown), Box::pin(self.look()).await)
    }

    pub(super) async fn cut_off(&self, error: &BodyError) -> Failure {
        let lost = self.lost_by("The answer was cut off", error);
        Failure::new(lost.with_executed(Executed::Unknown), Box::pin(self.look()).await)
    }

    /// Checks whether a server that closed the connection is still up: any answer means that it is.
    async fn look(&self) -> Loss {
        let Ok(request) = self.request(Method::HEAD) else { return Loss::Gone };
        match timeout(LOOK, request.send()).await {
            Ok(Err(error)) if !is_caused_by_shortage(&error) => Loss::Gone,
            Ok(_) | Err(_) => Loss::Doubtful,
        }
    }

    pub(super) fn ended_early(&self) -> Error {
        self.lost("The server ended its answer early").with_executed(Executed::Unknown)
    }

    pub(super) fn unexpected(&self, what: &str) -> Error {
        self.error(ErrorKind::ProtocolError, &format!("The server {what}"))
            .with_executed(Executed::Unknown)
            .with_hint("is this the URL of an MCP server?")
    }

    pub(super) fn over_limit(&self) -> Error {
        let text = format!("The server's answer is over {}", size(self.message_limit));
        Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::Yes)
    }

    pub(super) fn over_memory(&self) -> Error {
        let limit = size(self.memory.limit());
        let text = format!("The server's answers that are not complete are over {limit}");
        Error::new(ErrorKind::LimitExceeded, text)
            .with_executed(Executed::Unknown)
            .with_hint("make fewer calls with such answers at a time")
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        bytes if bytes < 1 << 20 => format!("{bytes} bytes"),
        bytes => format!("{} MiB", bytes >> 20),
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
