//! Owns the meaning of an HTTP error status: the kind of the error, whether the tool may have run, and whether the
//! session is gone.
//! Invariant: an answer to our request takes precedence over the status, and if one may be unread, the tool may have
//! run.

use std::time::SystemTime;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::StatusCode;
use http::header::{DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use tokio::time::timeout;

use super::body::{Body, denies_session, rpc_error};
use super::exchange::SentMessage;
use super::failure::ExchangeFailure;
use super::login::SignInRefusal;
use super::{ASIDE, HttpLink};
use crate::error::{Error, ErrorKind, Executed, Message, RpcError};
use crate::http_client::{Request, Response};
use crate::wire::Loss;

/// A ping, to find out whether the session is known.
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":"mcpool-session","method":"ping"}"#;

/// The parts of a response that remain after its body is read.
struct Head {
    status: StatusCode,
    retry_after_ms: Option<u64>,
    has_challenge: bool,
    /// Where it redirects to.
    location: Option<String>,
    /// Set if a login may settle it.
    refusal: Option<Box<SignInRefusal>>,
}

impl Head {
    fn from_response(response: &Response) -> Self {
        let (status, headers) = (response.status(), response.headers());
        let waits =
            matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        Head {
            status,
            retry_after_ms: retry_after_ms(headers).filter(|_| waits),
            has_challenge: headers.contains_key(WWW_AUTHENTICATE),
            location: text(headers, &LOCATION).map(str::to_owned),
            refusal: SignInRefusal::from_response(response),
        }
    }

    /// Whether this is about authentication, whatever the body says: a server that refuses the first message has not
    /// started to answer, and a challenge is meant for the client.
    fn is_about_sign_in(&self, opening: bool) -> bool {
        match self.status {
            StatusCode::UNAUTHORIZED => opening || self.has_challenge,
            StatusCode::FORBIDDEN => opening || self.refusal.is_some(),
            _ => false,
        }
    }

    fn denies_session(&self, words: &[u8]) -> bool {
        match self.status {
            StatusCode::NOT_FOUND => true,
            StatusCode::BAD_REQUEST => denies_session(words),
            // Some servers say it with the status of a missing sign-in.
            StatusCode::UNAUTHORIZED => !self.has_challenge && denies_session(words),
            _ => false,
        }
    }
}

impl HttpLink {
    /// Delivers an answer that came with an error status. Without an answer the status decides; the request may have
    /// switched to a redirect target.
    pub(super) async fn deliver_or_redirect(
        &self,
        request: &mut Request,
        response: Response,
        sent: SentMessage,
    ) -> Result<bool, ExchangeFailure> {
        let head = Head::from_response(&response);
        let is_redirected = match request.follow_redirect(&response) {
            Ok(is_redirected) => is_redirected,
            Err(error) => return Err(self.not_reached(&error).await),
        };
        let body = self.possible_answer(response, sent.id).await;
        match (&body, self.inbound(), sent.id) {
            (Body::Answer(answer), Some(inbound), Some(id))
                if !head.is_about_sign_in(sent.opening) =>
            {
                inbound.message_for(id, answer.clone());
                if sent.with_session && head.denies_session(answer) {
                    // Either a tool's own "not found", or a dead session that would fail every later call.
                    let ping = Bytes::from_static(PING).into();
                    let _ = timeout(ASIDE, Box::pin(self.post(&ping, None))).await;
                }
                Ok(false)
            }
            (Body::Words(_), ..) if is_redirected => Ok(true),
            _ => Err(self.failure_by_status(head, &body, sent.with_session)),
        }
    }

    /// Same, for a message without an answer.
    pub(super) async fn refused(&self, response: Response, with_session: bool) -> ExchangeFailure {
        let head = Head::from_response(&response);
        let body = self.possible_answer(response, None).await;
        self.failure_by_status(head, &body, with_session)
    }

    fn failure_by_status(&self, head: Head, body: &Body, with_session: bool) -> ExchangeFailure {
        let status = head.status;
        let is_unread = matches!(body, Body::Unread);
        let at_most = |executed| if is_unread { Executed::Unknown } else { executed };
        if status.is_redirection() {
            let redirected = self.redirected(head.location.as_deref());
            let redirected = redirected.with_http_status(status.as_u16());
            return redirected.with_executed(at_most(executed_if_redirected(status))).into();
        }
        let rpc = rpc_error(body.words()).map(|rpc| self.masked(rpc));
        let refused = |kind, what: &str| {
            let refused = match &rpc {
                Some(rpc) => {
                    self.peer.error(kind, format!("{what}: {}", rpc.message)).with_rpc(rpc.clone())
                }
                None => self.peer.error(kind, what),
            };
            refused.with_http_status(status.as_u16())
        };
        if with_session && head.denies_session(body.words()) {
            let lost = refused(ErrorKind::ConnectionLost, "The server has forgotten our session");
            let lost = lost.with_executed(at_most(Executed::No));
            return ExchangeFailure::refused(lost, Some(Loss::Expired));
        }
        let (kind, executed) = kind_and_executed(status);
        let mut error = refused(kind, &format!("The server answered {status}"))
            .with_executed(at_most(executed));
        if let Some(hint) = hint_for(status) {
            error = error.with_hint(hint);
        }
        if let Some(ms) = head.retry_after_ms {
            error = error.with_retry_after_ms(ms);
        }
        let error = self.explain_refusal(status, error);
        let loss = status.is_server_error().then_some(Loss::Doubtful);
        ExchangeFailure { refusal: head.refusal, ..ExchangeFailure::refused(error, loss) }
    }

    fn masked(&self, RpcError { code, message, data }: RpcError) -> RpcError {
        let message = self.peer.mask().text(&message).into_owned();
        RpcError { code, message, data: data.map(|data| self.peer.mask().json(data)) }
    }

    fn redirected(&self, location: Option<&str>) -> Error {
        let elsewhere = location.and_then(|location| self.peer.url.join(location).ok());
        let place = elsewhere.map_or("nowhere".into(), |url| url.origin().ascii_serialization());
        let what = Message::new("The server redirects to ").address(&place);
        self.peer
            .lost(what.text(", which is not followed").quoting(&place))
            .with_hint("set \"url\" to the final address if you trust it")
    }
}

/// Whether the tool ran: a server that points to another place for the result may have done the work.
fn executed_if_redirected(status: StatusCode) -> Executed {
    match status {
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => Executed::No,
        _ => Executed::Unknown,
    }
}

/// The kind of a refusal, and whether the tool ran. `No` only if the status says that the request was not processed.
fn kind_and_executed(status: StatusCode) -> (ErrorKind, Executed) {
    match status {
        StatusCode::UNAUTHORIZED => (ErrorKind::AuthRequired, Executed::No),
        StatusCode::FORBIDDEN => (ErrorKind::AuthFailed, Executed::No),
        StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            (ErrorKind::ToolUnavailable, Executed::No)
        }
        StatusCode::NOT_FOUND | StatusCode::REQUEST_TIMEOUT => {
            (ErrorKind::ToolUnavailable, Executed::Unknown)
        }
        StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::LENGTH_REQUIRED
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::URI_TOO_LONG
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::MISDIRECTED_REQUEST
        | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (ErrorKind::ToolRejected, Executed::No),
        status if status.is_client_error() => (ErrorKind::ToolRejected, Executed::Unknown),
        _ => (ErrorKind::ConnectionLost, Executed::Unknown),
    }
}

