//! Owns the errors of failed exchanges: the error of the request, and what it means for the whole link. The meaning of
//! a status is in `status`.
//! The async parts are boxed, so that successful calls do not carry their memory.

use std::time::Duration;

use http::Method;
use tokio::time::timeout;

use super::HttpLink;
use super::login::SignInRefusal;
use crate::descriptors::is_caused_by_shortage;
use crate::error::{Error, ErrorKind, Executed, Message};
use crate::http_client::{BodyError, SendError};
use crate::resolve::RefusedAddress;
use crate::wire::Loss;

/// How long the check for a live server may take.
const REACHABLE_CHECK: Duration = Duration::from_secs(1);

const FLOOD_HINT: &str = "look after the server: it answers without ever coming to its answer";

/// A failed exchange.
pub(super) struct ExchangeFailure {
    pub(super) error: Error,
    pub(super) loss: Option<Loss>,
    /// The server responded with an error status.
    pub(super) by_status: bool,
    /// Set if a login may settle it.
    pub(super) refusal: Option<Box<SignInRefusal>>,
}

impl ExchangeFailure {
    fn new(error: Error, loss: Loss) -> Self {
        ExchangeFailure { error, loss: Some(loss), by_status: false, refusal: None }
    }

    pub(super) fn refused(error: Error, loss: Option<Loss>) -> Self {
        ExchangeFailure { error, loss, by_status: true, refusal: None }
    }

    /// Same, if only the rest of an answer was requested. A 404 to that may be about the stream; if it is about the
    /// session, the next POST fails too.
    pub(super) fn after_acceptance(self) -> Self {
        let loss = self.loss.filter(|loss| *loss != Loss::Expired);
        ExchangeFailure { error: self.error.with_executed(Executed::Unknown), loss, ..self }
    }
}

impl From<Error> for ExchangeFailure {
    fn from(error: Error) -> Self {
        ExchangeFailure { error, loss: None, by_status: false, refusal: None }
    }
}

impl HttpLink {
    pub(super) async fn not_reached(&self, error: &SendError) -> ExchangeFailure {
        if error.is_unsent() || RefusedAddress::cause_of(error).is_some() {
            let (error, loss) = self.peer.not_dialled(error);
            return ExchangeFailure { error, loss, by_status: false, refusal: None };
        }
        if error.is_flood() {
            let flood =
                self.peer.error(ErrorKind::LimitExceeded, format!("The server sent {error}"));
            return flood.with_executed(Executed::Unknown).with_hint(FLOOD_HINT).into();
        }
        let lost = self.peer.unreachable(error).with_executed(Executed::Unknown);
        // A request on a connection that the server is closing gets no answer either, although the server is fine.
        ExchangeFailure::new(lost, Box::pin(self.check_reachable()).await)
    }

    pub(super) async fn cut_off(&self, error: &BodyError) -> ExchangeFailure {
        let lost = self.peer.lost_by("The answer was cut off", error);
        ExchangeFailure::new(
            lost.with_executed(Executed::Unknown),
            Box::pin(self.check_reachable()).await,
        )
    }

    /// Checks whether a server that closed the connection is still up: any answer means that it is.
    async fn check_reachable(&self) -> Loss {
        let Ok(mut request) = self.request(Method::HEAD) else { return Loss::Gone };
        match timeout(REACHABLE_CHECK, request.send()).await {
            Ok(Err(error)) if !is_caused_by_shortage(&error) => Loss::Gone,
            Ok(_) | Err(_) => Loss::Doubtful,
        }
    }

    pub(super) fn ended_early(&self) -> Error {
        self.peer.lost("The server ended its answer early").with_executed(Executed::Unknown)
    }

    pub(super) fn unexpected(&self, what: impl Into<Message>) -> Error {
        self.peer
            .error(ErrorKind::ProtocolError, Message::new("The server ").append(&what.into()))
            .with_executed(Executed::Unknown)
            .with_hint("is this the URL of an MCP server?")
    }

    pub(in crate::wire) fn over_limit(&self) -> Error {
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
