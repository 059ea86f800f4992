//! Owns the event stream that answers a POST: reading on after the answer, within limits, and resuming a stream that
//! broke before the answer. It resumes with a GET that names the last event, while the answer is expected and the
//! server sends new events.

use std::sync::atomic::Ordering;

use http::Method;
use http::header::{HeaderName, HeaderValue};
use tokio::time::sleep;

use super::HttpLink;
use super::exchange::{EVENTS, OutgoingRequest, content_type};
use super::failure::ExchangeFailure;
use super::login::NotSent;
use crate::caller::CallerHeaders;
use crate::error::{ErrorKind, Result};
use crate::http_client::{BodyError, Response};
use crate::wire::Loss;
use crate::wire::network::events::EventStream;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// How many times in a row a stream without new events is resumed.
const IN_VAIN: usize = 10;
/// How much of a stream is read after its answer; `reaper` limits the time.
const AFTER_ANSWER: usize = 1 << 20;

/// How reading one stream ended.
enum StreamEnd {
    Clean,
    Broken(BodyError),
    /// Nothing more is expected.
    Answered,
}

/// Why there is no event stream to read.
pub(super) enum NoStream {
    /// The server does not support this.
    NotOffered,
    /// The server responds with errors.
    Failing(ExchangeFailure),
    /// We cannot connect at the moment.
    NotAsked,
    Lost(ExchangeFailure),
}

impl HttpLink {
    /// Delivers the events that answer request `id`.
    pub(super) async fn deliver_events(
        &self,
        mut response: Response,
        caller: Option<&CallerHeaders>,
        id: u64,
    ) -> Result<(), ExchangeFailure> {
        let mut events = EventStream::new(self.message_limit);
        match self.read(&mut response, &mut events, id).await? {
            StreamEnd::Answered => {
                self.drain(response, events).await;
                Ok(())
            }
            // Boxed, so that calls without it do not pay for it.
            end => Box::pin(self.resume(events, end, caller, id)).await,
        }
    }

    /// Reads on after the answer: the server may send more, and the connection is reused only after the stream's end.
    async fn drain(&self, mut response: Response, mut events: EventStream) {
        let rest = async {
            let mut left = AFTER_ANSWER;
            while let Ok(Some(chunk)) = response.chunk().await {
                for data in events.feed(&chunk).flatten() {
                    let Some(inbound) = self.inbound() else { return };
                    inbound.message(data);
                }
                let Some(fewer) = left.checked_sub(chunk.len()) else { return };
                left = fewer;
            }
        };
        tokio::select! {
            biased;
            () = rest => {}
            () = self.sockets.wanted() => {}
        }
    }

    async fn resume(
        &self,
        mut events: EventStream,
        mut end: StreamEnd,
        caller: Option<&CallerHeaders>,
        id: u64,
    ) -> Result<(), ExchangeFailure> {
        let mut in_vain = 0;
        while self.waits_for(id) {
            let is_resumable = in_vain < IN_VAIN && self.has_sessions.load(Ordering::Relaxed);
            let Some(last) = events.last_id().filter(|_| is_resumable) else {
                return Err(match end {
                    StreamEnd::Broken(error) => self.cut_off(&error).await,
                    StreamEnd::Clean | StreamEnd::Answered => self.ended_early().into(),
                });
            };
            in_vain += 1;
            sleep(events.pause()).await;
            let outgoing = self.stream_request(caller, Some(last))?;
            let with_session = outgoing.with_session;
            let response = outgoing.send().await;
            match self.event_stream(response, with_session).await {
                Ok(mut response) => {
                    let before = events.count();
                    events.restart();
                    end = self.read(&mut response, &mut events, id).await?;
                    if events.count() > before {
                        in_vain = 0;
                    }
                }
                Err(NoStream::Failing(_) | NoStream::NotAsked) => {}
                Err(NoStream::NotOffered) => return Err(self.ended_early().into()),
                Err(NoStream::Lost(failure)) => return Err(failure.after_acceptance()),
            }
        }
        Ok(())
    }

    fn waits_for(&self, id: u64) -> bool {
        self.inbound().is_some_and(|inbound| inbound.expects(id))
    }

    /// Delivers the events of one response until request `id` is answered.
    async fn read(
        &self,
        response: &mut Response,
        events: &mut EventStream,
        id: u64,
    ) -> Result<StreamEnd, ExchangeFailure> {
        let mut reservation = self.memory.reserve();
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(StreamEnd::Clean),
                Err(error) => return Ok(StreamEnd::Broken(error)),
            };
            for data in events.feed(&chunk) {
                let Some(inbound) = self.inbound() else { return Ok(StreamEnd::Answered) };
                inbound.message_for(id, data.ok_or_else(|| self.over_limit())?);
            }
            if !self.waits_for(id) {
                return Ok(StreamEnd::Answered);
            }
            if !reservation.resize(events.kept()) {
                return Err(self.over_memory().into());
            }
        }
    }

    /// A GET for events, after `last` if that is known.
    pub(super) fn stream_request(
        &self,
        caller: Option<&CallerHeaders>,
        last: Option<&HeaderValue>,
    ) -> Result<OutgoingRequest> {
        let mut outgoing = self.outgoing_with(caller, Method::GET, EVENTS)?;
        if let Some(last) = last {
            outgoing.request = outgoing.request.header(LAST_EVENT_ID, last.clone());
        }
        Ok(outgoing)
    }

    /// The response to a GET, if it is an event stream.
    pub(super) async fn event_stream(
        &self,
        response: Result<Response, NotSent>,
        with_session: bool,
    ) -> Result<Response, NoStream> {
        let failure = match response {
            Ok(response) if response.status().is_success() => {
                let is_stream = content_type(&response).starts_with("text/event-stream");
                return if is_stream { Ok(response) } else { Err(NoStream::NotOffered) };
            }
            Ok(response) => self.refused(response, with_session).await,
            Err(NotSent::Failed(error)) => self.not_reached(&error).await,
            Err(NotSent::Refused(failure)) => failure,
        };
        Err(match failure.loss {
            Some(Loss::Doubtful) => NoStream::Failing(failure),
            Some(Loss::Gone | Loss::Expired) => NoStream::Lost(failure),
            None if failure.error.kind() == ErrorKind::LimitExceeded => NoStream::NotAsked,
            None => NoStream::NotOffered,
        })
    }
}
