//! Owns the task behind a connection: it obeys the phase, holds the work that is under way, answers the askers,
//! publishes and tells.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::dial::{dial, tools_of};
use super::phase::{Dialed, Effect, Event, Phase};
use super::vigil::{probe, watch_over};
use super::{Live, Published, Seen, Tools};
use crate::audience::Weight;
use crate::catalog::Cache;
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::EventKind;
use crate::runtime;
use crate::session::{News, Session, list_tools};
use crate::status::{Reason, State};
use crate::wire::{Loss, Wire};

/// Changes of a tool list within this time are fetched together.
const COALESCE: Duration = Duration::from_millis(300);
/// The disk is left alone until the rush of connecting is over.
const STORE_DELAY: Duration = Duration::from_millis(150);

pub(super) enum Command {
    Connect(oneshot::Sender<Result<()>>),
    Await(oneshot::Sender<Result<()>>),
    Wake,
    Adopt(Option<Tools>, oneshot::Sender<bool>),
    Redefine(Box<ServerConfig>),
    Disconnect(oneshot::Sender<()>),
}

/// The attempt that is under way.
struct Attempt {
    session: Arc<Session>,
    work: Work<Result<(Live, Tools)>>,
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// The end of what was hung up on; the next attempt and whoever disconnects wait for the same one.
type Ending = Shared<Work<()>>;

pub(super) struct Actor {
    config: ServerConfig,
    phase: Phase,
    generation: u64,
    /// How often it came up.
    ups: u64,
    commands: mpsc::UnboundedReceiver<Command>,
    news: mpsc::UnboundedReceiver<(u64, News)>,
    tell: mpsc::UnboundedSender<(u64, News)>,
    /// Who waits for the end of the attempt that is under way.
    connecting: Vec<oneshot::Sender<Result<()>>>,
    /// Who waits until it is up, however many attempts that takes.
    awaiting: Vec<oneshot::Sender<Result<()>>>,
    attempt: Option<Attempt>,
    live: Option<Arc<Live>>,
    tools: Tools,
    /// The phase's timer, and when it is due by the clock.
    timer: Option<(Duration, Event)>,
    alarm: Option<Work<()>>,
    probe: Option<Work<Result<()>>>,
    vigil: Option<Work<(Event, Option<Error>)>>,
    /// What was heard of a link before its attempt was over.
    early_news: Vec<News>,
    refresh_at: Option<Instant>,
    refresh: Option<Work<Result<Tools>>>,
    store: Option<Store>,
    /// Sessions whose last calls still end by themselves.
    retired: Vec<Weak<Session>>,
    ending: Ending,
    error: Option<Error>,
    seen: Arc<Seen>,
}

impl Actor {
    pub(super) fn new(
        config: ServerConfig,
        commands: mpsc::UnboundedReceiver<Command>,
        seen: Arc<Seen>,
    ) -> Self {
        let (tell, news) = mpsc::unbounded_channel();
        Actor {
            config,
            phase: Phase::Idle,
            generation: 0,
            ups: 0,
            commands,
            news,
            tell,
            connecting: Vec::new(),
            awaiting: Vec::new(),
            attempt: None,
            live: None,
            tools: Tools::default(),
            timer: None,
            alarm: None,
            probe: None,
            vigil: None,
            early_news: Vec::new(),
            refresh_at: None,
            refresh: None,
            store: None,
            retired: Vec::new(),
            ending: ended(),
            error: None,
            seen,
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
                dialed = finished(self.attempt.as_mut().map(|attempt| &mut attempt.work)) => self.dialed(dialed),
                Some((generation, news)) = self.news.recv() => self.heard(generation, news),
                () = finished(self.alarm.as_mut()) => self.timer_due(),
                answer = finished(self.probe.as_mut()) => self.probed(answer),
                (event, error) = finished(self.vigil.as_mut()) => self.watched(event, error),
                () = due(self.refresh_at) => self.begin_refresh(),
                tools = finished(self.refresh.as_mut()) => self.refreshed(tools),
                () = due(self.store.as_ref().map(|store| store.at)) => drop(self.store_now()),
            }
        }
        self.move_on(Event::Close);
        self.ending.await;
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Connect(asker) => {
                self.connecting.push(asker);
                self.move_on(Event::Start);
                if !matches!(self.phase, Phase::Dialing { .. }) {
                    self.settle();
                }
            }
            Command::Await(asker) => {
                self.awaiting.push(asker);
                self.settle();
            }
            Command::Wake => self.move_on(Event::Wake),
            Command::Adopt(tools, asker) => {
                if let Some(tools) = tools {
                    self.adopt(tools);
                }
                let _ = asker.send(!self.tools.list.is_empty());
            }
            Command::Redefine(config) => self.redefine(*config),
            Command::Disconnect(asker) => {
                self.move_on(Event::Stop);
                let ending = self.ending.clone();
                runtime::spawn(async move {
                    ending.await;
                    let _ = asker.send(());
                });
            }
        }
    }

    fn adopt(&mut self, tools: Tools) {
        let unknown = self.live.is_none() && self.tools.list.is_empty();
        let expected =
            matches!(self.phase, Phase::Idle | Phase::Dialing { .. } | Phase::Waiting { .. });
        if unknown && expected {
            self.tools = tools;
            self.publish(Tell::Tools);
        }
    }

    fn redefine(&mut self, config: ServerConfig) {
        let other_server = !self.config.identity_differences(&config).is_empty();
        let settings = self.config.setting_differences(&config);
        let Seen { audience, server, .. } = &*self.seen;
        if !settings.is_empty() && audience.len() > 1 {
            let line = format!("one of its managers changed {} for all", settings.join(", "));
            audience.say(Weight::Warning, server, &line);
        }
        self.config = config;
        if other_server {
            self.tools = Tools::default();
            self.publish(Tell::Tools);
            self.move_on(Event::Replaced);
        } else if let Phase::Ready { generation, .. } = self.phase {
            self.watch_over(generation);
        }
    }

    fn heard(&mut self, generation: u64, news: News) {
        match self.phase {
            Phase::Ready { generation: of, .. } if of == generation => {}
            // The attempt is done, and its end was faster than the news of its success.
            Phase::Dialing { generation: of, .. } if of == generation => {
                return self.early_news.push(news);
            }
            _ => return,
        }
        match news {
            News::Lost(_, Loss::Doubtful) | News::Silent => {
                self.move_on(Event::Suspect { generation });
            }
            News::Lost(error, Loss::Expired) => {
                self.error = Some(error);
                let served = self.live.as_ref().is_some_and(|live| live.session.has_served());
                self.move_on(Event::Expired { generation, served });
            }
            News::Lost(error, Loss::Gone) => {
                self.error = Some(error);
                self.move_on(Event::Lost { generation, reason: Reason::TransportExit });
            }
            News::ToolsChanged => {
                self.refresh_at.get_or_insert_with(|| Instant::now() + COALESCE);
            }
        }
    }

    fn dialed(&mut self, outcome: Result<(Live, Tools)>) {
        let generation = self.generation;
        let outcome = match outcome {
            Ok((live, tools)) => {
                self.attempt = None;
                self.error = None;
                self.ups += 1;
                self.live = Some(Arc::new(live));
                self.tools = tools;
                self.store_soon();
                self.watch_over(generation);
                Dialed::Up
            }
            Err(error) => {
                let outcome =
                    if is_hopeless(error.kind()) { Dialed::Hopeless } else { Dialed::Failed };
                self.error = Some(error);
                outcome
            }
        };
        let early_news = std::mem::take(&mut self.early_news);
        self.move_on(Event::Dialed { generation, outcome });
        for news in early_news {
            self.heard(generation, news);
        }
    }

    fn watch_over(&mut self, generation: u64) {
        let watched = self.config.idle_shutdown.is_some() || self.config.ping_interval.is_some();
        self.vigil = self.live.clone().filter(|_| watched).map(|live| {
            let vigil: Work<_> =
                Box::pin(watch_over(live, generation, &self.config, self.seen.clone()));
            vigil
        });
    }

    fn timer_due(&mut self) {
        self.alarm = None;
        if let Some((_, event)) = self.timer.take() {
            self.move_on(event);
        }
    }

    fn probed(&mut self, answer: Result<()>) {
        self.probe = None;
        let alive = answer.is_ok();
        if let Err(error) = answer {
            self.error = Some(error.with_server(&self.seen.server));
        }
        self.move_on(Event::Probed { generation: self.generation, alive });
    }

    fn watched(&mut self, event: Event, error: Option<Error>) {
        self.vigil = None;
        if let Some(error) = error {
            self.error = Some(error.with_server(&self.seen.server));
        }
        self.move_on(event);
    }

    fn move_on(&mut self, event: Event) {
        let before = self.phase;
        let (phase, effects) = self.phase.on(event, &self.config.restart, self.generation);
        self.phase = phase;
        for effect in effects {
            match effect {
                Effect::Dial { generation } => self.begin(generation),
                Effect::Probe { .. } => self.begin_probe(),
                Effect::LetGo => self.let_go(),
                Effect::HangUp => self.hang_up(),
            }
        }
        if before == phase {
            return;
        }
        if matches!(phase, Phase::Down { .. } | Phase::Stopped | Phase::Closed) {
            self.tools = Tools::default();
        }
        if matches!(phase, Phase::Stopped | Phase::Closed) {
            self.end_retired();
        }
        if matches!(phase, Phase::Idle | Phase::Stopped | Phase::Closed) {
            self.error = None;
        }
        self.set_timer(before);
        self.log(before);
        // That the ladder was reset is seen in the status; it is no event.
        let reset_only = matches!(event, Event::Stable { .. });
        self.publish(if reset_only { Tell::Tools } else { Tell::Status });
        self.settle();
    }

    fn begin(&mut self, generation: u64) {
        self.generation = generation;
        let seen = self.seen.clone();
        let session = Session::new(generation, self.config.limits, self.tell.clone(), seen.clone());
        let (config, of) = (self.config.clone(), session.clone());
        let last = self.ending.clone();
        let work = Box::pin(async move {
            // The last process of this name ends before the next one begins.
            last.await;
            dial(seen.server.clone(), config, of).await
        });
        self.attempt = Some(Attempt { session, work });
    }

    fn begin_probe(&mut self) {
        let Some(live) = &self.live else { return };
        let work = probe(live.session.clone(), self.config.health_probe, self.seen.clock.clone());
        self.probe = Some(Box::pin(work));
    }

    /// Ends whatever belongs to the link or the attempt that was.
    fn forget(&mut self) -> Option<Arc<Session>> {
        if let Some(stored) = self.store_now() {
            self.end_with(async move { drop(stored.await) });
        }
        self.early_news.clear();
        self.refresh_at = None;
        self.refresh = None;
        self.probe = None;
        self.vigil = None;
        let attempt = self.attempt.take().map(|attempt| attempt.session);
        attempt.or(self.live.take().map(|live| live.session.clone()))
    }

    fn let_go(&mut self) {
        let Some(session) = self.forget() else { return };
        let error = self.error.clone().unwrap_or_else(|| {
            Error::new(ErrorKind::ConnectionLost, "The server was shut down by us")
        });
        match session.wire() {
            // Every call is an exchange of its own, which ends by itself; the next session need not wait for it.
            Some(Wire::Http(_)) => {
                session.retire(error);
                self.retired.retain(|session| session.strong_count() > 0);
                self.retired.push(Arc::downgrade(&session));
                runtime::spawn(async move {
                    session.quiet().await;
                    session.close().await;
                });
            }
            _ => self.end_with(async move { session.end(error).await }),
        }
    }

    fn hang_up(&mut self) {
        if let Some(session) = self.forget() {
            self.end_with(async move { session.close().await });
        }
    }

    fn end_retired(&mut self) {
        for session in std::mem::take(&mut self.retired) {
            if let Some(session) = session.upgrade() {
                self.end_with(async move { session.close().await });
            }
        }
    }

    /// Adds to what has to end before the next attempt.
    fn end_with(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        let (last, task) = (self.ending.clone(), runtime::spawn(end));
        let work: Work<()> = Box::pin(async move {
            drop(task.await);
            last.await;
        });
        self.ending = work.shared();
        // Driven by itself: nobody may be waiting.
        runtime::spawn(self.ending.clone());
    }

    fn set_timer(&mut self, before: Phase) {
        let timer = self.phase.timer();
        if timer == before.timer() {
            return;
        }
        self.timer = timer.map(|(delay, event)| (self.seen.clock.now() + delay, event));
        self.alarm = self.timer.map(|(at, _)| {
            let alarm: Work<()> = Box::pin(self.seen.clock.sleep_until(at));
            alarm
        });
    }

    /// Tells the askers what they wait for, as far as it is decided.
    fn settle(&mut self) {
        let server = &self.seen.server;
        let outcome = match (self.phase, &self.error) {
            (Phase::Dialing { .. }, _) => return,
            (Phase::Ready { .. }, _) => Ok(()),
            (Phase::Closed, _) => Err(Error::new(ErrorKind::Closed, "The manager is closed")),
            (_, Some(error)) => Err(error.clone()),
            (_, None) => {
                let text = format!("Server \"{server}\" is disconnected");
                Err(Error::new(ErrorKind::ToolUnavailable, text).with_server(server))
            }
        };
        let still_hoping = matches!(self.phase, Phase::Waiting { .. } | Phase::Idle);
        let awaiting =
            self.awaiting.drain(if still_hoping { 0..0 } else { 0..self.awaiting.len() });
        for asker in self.connecting.drain(..).chain(awaiting) {
            let _ = asker.send(outcome.clone());
        }
    }

    fn state(&self) -> State {
        match (self.phase, self.error.as_ref().map(Error::kind)) {
            (Phase::Down { .. }, Some(ErrorKind::AuthRequired)) => State::NeedsAuth,
            (Phase::Down { .. }, Some(ErrorKind::Untrusted)) => State::Blocked,
            (phase, _) => phase.state(),
        }
    }

    fn publish(&mut self, tell: Tell) {
        let before = self.seen.published.load_full();
        let retry_at = match (self.phase, self.timer) {
            (Phase::Waiting { .. }, Some((at, _))) => Some(at),
            _ => None,
        };
        let published = Arc::new(Published {
            state: self.state(),
            attempt: self.phase.attempts(),
            reason: self.phase.reason(),
            retry_at,
            restarts: self.ups.saturating_sub(1),
            error: self.error.clone(),
            tools: self.tools.clone(),
            live: self.live.clone(),
        });
        let Seen { audience, server, clock, changed, .. } = &*self.seen;
        let status = (tell == Tell::Status).then(|| published.status_event(clock));
        let other_tools = !before.tools.is(&published.tools)
            || (before.live.is_some() != published.live.is_some()
                && !published.tools.list.is_empty());
        let tool_count = published.tools.list.len();
        self.seen.published.store(published);
        audience.outdate_catalogs();
        changed.send_replace(());
        if let Some(status) = status {
            audience.emit(server, status);
        }
        if other_tools {
            audience.emit(server, EventKind::ToolsChanged { tool_count });
        }
    }

    /// Every decision to restart and every failed attempt is an error; a recovery is worth a line too.
    fn log(&self, before: Phase) {
        let Seen { audience, server, .. } = &*self.seen;
        let words = self.error.as_ref().map_or("", Error::message);
        let what = match before {
            Phase::Dialing { .. } => format!("attempt {} failed", before.attempts()),
            _ => "connection lost".to_owned(),
        };
        match self.phase {
            Phase::Waiting { reason, delay, .. } => {
                let (reason, delay) = (reason.name(), delay.as_millis());
                let line = format!("{what} ({reason}): {words}; next attempt in {delay} ms");
                audience.say(Weight::Error, server, &line);
            }
            Phase::Down { reason, .. } => {
                let reason = reason.name();
                let line = format!("{what} ({reason}): {words}; no further attempt");
                audience.say(Weight::Error, server, &line);
            }
            Phase::Ready { .. } if matches!(before, Phase::Dialing { .. }) && self.ups > 1 => {
                audience.say(Weight::Info, server, "connected again");
            }
            _ => {}
        }
    }

    fn begin_refresh(&mut self) {
        self.refresh_at = None;
        let Some(live) = self.live.clone() else { return };
        let (server, limit) = (self.seen.server.clone(), self.config.timeout);
        self.refresh = Some(Box::pin(async move {
            let listed = timeout(limit, list_tools(&live.session, &live.greeting)).await;
            match listed {
                Ok(listed) => Ok(tools_of(&server, listed?)),
                Err(_) => Err(Error::new(ErrorKind::ToolTimeout, "tools/list was not answered")),
            }
        }));
    }

    fn refreshed(&mut self, outcome: Result<Tools>) {
        self.refresh = None;
        match outcome {
            Ok(tools) => {
                self.tools = tools;
                self.store_soon();
                self.publish(Tell::Tools);
            }
            Err(error) => {
                let line = format!("the old tools are kept: {}", error.message());
                self.seen.audience.say(Weight::Warning, &self.seen.server, &line);
            }
        }
    }

    /// Notes the caches of those who hold the connection: they may be gone when the tools are written.
    fn store_soon(&mut self) {
        let views = self.seen.audience.views();
        let caches: Vec<_> =
            views.iter().map(|view| view.cache.clone()).filter(|cache| !cache.is_off()).collect();
        let at = Instant::now() + STORE_DELAY;
        self.store = (!caches.is_empty()).then_some(Store { at, caches });
    }

    /// Writes the tools to the caches, if that is still to be done.
    fn store_now(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let Store { caches, .. } = self.store.take()?;
        let live = self.live.as_ref()?;
        let version = live.greeting.protocol_version.clone();
        let (tools, seen) = (self.tools.clone(), self.seen.clone());
        let fingerprint = self.config.fingerprint();
        Some(runtime::handle().spawn_blocking(move || {
            let listed: Vec<_> = tools.list.iter().map(|tool| tool.raw()).collect();
            let now_ms = seen.clock.wall_ms();
            for cache in caches {
                cache.store(&seen.server, &fingerprint, Some(&version), &listed, now_ms);
            }
        }))
    }
}

/// Tools that are to be written.
struct Store {
    at: Instant,
    caches: Vec<Cache>,
}

/// What is worth an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tell {
    Status,
    Tools,
}

/// What no further attempt can cure.
fn is_hopeless(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConfigInvalid
            | ErrorKind::ConfigIo
            | ErrorKind::ConfigConflict
            | ErrorKind::Untrusted
            | ErrorKind::ServerDisabled
            | ErrorKind::AuthRequired
            | ErrorKind::AuthFailed
    )
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
