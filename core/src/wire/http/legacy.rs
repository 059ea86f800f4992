//! Owns the older HTTP+SSE transport (protocol 2024-11-05): one GET opens the event stream, its first event names the
//! endpoint that messages are posted to, and all answers arrive over the stream. A server that refuses the first POST
//! of Streamable HTTP may speak it too.
//! Invariant: messages are posted only to the server's own origin, and the end of the stream ends the link.

use std::collections::HashSet;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tokio::time::timeout;
use url::Url;

use super::HttpLink;
use super::body::Body;
use super::exchange::{content_encoding, content_type, media_type};
use super::failure::ExchangeFailure;
use super::login::NotSent;
use crate::error::{Error, Executed, Result};
use crate::http_client::Response;
use crate::runtime;
use crate::sync::lock;
use crate::wire::network::events::{Event, EventStream};
use crate::wire::{Inbound, UnreadRequests};

/// How long a server that refused Streamable HTTP may take to name its endpoint. Short: until then, its refusal is not
/// reported.
const FALLBACK: Duration = Duration::from_millis(1500);

/// An event stream that has named its endpoint.
pub(super) struct AnswerStream {
    response: Response,
    events: EventStream,
    /// What arrived together with the endpoint.
    early: Vec<Event>,
}

/// Whether a server that refuses the first POST with this status may speak the older transport. The excluded ones are
/// about the caller or the moment, not about the transport.
fn may_be_legacy(status: StatusCode) -> bool {
    let excluded = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !excluded.contains(&status)
}

impl HttpLink {
    /// Opens the event stream; its messages are kept until [`HttpLink::deliver_answers`].
    pub(super) async fn open_answer_stream(&self) -> Result<(), ExchangeFailure> {
        let (endpoint, stream) = self.answer_stream().await?;
        *lock(&self.answer_stream) = Some(stream);
        let _ = self.legacy_endpoint.set(endpoint);
        Ok(())
    }

    /// After a refusal of the first POST: switches to the older transport, if the server speaks it. Returns where to post
    /// the message again.
    pub(super) async fn fall_back(&self, refusal: &ExchangeFailure) -> Option<Url> {
        let status = refusal.error.http_status().filter(|_| refusal.by_status)?;
        StatusCode::from_u16(status).ok().filter(|status| may_be_legacy(*status))?;
        timeout(FALLBACK, self.open_answer_stream()).await.ok()?.ok()?;
        tracing::warn!(
            server = &*self.peer.server,
            "the server speaks only the older HTTP+SSE transport: set \"type\" to \"sse\""
        );
        self.deliver_answers();
        self.legacy_endpoint.get().cloned()
    }

    /// Whether answers arrive over the event stream.
    pub(super) fn is_legacy(&self) -> bool {
        self.legacy_endpoint.get().is_some()
    }

    /// Delivers the messages of an open event stream until it ends.
    pub(super) fn deliver_answers(&self) {
        if let Some(stream) = lock(&self.answer_stream).take() {
            let task = runtime::spawn(deliver(self.me.clone(), stream));
            let _ = self.listener.set(task.abort_handle());
        }
    }

    /// Gives up the requests that were not posted yet; returns them.
    fn withdraw_unsent(&self) -> HashSet<u64> {
        let mut under_way = lock(&self.under_way);
        let unsent = under_way.extract_if(|_, exchange| !exchange.is_posted);
        unsent.inspect(|(_, exchange)| exchange.task.abort()).map(|(id, _)| id).collect()
    }

    /// The server has accepted request `id`. Some servers put the answer into the response.
    pub(super) async fn accept_legacy(&self, response: Response, id: u64) {
        if content_encoding(&response).is_some() {
            return;
        }
        let body = self.possible_answer(response, Some(id)).await;
        if let (Body::Answer(answer), Some(inbound)) = (body, self.inbound()) {
            inbound.message_for(id, answer);
        }
    }

