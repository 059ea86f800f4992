//! Owns the standing GET for the server's own messages. It is reopened whenever it ends, so that nothing is missed and
//! a dead server is noticed without a call.
//! Invariant: it does not keep the link alive while it waits.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::HttpLink;
use super::failure::ExchangeFailure;
use super::resume::NoStream;
use crate::http_client::{BodyError, Response};
use crate::wire::Loss;
use crate::wire::network::events::EventStream;

/// How many times the delay doubles while a server fails, or ends each stream at once.
const DOUBLINGS: u32 = 5;
/// A stream that was open for less than this ended at once.
const SHORT: Duration = Duration::from_secs(1);

/// Keeps the standing GET open, if the server offers one.
pub(super) async fn keep_listening(weak: Weak<HttpLink>, message_limit: usize) {
    reopen_while_offered(&weak, message_limit).await;
    note_listening(&weak, false);
}

/// Notes whether the stream is open, or about to be.
fn note_listening(weak: &Weak<HttpLink>, is_listening: bool) {
    if let Some(link) = weak.upgrade() {
        link.is_listening.store(is_listening, Ordering::Relaxed);
    }
}

async fn reopen_while_offered(weak: &Weak<HttpLink>, message_limit: usize) {
    let mut events = EventStream::new(message_limit);
    let mut stood = false;
    let mut hurry = true;
    let mut failures = 0;
    let mut short_streams = 0;
    loop {
        note_listening(weak, true);
        let Some(outgoing) =
            weak.upgrade().and_then(|link| link.stream_request(None, events.last_id()).ok())
        else {
            return;
        };
        let with_session = outgoing.with_session;
        let response = outgoing.send().await;
        let Some(link) = weak.upgrade() else { return };
        let stream = link.event_stream(response, with_session).await;
        link.is_stream_answered.store(true, Ordering::Release);
        link.stream_answered.notify_waiters();
        let pause = match stream {
            Ok(response) => {
                drop(link);
                (stood, failures) = (true, 0);
                let since = Instant::now();
                events.restart();
                let broken = deliver_stream(weak, response, &mut events).await.is_err();
                // A broken stream may be the first sign of a dead server, so it is checked without a delay, unless the
                // server breaks every stream at once.
                let stood_for = since.elapsed();
                let at_once = broken && (hurry || stood_for >= events.pause().max(SHORT));
                hurry &= !broken;
                short_streams = if stood_for < SHORT { short_streams + 1 } else { 0 };
                if at_once { Duration::ZERO } else { pause_after(&events, short_streams) }
            }
            // Before the first open stream, 404 and 500 may stand for 405; if not, the next POST fails too.
            Err(NoStream::Failing(_)) if !stood => return,
            Err(NoStream::Lost(ExchangeFailure { loss: Some(Loss::Expired), .. })) if !stood => {
                return;
            }
            Err(NoStream::Failing(failure)) => {
                if failures == 0 {
                    link.report(failure);
                }
                failures += 1;
                pause_after(&events, failures)
            }
            Err(NoStream::NotAsked) => {
                failures += 1;
                pause_after(&events, failures)
            }
            Err(NoStream::Lost(failure)) => {
                link.report(failure);
                return;
            }
            Err(NoStream::NotOffered) => return,
        };
        note_listening(weak, false);
        sleep(pause).await;
    }
}

/// The delay after this many consecutive failures.
fn pause_after(events: &EventStream, failures: u32) -> Duration {
    events.pause().saturating_mul(1 << DOUBLINGS.min(failures.saturating_sub(1)))
}

/// Delivers until the stream ends; fails if it breaks.
async fn deliver_stream(
    weak: &Weak<HttpLink>,
    mut response: Response,
    events: &mut EventStream,
) -> Result<(), BodyError> {
    while let Some(chunk) = response.chunk().await? {
        let Some(inbound) = weak.upgrade().and_then(|link| link.inbound()) else { return Ok(()) };
        for data in events.feed(&chunk).flatten() {
            inbound.message(data);
        }
    }
    Ok(())
}
