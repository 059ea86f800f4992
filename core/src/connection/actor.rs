//! Owns the task behind a connection: it obeys the phase, holds the one slot of work, answers the askers, publishes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::dial::{dial, tools_of};
use super::phase::{Effect, Event, Phase};
use super::{Live, Published, Tools, outdate};
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{EventKind, EventLog};
use crate::runtime;
use crate::session::{News, Session, list_tools};
use crate::status::State;

/// Changes of a tool list within this time are fetched together.
const COALESCE: Duration = Duration::from_millis(300);

pub(super) enum Command {
    Connect(oneshot::Sender<Result<()>>),
    Await(oneshot::Sender<Result<()>>),
    Disconnect(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// The end of what was hung up on; the next attempt and whoever disconnects wait for the same one.
type Ending = Shared<Work<()>>;

pub(super) struct Actor {
    server: Arc<str>,
    config: ServerConfig,
    phase: Phase,
    generation: u64,
    /// How often it came up.
    ups: u64,
    commands: mpsc::UnboundedReceiver<Command>,
    news: mpsc::UnboundedReceiver<(u64, News)>,
    tell: mpsc::UnboundedSender<(u64, News)>,
    askers: Vec<oneshot::Sender<Result<()>>>,
    attempt: Option<(Arc<Session>, Work<Result<Live>>)>,
    live: Option<Arc<Live>>,
    ending: Ending,
    refresh_at: Option<Instant>,
    refresh: Option<Work<Result<Tools>>>,
    error: Option<Error>,
    published: Arc<ArcSwap<Published>>,
    events: Arc<EventLog>,
    catalog_version: Arc<AtomicU64>,
}

impl Actor {
    pub(super) fn new(
        server: &str,
        config: ServerConfig,
        commands: mpsc::UnboundedReceiver<Command>,
        published: Arc<ArcSwap<Published>>,
        events: Arc<EventLog>,
        catalog_version: Arc<AtomicU64>,
    ) -> Self {
        let (tell, news) = mpsc::unbounded_channel();
        Actor {
            server: server.into(),
            config,
            phase: Phase::Idle,
            generation: 0,
            ups: 0,
            commands,
            news,
            tell,
            askers: Vec::new(),
            attempt: None,
            live: None,
            ending: ended(),
            refresh_at: None,
            refresh: None,
            error: None,
            published,
            events,
            catalog_version,
        }
    }

    /// Lives until the last handle is dropped, then hangs up.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                dialed = finished(self.attempt.as_mut().map(|(_, work)| work)) => self.dialed(dialed),
                Some((generation, news)) = self.news.recv() => self.heard(generation, news),
                () = due(self.refresh_at) => self.begin_refresh(),
                tools = finished(self.refresh.as_mut()) => self.refreshed(tools),
            }
        }
        self.move_on(Event::Close);
        self.ending.await;
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Connect(asker) => {
                self.askers.push(asker);
                self.move_on(Event::Start);
                if !matches!(self.phase, Phase::Dialing { .. }) {
                    self.settle();
                }
            }
            Command::Await(asker) => {
                self.askers.push(asker);
                if !matches!(self.phase, Phase::Dialing { .. } | Phase::Idle) {
                    self.settle();
                }
            }
            Command::Disconnect(asker) => self.end(Event::Stop, asker),
            Command::Close(asker) => self.end(Event::Close, asker),
        }
    }

    fn end(&mut self, event: Event, asker: oneshot::Sender<()>) {
        self.move_on(event);
        self.settle();
        let ending = self.ending.clone();
        runtime::spawn(async move {
            ending.await;
            let _ = asker.send(());
        });
    }

    fn heard(&mut self, generation: u64, news: News) {
        match news {
            News::Lost(error) => {
                if (Phase::Ready { generation }) == self.phase {
                    tracing::error!(server = &*self.server, "connection lost: {}", error.message());
                    self.error = Some(error);
                }
                self.move_on(Event::Lost { generation });
            }
            News::ToolsChanged => {
                if (Phase::Ready { generation }) == self.phase && self.refresh_at.is_none() {
                    self.refresh_at = Some(Instant::now() + COALESCE);
                }
            }
        }
    }

    fn dialed(&mut self, outcome: Result<Live>) {
        let Some((session, _)) = self.attempt.take() else { return };
        let up = outcome.is_ok();
        match outcome {
            Ok(live) => {
                self.error = None;
                self.ups += 1;
                self.live = Some(Arc::new(live));
            }
            Err(error) => {
                tracing::error!(server = &*self.server, "connect failed: {}", error.message());
                self.error = Some(error);
                self.hang_up(session);
            }
        }
        self.move_on(Event::Dialed { generation: self.generation, up });
    }

    fn move_on(&mut self, event: Event) {
        let before = self.phase;
        let (phase, effect) = self.phase.on(event, self.generation);
        self.phase = phase;
        match effect {
            Effect::Dial { generation } => self.begin(generation),
            Effect::Forget | Effect::HangUp => self.forget(effect),
            Effect::Settle | Effect::Nothing => {}
        }
        if before != phase {
            self.publish();
        }
        if effect == Effect::Settle {
            self.settle();
        }
    }

    fn begin(&mut self, generation: u64) {
        self.generation = generation;
        let session =
            Session::new(self.server.clone(), generation, self.tell.clone(), self.events.clone());
        let (server, config, of) = (self.server.clone(), self.config.clone(), session.clone());
        let last = self.ending.clone();
        let work = Box::pin(async move {
            // The last process of this name ends before the next one begins.
            last.await;
            dial(server, config, of).await
        });
        self.attempt = Some((session, work));
    }

    fn forget(&mut self, effect: Effect) {
        if effect == Effect::HangUp {
            self.error = None;
        }
        self.refresh_at = None;
        self.refresh = None;
        let attempt = self.attempt.take().map(|(session, _)| session);
        let live = self.live.take().map(|live| live.session.clone());
        if let Some(session) = attempt.or(live) {
            self.hang_up(session);
        }
    }

    fn hang_up(&mut self, session: Arc<Session>) {
        let last = self.ending.clone();
        let task = runtime::spawn(async move {
            session.close().await;
            last.await;
        });
        let work: Work<()> = Box::pin(async move { drop(task.await) });
        self.ending = work.shared();
    }

    fn settle(&mut self) {
        let outcome = match (self.phase, &self.error) {
            (Phase::Ready { .. }, _) => Ok(()),
            (Phase::Closed, _) => Err(Error::new(ErrorKind::Closed, "The manager is closed")),
            (_, Some(error)) => Err(error.clone()),
            (_, None) => {
                let text = format!("Server \"{}\" is disconnected", self.server);
                Err(Error::new(ErrorKind::ToolUnavailable, text).with_server(&self.server))
            }
        };
        for asker in self.askers.drain(..) {
            let _ = asker.send(outcome.clone());
        }
    }

    fn publish(&mut self) {
        let had = self.published.load().live.as_ref().map_or(0, |live| live.tools.list.len());
        let has = self.live.as_ref().map_or(0, |live| live.tools.list.len());
        let state = self.phase.state();
        self.show(state);
        self.events.emit(&self.server, EventKind::Status { state, error: self.error.clone() });
        if had != has {
            self.events.emit(&self.server, EventKind::ToolsChanged { tool_count: has });
        }
    }

    fn show(&self, state: State) {
        self.published.store(Arc::new(Published {
            state,
            attempt: self.generation,
            restarts: self.ups.saturating_sub(1),
            error: self.error.clone(),
            live: self.live.clone(),
        }));
        outdate(&self.catalog_version);
    }

    fn begin_refresh(&mut self) {
        self.refresh_at = None;
        let Some(live) = self.live.clone() else { return };
        let (server, config) = (self.server.clone(), self.config.clone());
        self.refresh = Some(Box::pin(async move {
            let listed = timeout(config.timeout, list_tools(&live.session, &live.greeting)).await;
            match listed {
                Ok(listed) => Ok(tools_of(&server, &config, listed?)),
                Err(_) => Err(Error::new(ErrorKind::ToolTimeout, "tools/list was not answered")),
            }
        }));
    }

    fn refreshed(&mut self, outcome: Result<Tools>) {
        self.refresh = None;
        let (tools, live) = match (outcome, &self.live) {
            (Ok(tools), Some(live)) => (tools, live),
            (Err(error), _) => {
                return tracing::warn!(
                    server = &*self.server,
                    "the old tools are kept: {}",
                    error.message()
                );
            }
            (_, None) => return,
        };
        let tool_count = tools.list.len();
        self.live = Some(Arc::new(Live {
            session: live.session.clone(),
            greeting: live.greeting.clone(),
            connected_since_ms: live.connected_since_ms,
            tools,
        }));
        self.show(self.phase.state());
        self.events.emit(&self.server, EventKind::ToolsChanged { tool_count });
    }
}

/// Nothing is left to end.
fn ended() -> Ending {
    let work: Work<()> = Box::pin(std::future::ready(()));
    work.shared()
}

/// The end of the work, or never when there is none.
async fn finished<T>(work: Option<&mut Work<T>>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
