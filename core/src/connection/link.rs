//! Owns what belongs to one attempt, or to one link that is up: its session and its background work.
//! Invariant: dropping it drops its work, so nothing outlives it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout};

use super::dial::read_tools;
use super::health_watch::{probe, watch_over};
use super::phase::PhaseEvent;
use super::starts::StartRequest;
use super::{ConnectionShared, Live};
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;
use crate::session::{Session, SessionEvent, list_tools};
use crate::subscribers::ToolStore;
use crate::tool::Tools;

/// Tool list changes within this time after a refresh are fetched together.
const COALESCE: Duration = Duration::from_millis(300);
/// The same while somebody waits for the tools.
const COALESCE_AWAITED: Duration = Duration::from_millis(20);

/// An attempt in progress.
pub(super) struct Attempt {
    pub(super) session: Arc<Session>,
    pub(super) start_request: Arc<StartRequest>,
    pub(super) dial: BoxFuture<'static, Result<(Live, Tools)>>,
    /// Session events from before the end of the attempt.
    pub(super) early_news: Vec<SessionEvent>,
}

/// A link that is up.
pub(super) struct Link {
    pub(super) live: Arc<Live>,
    probe: Option<BoxFuture<'static, Result<()>>>,
    health_watch: Option<BoxFuture<'static, (PhaseEvent, Option<Error>)>>,
    refresh: Refresh,
    pub(super) store: Option<PendingStore>,
}

/// The refresh of the tool list: when it is due, the one in progress, when the last one started, and whether somebody
/// waits for the next one.
#[derive(Default)]
struct Refresh {
    due: Option<Instant>,
    work: Option<BoxFuture<'static, Result<Tools>>>,
    began: Option<Instant>,
    is_awaited: bool,
}

impl Refresh {
    /// Schedules the next one: at once, unless the last one was a moment ago. One in progress continues; changes that
    /// it misses are fetched after it.
    fn schedule(&mut self) {
        if self.work.is_none() {
            let pause = if self.is_awaited { COALESCE_AWAITED } else { COALESCE };
            let at = self.began.map_or_else(Instant::now, |began| began + pause);
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Brings the next one forward.
    fn hurry(&mut self) {
        self.is_awaited = true;
        if self.due.is_some() {
            self.schedule();
        }
    }
}

/// Tools to be written, and the stores to write them to: the managers may have released the connection by then.
pub(super) struct PendingStore {
    pub(super) due: Instant,
    pub(super) stores: Vec<Box<dyn ToolStore>>,
}

/// The outcome of a link's work.
pub(super) enum LinkEvent {
    Probed(Result<()>),
    Watched(PhaseEvent, Option<Error>),
    RefreshDue,
    Refreshed(Result<Tools>),
    StoreDue,
}

impl Link {
    pub(super) fn new(live: Live) -> Link {
        let refresh = Refresh::default();
        let live = Arc::new(live);
        Link { live, probe: None, health_watch: None, refresh, store: None }
    }

    /// Waits for the next piece of work to end. Cancel-safe.
    pub(super) async fn next(&mut self) -> LinkEvent {
        tokio::select! {
            biased;
            answer = finished(self.probe.as_mut()) => {
                self.probe = None;
                LinkEvent::Probed(answer)
            }
            (event, error) = finished(self.health_watch.as_mut()) => {
                self.health_watch = None;
                LinkEvent::Watched(event, error)
            }
            () = due(self.refresh.due) => LinkEvent::RefreshDue,
            tools = finished(self.refresh.work.as_mut()) => {
                self.refresh.work = None;
                LinkEvent::Refreshed(tools)
            }
            () = due(self.store.as_ref().map(|store| store.due)) => LinkEvent::StoreDue,
        }
    }

    pub(super) fn has_served(&self) -> bool {
        self.live.session.has_served()
    }

    /// Starts pings and the idle watch by the definition.
    pub(super) fn watch_over(
        &mut self,
        generation: u64,
        config: &ServerConfig,
        shared: &Arc<ConnectionShared>,
    ) {
        self.health_watch = None;
        if config.idle_shutdown.is_some() || config.ping_interval.is_some() {
            let watch = watch_over(self.live.clone(), generation, config, shared.clone());
            self.health_watch = Some(Box::pin(watch));
        }
    }

    pub(super) fn begin_probe(&mut self, config: &ServerConfig, shared: &ConnectionShared) {
        let session = self.live.session.clone();
        self.probe = Some(Box::pin(probe(session, config.health_probe, shared.clock.clone())));
    }

    /// Refreshes the tools after a change.
    pub(super) fn refresh_soon(&mut self) {
        self.refresh.schedule();
    }

    /// Somebody waits for the tools that the server announced.
    pub(super) fn hurry_refresh(&mut self) {
        self.refresh.hurry();
    }

    pub(super) fn begin_refresh(&mut self, config: &ServerConfig, shared: &Arc<ConnectionShared>) {
        let (live, shared, limit) = (self.live.clone(), shared.clone(), config.timeout);
        live.session.announcements().mark_requested();
        let work: BoxFuture<'static, _> = Box::pin(async move {
            let listed = timeout(limit, list_tools(&live.session, &live.greeting)).await;
            match listed {
                Ok(listed) => Ok(read_tools(&shared, listed?, &live.session).await),
                Err(_) => Err(Error::new(ErrorKind::ToolTimeout, "tools/list was not answered")),
            }
        });
        self.refresh =
            Refresh { work: Some(work), began: Some(Instant::now()), ..Refresh::default() };
    }
}

/// The end of the work; pending forever without any.
pub(super) async fn finished<T>(work: Option<&mut BoxFuture<'static, T>>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

async fn due(at: Option<Instant>) {
    match at {
        Some(at) => runtime::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_that_somebody_waits_for_comes_sooner() {
        let began = Instant::now();
        let mut refresh = Refresh { began: Some(began), ..Refresh::default() };
        refresh.schedule();
        assert_eq!(refresh.due, Some(began + COALESCE));
        refresh.hurry();
        assert_eq!(refresh.due, Some(began + COALESCE_AWAITED));
        refresh.schedule();
        assert_eq!(refresh.due, Some(began + COALESCE_AWAITED), "later changes do not delay it");
    }

    #[test]
    fn a_change_that_the_refresh_in_progress_misses_is_fetched_soon_after_it() {
        let began = Instant::now();
        let work: BoxFuture<'static, _> = Box::pin(std::future::pending());
        let mut refresh = Refresh { began: Some(began), work: Some(work), ..Refresh::default() };
        refresh.schedule();
        refresh.hurry();
        assert_eq!(refresh.due, None);
        refresh.work = None;
        refresh.schedule();
        assert_eq!(refresh.due, Some(began + COALESCE_AWAITED));
    }
}