    async fn answer_stream(&self) -> Result<(Url, AnswerStream), ExchangeFailure> {
        let mut response = match self.stream_request(None, None)?.send().await {
            Ok(response) if response.status().is_success() => response,
            Ok(response) => return Err(self.refused(response, false).await),
            Err(NotSent::Failed(error)) => return Err(self.not_reached(&error).await),
            Err(NotSent::Refused(failure)) => return Err(failure),
        };
        let kind = content_type(&response);
        if !kind.starts_with("text/event-stream") {
            let kind = media_type(&kind);
            let what = format!("answered with \"{kind}\" instead of an event stream");
            return Err(self.unexpected(&what).quoting(&kind).into());
        }
        self.refuse_encoded(&response)?;
        let mut events = EventStream::new(self.message_limit);
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Err(self.stream_ended().into()),
                Err(error) => return Err(self.cut_off(&error).await),
            };
            let mut early = events.feed_events(&chunk);
            let named = early.iter().position(|event| matches!(event, Event::Endpoint(_)));
            if let Some(Event::Endpoint(named)) = named.map(|at| early.remove(at)) {
                return Ok((self.own_endpoint(&named)?, AnswerStream { response, events, early }));
            }
        }
    }

    /// The endpoint, if it is of the server's own origin: credentials are sent with each message.
    fn own_endpoint(&self, named: &Bytes) -> Result<Url> {
        let url = &self.peer.url;
        let named = std::str::from_utf8(named).ok().map(str::trim);
        match named.and_then(|named| url.join(named).ok()) {
            Some(endpoint) if endpoint.origin() == url.origin() => Ok(endpoint),
            Some(other) => {
                let place = other.origin().ascii_serialization();
                let what = format!("wants messages at {place}, which is another origin");
                Err(self.unexpected(&what).quoting(&place))
            }
            None => Err(self.unexpected("names an endpoint that is not a URL")),
        }
    }

    fn endless_event(&self) -> Error {
        let over = self.over_limit().with_executed(Executed::Unknown).incurable();
        if let Some(inbound) = self.inbound() {
            inbound.fail_only_request(&over);
        }
        let lost = self.peer.lost("The server sends an event without end").caused_by(over);
        lost.with_executed(Executed::Unknown)
    }

    fn stream_ended(&self) -> Error {
        self.peer.lost("The server ended its event stream").with_executed(Executed::Unknown)
    }
}

/// Delivers until the stream ends, then closes the link.
async fn deliver(weak: Weak<HttpLink>, stream: AnswerStream) {
    let AnswerStream { mut response, mut events, early } = stream;
    let mut arrived = early;
    let error = loop {
        {
            let Some(inbound) = weak.upgrade().and_then(|link| link.inbound()) else { return };
            arrived.drain(..).for_each(|event| deliver_event(&*inbound, event));
        }
        // No answer can come after such an event.
        if let Some(link) = weak.upgrade().filter(|_| events.is_endless()) {
            break link.endless_event();
        }
        let chunk = response.chunk().await;
        let Some(link) = weak.upgrade() else { return };
        match chunk {
            Ok(Some(chunk)) => arrived = events.feed_events(&chunk),
            Ok(None) => break link.stream_ended(),
            Err(error) => {
                let lost = link.peer.lost_by("The server broke off its event stream", &error);
                break lost.with_executed(Executed::Unknown);
            }
        }
    };
    let Some(link) = weak.upgrade() else { return };
    link.over.store(true, Ordering::Relaxed);
    let unsent = UnreadRequests::Unsent(link.withdraw_unsent());
    if let Some(inbound) = link.inbound() {
        inbound.closed(error, Some(&unsent));
    }
}

fn deliver_event(inbound: &dyn Inbound, event: Event) {
    match event {
        Event::Message(message) => inbound.message(message),
        Event::Oversized { head, tail } => inbound.oversized(&head, &tail),
        // The endpoint of a stream does not change.
        Event::Endpoint(_) => {}
    }
}
