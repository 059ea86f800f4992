//! Owns the older HTTP+SSE transport (protocol 2024-11-05): one GET opens the event stream, its first event names the
//! endpoint that messages are posted to, and all answers arrive over the stream. `fallback` decides when it is tried.
//! Invariant: messages are posted only to the server's own origin, and the end of the stream ends the link.

use std::collections::HashSet;
use std::sync::Weak;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use url::Url;

use super::HttpLink;
use super::body::Body;
use super::exchange::{content_encoding, content_type, media_type};
use super::failure::ExchangeFailure;
use super::fallback::SessionOfGet;
use super::login::NotSent;
use crate::error::{Error, Executed, Message, Result};
use crate::http_client::Response;
use crate::runtime;
use crate::sync::lock;
use crate::wire::network::events::{Event, EventStream};
use crate::wire::{Inbound, UnreadRequests};

/// An event stream that names its endpoint.
pub(super) struct AnswerStream {
    response: Response,
    events: EventStream,
    /// What arrived together with the endpoint.
    early: Vec<Event>,
    has_ended: bool,
    session: SessionOfGet,
}

impl AnswerStream {
    /// Whether it ended without an endpoint.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl HttpLink {
    /// Opens the event stream and waits for its endpoint.
    pub(super) async fn open_answer_stream(&self) -> Result<(Url, AnswerStream), ExchangeFailure> {
        let mut stream = self.open_event_stream().await?;
        Ok((self.endpoint_of(&mut stream).await?, stream))
    }

    /// Posts to this endpoint from now on. The messages of the stream are kept until [`HttpLink::deliver_answers`].
    pub(super) fn use_answer_stream(&self, endpoint: Url, mut stream: AnswerStream) {
        stream.session.keep();
        *lock(&self.answer_stream) = Some(stream);
        let _ = self.legacy_endpoint.set(endpoint);
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

    /// Opens the event stream, which has not named its endpoint yet.
    pub(super) async fn open_event_stream(&self) -> Result<AnswerStream, ExchangeFailure> {
        let response = match self.stream_request(None, None)?.send().await {
            Ok(response) => response,
            Err(NotSent::Failed(error)) => return Err(self.not_reached(&error).await),
            Err(NotSent::Refused(failure)) => return Err(failure),
        };
        let session = self.session_of_get(response.headers());
        if !response.status().is_success() {
            return Err(self.refused(response, false).await);
        }
        let kind = content_type(&response);
        if !kind.starts_with("text/event-stream") {
            let kind = media_type(&kind);
            let what = Message::new("answered with \"").others(&kind);
            return Err(self.unexpected(what.text("\" instead of an event stream")).into());
        }
        self.refuse_encoded(&response)?;
        let events = EventStream::new(self.message_limit);
        Ok(AnswerStream { response, events, early: Vec::new(), has_ended: false, session })
    }

    /// Waits until the stream has named its endpoint. Cancelling it loses nothing.
    pub(super) async fn endpoint_of(
        &self,
        stream: &mut AnswerStream,
    ) -> Result<Url, ExchangeFailure> {
        loop {
            match stream.response.chunk().await {
                // Events before the endpoint answer nothing: a flood of them is not kept.
                Ok(Some(chunk)) => stream.early = stream.events.feed_events(&chunk),
                Ok(None) => {
                    stream.has_ended = true;
                    return Err(self.stream_ended().into());
                }
                Err(error) => return Err(self.cut_off(&error).await),
            }
            let is_endpoint = |event: &Event| matches!(event, Event::Endpoint(_));
            let named = stream.early.iter().position(is_endpoint);
            if let Some(Event::Endpoint(named)) = named.map(|at| stream.early.remove(at)) {
                return Ok(self.own_endpoint(&named)?);
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
                let what = Message::new("wants messages at ").address(&place).quoting(&place);
                Err(self.unexpected(what.text(", which is another origin")))
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
    let AnswerStream { mut response, mut events, early, .. } = stream;
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
