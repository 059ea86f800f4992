//! Owns which way to begin with a server: `initialize`, or `server/discover` where the protocol has no handshake.
//! `initialize` is the usual first question, because old servers crash or fall silent at the other one, and no answer to
//! it is lost: a server that has no handshake refuses it.
//! Invariant: a question that is refused leads to the other one, over the same connection. The other question costs no
//! server that would have failed anyway more than a moment.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::timeout;

use super::discover::{Discovered, discover, shows_stateless};
use super::handshake::{Era, Handshake, connect_error, initialize, refused};
use super::stateless::RequestMetadata;
use super::{Session, message};
use crate::client_info::ClientInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::oauth::Login;

/// How long a server may be silent at `server/discover` before it is asked the other question too.
const SILENCE: Duration = Duration::from_secs(1);
/// A server that has answered the first question answers the second within this many times that.
const SLOWER: u32 = 3;

/// What is asked of a server, in which order.
pub(crate) struct Negotiation<'a> {
    pub(crate) first: Era,
    /// Whether the other question may follow.
    pub(crate) both: bool,
    /// The version that `initialize` asks for.
    pub(crate) version: Option<&'a str>,
    /// How long a server may be silent at `initialize` before it is asked the other question too.
    pub(crate) patience: Option<Duration>,
    /// A person who signs in takes longer than a server.
    pub(crate) login: Option<Arc<Login>>,
}

/// Begins with a server.
pub(crate) async fn negotiate(
    session: &Session,
    client: &ClientInfo,
    questions: Negotiation<'_>,
) -> Result<Handshake> {
    let metadata = RequestMetadata::new(client, &session.subscribers.capabilities());
    let asking = Asking { session, client, metadata: &metadata, questions: &questions };
    let handshake = asking.ask_in_order().await.map_err(connect_error)?;
    settle(session, &handshake, metadata).await?;
    Ok(handshake)
}

/// Tells the server, or the transport, what was agreed.
async fn settle(session: &Session, handshake: &Handshake, metadata: RequestMetadata) -> Result<()> {
    let wire = session.connected_wire()?;
    wire.announce_version(&handshake.protocol_version);
    match handshake.era() {
        Era::Initialize => {
            let initialized = message::notification("notifications/initialized", &json!({}));
            wire.send_and_confirm(initialized).await.map_err(connect_error)?;
            wire.listen();
            if handshake.capabilities.task_calls {
                session.tasks.offer();
            }
        }
        Era::Stateless => {
            wire.forget_session();
            let _ = session.stateless.set(metadata);
            session.subscribe(handshake);
        }
    }
    Ok(())
}

struct Asking<'a> {
    session: &'a Session,
    client: &'a ClientInfo,
    metadata: &'a RequestMetadata,
    questions: &'a Negotiation<'a>,
}

/// Why a question brought no handshake.
struct Refusal {
    asked: Era,
    error: Error,
    /// Whether the other question may bring one.
    leads_on: bool,
}

type Answer = Result<Handshake, Refusal>;