fn hint_for(status: StatusCode) -> Option<&'static str> {
    match status {
        StatusCode::UNAUTHORIZED => Some("put a token into \"headers\""),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => {
            Some("is this the URL of an MCP server?")
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Some("put the proxy's login into its variable, such as HTTP_PROXY")
        }
        StatusCode::PAYLOAD_TOO_LARGE => Some("make the arguments smaller"),
        StatusCode::TOO_MANY_REQUESTS => Some("try again later, or less often"),
        _ => None,
    }
}

/// When to retry: after a number of seconds, or at a time, relative to the server's own clock if the response has it.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let after = text(headers, &RETRY_AFTER)?.trim();
    if !after.is_empty() && after.bytes().all(|digit| digit.is_ascii_digit()) {
        return Some(after.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1000));
    }
    let date = |text: &str| DateTime::parse_from_rfc2822(text.trim()).ok().map(|it| it.to_utc());
    let now = text(headers, &DATE).and_then(date);
    let now = now.unwrap_or_else(|| DateTime::<Utc>::from(SystemTime::now()));
    let wait = date(after)?.signed_duration_since(now).num_milliseconds();
    Some(u64::try_from(wait).unwrap_or(0))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(retry_after: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, retry_after.parse().expect("a value"));
        if let Some(date) = date {
            headers.insert(DATE, date.parse().expect("a value"));
        }
        retry_after_ms(&headers)
    }

    #[test]
    fn a_retry_after_is_a_number_of_seconds_or_a_date() {
        let now = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(after("120", None), Some(120_000));
        assert_eq!(after(" 0 ", None), Some(0));
        assert_eq!(after("99999999999999999999", None), Some(u64::MAX));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT", now), Some(30_000));
        assert_eq!(after("Sun, 06 Nov 1994 08:49:00 GMT", now), Some(0));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT", None), Some(0), "by our own clock");
        for odd in ["", "soon", "-3", "1.5", "Sun, 99 Nov 1994"] {
            assert_eq!(after(odd, now), None, "{odd}");
        }
    }

    #[test]
    fn a_client_error_is_never_a_lost_connection() {
        for code in 400..500 {
            let status = StatusCode::from_u16(code).expect("a status");
            assert_ne!(kind_and_executed(status).0, ErrorKind::ConnectionLost, "{code}");
        }
        for code in 500..600 {
            let status = StatusCode::from_u16(code).expect("a status");
            assert_eq!(
                kind_and_executed(status),
                (ErrorKind::ConnectionLost, Executed::Unknown),
                "{code}"
            );
        }
    }
}
