//! Owns what is said when it does not work: the error for whoever asked, and what it means for the whole link.
//! What waits here is boxed, so that the calls that go well do not carry the room for it.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use serde::Deserialize;
use tokio::time::timeout;

use super::Link;
use super::client::{Refused, client};
use crate::error::{Error, ErrorKind, Executed};
use crate::wire::Loss;

/// How much of a refusal is read.
const WORDS: usize = 64 << 10;
/// How long reading it, or looking whether the server is still there, may take.
const LOOK: Duration = Duration::from_secs(1);

/// One exchange that failed.
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) loss: Option<Loss>,
}

impl Failure {
    fn new(error: Error, loss: Loss) -> Self {
        Failure { error, loss: Some(loss) }
    }

    /// The same where only the rest of an answer was asked for. A 404 to that may be about the stream; if it is about
    /// the session, the next POST tells.
    pub(super) fn after_taken(self) -> Self {
        let loss = self.loss.filter(|loss| *loss != Loss::Expired);
        Failure { error: self.error.with_executed(Executed::Unknown), loss }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, loss: None }
    }
}

impl Link {
    fn lost(&self, what: &str) -> Error {
        self.error(ErrorKind::ConnectionLost, what)
    }

    /// What happened, and where. What others put into it is told without the values that they were given.
    fn error(&self, kind: ErrorKind, what: &str) -> Error {
        Error::new(kind, format!("{} ({})", self.mask.text(what), self.shown)).quoting(&self.shown)
    }

    fn lost_by(&self, what: &str, error: &reqwest::Error) -> Error {
        let cause = root_cause(error);
        let words = cause.to_string();
        let lost = self.lost(&format!("{what}: {words}"));
        // A certificate's names or a farewell may stand in it, but for the system's own words.
        let by_system = cause.downcast_ref::<std::io::Error>().and_then(|it| it.raw_os_error());
        if by_system.is_some() { lost } else { lost.quoting(&words) }
    }

    pub(super) async fn not_reached(&self, error: &reqwest::Error) -> Failure {
        if let Some(refused) = Refused::cause_of(error) {
            let refused = refused.told(&self.server).with_executed(Executed::No);
            return Failure::new(refused, Loss::Gone);
        }
        let lost = self
            .lost_by("The server cannot be reached", error)
            .with_hint("is it running, and is the URL right?");
        if error.is_connect() {
            return Failure::new(lost.with_executed(Executed::No), Loss::Gone);
        }
        // What left on a connection that the server was just closing gets no answer either, though the server is well.
        Failure::new(lost.with_executed(Executed::Unknown), Box::pin(self.look()).await)
    }

    pub(super) async fn cut_off(&self, error: &reqwest::Error) -> Failure {
        let lost = self.lost_by("The answer was cut off", error);
        Failure::new(lost.with_executed(Executed::Unknown), Box::pin(self.look()).await)
    }

    /// Whether a server that broke off is still there: it is when it answers anything at all.
    async fn look(&self) -> Loss {
        let Ok(client) = client(self.addresses) else { return Loss::Gone };
        match timeout(LOOK, client.head(self.url.clone()).send()).await {
            Ok(Err(_)) => Loss::Gone,
            Ok(Ok(_)) | Err(_) => Loss::Doubtful,
        }
    }

    pub(super) fn ended_early(&self) -> Error {
        self.lost("The server ended its answer early").with_executed(Executed::Unknown)
    }

    pub(super) fn odd(&self, what: &str) -> Error {
        self.error(ErrorKind::ProtocolError, &format!("The server {what}"))
            .with_executed(Executed::Unknown)
            .with_hint("is this the URL of an MCP server?")
    }

    pub(super) fn over_limit(&self) -> Error {
        let limit = match self.message_limit {
            bytes if bytes < 1 << 20 => format!("{bytes} bytes"),
            bytes => format!("{} MiB", bytes >> 20),
        };
        let text = format!("The server's answer is over {limit}");
        Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::Yes)
    }

    pub(super) async fn refused(&self, response: Response, with_session: bool) -> Failure {
        let status = response.status();
        if status.is_redirection() {
            return self.redirected(&response).into();
        }
        let forgotten = with_session
            && match status {
                StatusCode::NOT_FOUND => true,
                StatusCode::BAD_REQUEST => denies_session(&Box::pin(words(response)).await),
                _ => false,
            };
        if forgotten {
            let lost = self.lost("The server has forgotten our session");
            return Failure::new(lost.with_executed(Executed::No), Loss::Expired);
        }
        let error = |kind| self.error(kind, &format!("The server answered {status}"));
        match status {
            StatusCode::UNAUTHORIZED => error(ErrorKind::AuthRequired)
                .with_executed(Executed::No)
                .with_hint("put a token into \"headers\"")
                .into(),
            StatusCode::FORBIDDEN => {
                error(ErrorKind::AuthFailed).with_executed(Executed::No).into()
            }
            _ => {
                let loss = status.is_server_error().then_some(Loss::Doubtful);
                let error = error(ErrorKind::ConnectionLost).with_executed(Executed::Unknown);
                Failure { error, loss }
            }
        }
    }

    fn redirected(&self, response: &Response) -> Error {
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        let elsewhere = location.and_then(|location| self.url.join(location).ok());
        let place = elsewhere.map_or("nowhere".into(), |url| url.origin().ascii_serialization());
        self.lost(&format!("The server redirects to {place}, which is not followed"))
            .quoting(&place)
            .with_executed(Executed::No)
            .with_hint("set \"url\" to the final address if you trust it")
    }
}

/// What the server says about its refusal, as far as it says it soon.
async fn words(mut response: Response) -> Vec<u8> {
    let mut words = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            words.extend_from_slice(&chunk[..chunk.len().min(WORDS - words.len())]);
            if words.len() == WORDS {
                return;
            }
        }
    };
    let _ = timeout(LOOK, reading).await;
    words
}

/// Whether a refusal is about our session. The protocol wants a 404 for that; servers that send 400 only say it in words.
fn denies_session(words: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        error: Words,
    }
    #[derive(Deserialize)]
    struct Words {
        message: String,
    }
    let text = match serde_json::from_slice::<Refusal>(words) {
        Ok(refusal) => refusal.error.message,
        Err(_) => String::from_utf8_lossy(words).into_owned(),
    };
    let text = text.to_ascii_lowercase();
    text.contains("session")
        && ["unknown", "invalid", "expired", "not found", "missing", "no valid"]
            .iter()
            .any(|word| text.contains(word))
}

/// The innermost error, whose words are without the URL, which may hold secrets.
fn root_cause<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> &'a (dyn std::error::Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_session_is_recognised_by_its_words() {
        for words in [
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing session ID"}}"#,
            "Session not found",
            "INVALID OR EXPIRED SESSION",
            r#"{"error":"unknown sessionId"}"#,
        ] {
            assert!(denies_session(words.as_bytes()), "{words}");
        }
    }

    #[test]
    fn other_refusals_are_not_about_the_session() {
        for words in [
            "",
            "invalid request",
            "the session is fine",
            r#"{"error":{"message":"invalid arguments","data":{"tool":"session"}}}"#,
        ] {
            assert!(!denies_session(words.as_bytes()), "{words}");
        }
    }
}