impl Asking<'_> {
    async fn ask_in_order(&self) -> Result<Handshake> {
        let Negotiation { first, both, patience, .. } = *self.questions;
        let mut asked = pin!(self.ask(first));
        if !both {
            return asked.await.map_err(|refusal| refusal.error);
        }
        let since = Instant::now();
        let patience = if first == Era::Stateless { Some(SILENCE) } else { patience };
        let refusal = match self.answer_within(patience, asked.as_mut()).await {
            Some(Ok(handshake)) => return Ok(handshake),
            Some(Err(refusal)) if !refusal.leads_on => return Err(refusal.error),
            Some(Err(refusal)) => refusal,
            None => return self.ask_both(asked, pin!(self.ask(first.other()))).await,
        };
        // Only `initialize` may take the time of the whole connect.
        let limit = SILENCE.max(SLOWER * since.elapsed());
        let limit = (first == Era::Initialize).then_some(limit);
        match self.answer_within(limit, pin!(self.ask(first.other()))).await {
            Some(Ok(handshake)) => Ok(handshake),
            Some(Err(second)) => Err(more_telling(refusal, second)),
            None => Err(refusal.error),
        }
    }

    /// The answer, if it comes within the limit. The time of a sign-in does not count.
    async fn answer_within(
        &self,
        limit: Option<Duration>,
        mut answer: Pin<&mut impl Future<Output = Answer>>,
    ) -> Option<Answer> {
        let Some(limit) = limit else { return Some(answer.await) };
        loop {
            match timeout(limit, answer.as_mut()).await {
                Ok(answer) => return Some(answer),
                Err(_) if self.questions.login.as_ref().is_some_and(|it| it.is_waiting()) => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits for the first answer to either question.
    async fn ask_both(
        &self,
        mut first: Pin<&mut impl Future<Output = Answer>>,
        mut second: Pin<&mut impl Future<Output = Answer>>,
    ) -> Result<Handshake> {
        let (answer, is_first) = tokio::select! {
            biased;
            answer = &mut first => (answer, true),
            answer = &mut second => (answer, false),
        };
        let refusal = match answer {
            Ok(handshake) => return Ok(handshake),
            Err(refusal) if !refusal.leads_on || self.session.is_over() => {
                return Err(refusal.error);
            }
            Err(refusal) => refusal,
        };
        let other = if is_first { second.await } else { first.await };
        other.map_err(|other| more_telling(refusal, other))
    }

    async fn ask(&self, era: Era) -> Answer {
        let outcome = match era {
            Era::Initialize => initialize(self.session, self.client, self.questions.version).await,
            Era::Stateless => match discover(self.session, self.metadata).await {
                Ok(Discovered::Stateless(handshake)) => Ok(handshake),
                Ok(Discovered::OnlyOlder) => {
                    let error = refused("it names only protocol versions with a handshake");
                    return Err(Refusal { asked: era, error, leads_on: true });
                }
                Err(error) => Err(error),
            },
        };
        match outcome {
            Ok(handshake) if handshake.era() == era => Ok(handshake),
            Ok(Handshake { protocol_version, .. }) => {
                let what = format!("it answers initialize with version \"{protocol_version}\"");
                Err(Refusal { asked: era, error: refused(&what), leads_on: true })
            }
            Err(error) => {
                let leads_on = self.may_speak_other(era, &error);
                Err(Refusal { asked: era, error, leads_on })
            }
        }
    }

    /// Whether a server that fails so may answer the other question.
    fn may_speak_other(&self, asked: Era, error: &Error) -> bool {
        match error.kind() {
            ErrorKind::ToolFailed => true,
            ErrorKind::ToolRejected | ErrorKind::ToolUnavailable => match error.http_status() {
                // They are about the moment.
                None | Some(408 | 425 | 429) => false,
                // There is no server at this address, or a gateway whose server is away.
                Some(404 | 405 | 502..=504) => asked == Era::Stateless || error.rpc().is_some(),
                Some(_) => true,
            },
            // Servers fail in many ways at a method that they do not know.
            ErrorKind::ProtocolError | ErrorKind::LimitExceeded => !self.session.is_over(),
            ErrorKind::ConnectionLost => asked == Era::Stateless && !self.session.is_over(),
            _ => false,
        }
    }
}

/// Of two refusals, the one that says more: that of `initialize`, unless the server has shown that it has no handshake or
/// wants a sign-in.
fn more_telling(first: Refusal, second: Refusal) -> Error {
    let (initialize, discover) = match first.asked {
        Era::Initialize => (first.error, second.error),
        Era::Stateless => (second.error, first.error),
    };
    let is_telling = shows_stateless(&discover)
        || discover.is_incurable()
        || matches!(discover.kind(), ErrorKind::AuthRequired | ErrorKind::AuthFailed);
    if is_telling && !initialize.is_incurable() { discover } else { initialize }
}
