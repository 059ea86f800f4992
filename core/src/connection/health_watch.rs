//! Owns the health checks of a link that is up: the probe after a suspicion, the regular ping, the idle shutdown. Each
//! is a future that ends in an event; dropping it with the link leaves nothing behind.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::phase::{DownCause, PhaseEvent};
use super::{ConnectionShared, Live};
use crate::clock::Clock;
use crate::config::{HealthProbe, ServerConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::status::Reason;

/// The longest time in which a live server answers a probe.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
const MISSES: u32 = 2;

/// Probes the server in the configured ways, one after the other.
pub(super) fn probe(
    session: Arc<Session>,
    how: HealthProbe,
    clock: Clock,
) -> impl Future<Output = Result<()>> + Send {
    // Fixed now, so that the time counts from the suspicion.
    let (first, second) = (clock.now() + SIGN_OF_LIFE, clock.now() + 2 * SIGN_OF_LIFE);
    async move {
        match how {
            HealthProbe::Ping => answer_before(&clock, first, &session, session.ping()).await,
            HealthProbe::ListTools => {
                answer_before(&clock, first, &session, session.ask_for_tools()).await
            }
            // Its ping would be the same.
            HealthProbe::Auto if session.is_stateless() => {
                answer_before(&clock, first, &session, session.ask_for_tools()).await
            }
            HealthProbe::Auto => match answer_before(&clock, first, &session, session.ping()).await
            {
                Ok(()) => Ok(()),
                Err(_) => answer_before(&clock, second, &session, session.ask_for_tools()).await,
            },
        }
    }
}

/// Watches a link, from now on and while it is polled.
pub(super) fn watch_over(
    live: Arc<Live>,
    generation: u64,
    config: &ServerConfig,
    shared: Arc<ConnectionShared>,
) -> impl Future<Output = (PhaseEvent, Option<Error>)> + Send + use<> {
    shared.touch();
    let (began, limit, every) = (shared.clock.now(), config.idle_shutdown, config.ping_interval);
    async move {
        tokio::select! {
            biased;
            () = until_idle(&live.session, limit, &shared) => (PhaseEvent::Idled { generation }, None),
            error = until_unresponsive(&live.session, every, began, &shared.clock) => {
                let cause = DownCause::from_error_kind(error.kind());
                (PhaseEvent::Lost { generation, reason: Reason::ProbeFailure, cause }, Some(error))
            }
        }
    }
}

/// Ends when there was no call for the limit; from then on the session refuses calls.
async fn until_idle(session: &Session, limit: Option<Duration>, shared: &ConnectionShared) {
    let Some(limit) = limit else { return std::future::pending().await };
    loop {
        let due = shared.last_call_at() + limit;
        shared.clock.sleep_until(due).await;
        if shared.clock.now() < shared.last_call_at() + limit {
            continue;
        }
        if session.retire_if_quiet() {
            return;
        }
        shared.touch();
    }
}

/// Ends when the server has missed two consecutive pings.
async fn until_unresponsive(
    session: &Session,
    every: Option<Duration>,
    began: Duration,
    clock: &Clock,
) -> Error {
    let Some(every) = every else { return std::future::pending().await };
    let mut missed = 0;
    let mut due = began + every;
    loop {
        clock.sleep_until(due).await;
        due = clock.now() + every;
        match answer_before(clock, clock.now() + SIGN_OF_LIFE, session, session.ping()).await {
            Ok(()) => missed = 0,
            Err(error) => {
                missed += 1;
                if missed == MISSES {
                    return error;
                }
            }
        }
    }
}

async fn answer_before(
    clock: &Clock,
    at: Duration,
    session: &Session,
    answer: impl Future<Output = Result<()>>,
) -> Result<()> {
    let mut answer = pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => return answer,
        () = clock.sleep_until(at) => {}
    }
    session.read_arrived(clock.late_for(at)).await;
    answer.now_or_never().unwrap_or_else(|| {
        let text = "The server runs but gives no sign of life";
        Err(Error::new(ErrorKind::ConnectionLost, text))
    })
}
