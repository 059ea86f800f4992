//! Owns the task behind a connection: it obeys the phase and holds the work that is under way.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::dial::dial;
use super::health_watch::{probe, watch_over};
use super::phase::{Dialed, Effect, Event, Phase};
use super::starts::Ticket;
use super::{Live, Shared};
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;
use crate::session::{Session, SessionEvent, SessionOwner};
use crate::status::Reason;
use crate::subscribers::{Severity, ToolStore};
use crate::tool::Tools;
use crate::wire::Loss;

mod ending;
mod publish;
mod tools;

use ending::{Ending, ended};
use publish::Change;
use tools::PendingStore;

pub(super) enum Command {
    Connect(oneshot::Sender<Result<()>>),
    Await(oneshot::Sender<Result<()>>),
    Wake,
    Adopt(Option<Tools>, oneshot::Sender<bool>),
    Redefine(Box<ServerConfig>),
    Store(Box<dyn ToolStore>),
    Disconnect(oneshot::Sender<()>),
}

/// The attempt that is under way.
struct Attempt {
    session: Arc<Session>,
    ticket: Arc<Ticket>,
    work: Work<Result<(Live, Tools)>>,
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(super) struct Actor {
    config: ServerConfig,
    phase: Phase,
    generation: u64,
    /// How often it came up.
    ups: u64,
    commands: mpsc::UnboundedReceiver<Command>,
    news: mpsc::UnboundedReceiver<(u64, SessionEvent)>,
    tell: mpsc::UnboundedSender<(u64, SessionEvent)>,
    /// Who waits for the end of the attempt that is under way.
    connecting: Vec<oneshot::Sender<Result<()>>>,
    /// Who waits until it is up, however many attempts that takes.
    awaiting: Vec<oneshot::Sender<Result<()>>>,
    attempt: Option<Attempt>,
    live: Option<Arc<Live>>,
    tools: Tools,
    /// When the link came up, by the clock.
    up_at: Duration,
    /// The phase's timer, and when it is due by the clock.
    timer: Option<(Duration, Event)>,
    alarm: Option<Work<()>>,
    probe: Option<Work<Result<()>>>,
    health_watch: Option<Work<(Event, Option<Error>)>>,
    /// What was heard of a link before its attempt was over.
    early_news: Vec<SessionEvent>,
    refresh_at: Option<Instant>,
    refresh: Option<Work<Result<Tools>>>,
    /// When the last one began.
    refreshed_at: Option<Instant>,
    store: Option<PendingStore>,
    /// Sessions whose last calls still end by themselves.
    retired: Vec<Weak<Session>>,
    ending: Ending,
    error: Option<Error>,
    shared: Arc<Shared>,
}

impl Actor {
    pub(super) fn new(
        config: ServerConfig,
        commands: mpsc::UnboundedReceiver<Command>,
        shared: Arc<Shared>,
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
            up_at: Duration::ZERO,
            timer: None,
            alarm: None,
            probe: None,
            health_watch: None,
            early_news: Vec::new(),
            refresh_at: None,
            refresh: None,
            refreshed_at: None,
            store: None,
            retired: Vec::new(),
            ending: ended(),
            error: None,
            shared,
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
                (event, error) = finished(self.health_watch.as_mut()) => self.watched(event, error),
                () = due(self.refresh_at) => self.begin_refresh(),
                tools = finished(self.refresh.as_mut()) => self.refreshed(tools),
                () = due(self.store.as_ref().map(|store| store.at)) => self.store_now(),
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
                self.promote();
                if !matches!(self.phase, Phase::Dialing { .. }) {
                    self.settle();
                }
            }
            Command::Await(asker) => {
                self.awaiting.push(asker);
                self.promote();
                self.settle();
            }
            Command::Wake => {
                self.move_on(Event::Wake);
                self.promote();
            }
            Command::Adopt(tools, asker) => {
                if let Some(tools) = tools {
                    self.adopt(tools);
                }
                let _ = asker.send(!self.tools.list.is_empty());
            }
            Command::Redefine(config) => self.redefine(*config),
            Command::Store(store) => self.store_in(store),
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

    fn is_awaited(&self) -> bool {
        !self.connecting.is_empty() || !self.awaiting.is_empty()
    }

    /// Somebody waits for the attempt that is under way.
    fn promote(&self) {
        if let Some(attempt) = &self.attempt {
            attempt.ticket.promote();
        }
    }

    fn redefine(&mut self, config: ServerConfig) {
        let other_server = !self.config.identity_differences(&config).is_empty();
        let settings = self.config.setting_differences(&config);
        let Shared { subscribers, server, .. } = &*self.shared;
        if !settings.is_empty() && subscribers.len() > 1 {
            let line = format!("one of its managers changed {} for all", settings.join(", "));
            subscribers.log(Severity::Warning, server, &line);
        }
        if other_server {
            // Under the old definition, whose tools they are.
            self.store_now();
        }
        self.config = config;
        if let Some(live) = &self.live {
            live.session.bound_requests(self.config.request_timeout);
        }
        if other_server {
            self.tools = Tools::default();
            self.publish(Change::Tools);
            self.move_on(Event::Replaced);
        } else if let Phase::Ready { generation, .. } = self.phase {
            self.watch_over(generation);
        }
    }

    fn heard(&mut self, generation: u64, news: SessionEvent) {
        match self.phase {
            Phase::Ready { generation: of, .. } if of == generation => {}
            // The attempt is done, and its end was faster than the news of its success.
            Phase::Dialing { generation: of, .. } if of == generation => {
                return self.early_news.push(news);
            }
            _ => return,
        }
        match news {
            SessionEvent::Lost(_, Loss::Doubtful) | SessionEvent::Silent => {
                self.move_on(Event::Suspect { generation });
            }
            SessionEvent::Lost(error, Loss::Expired) => {
                self.note_stability();
                self.error = Some(error);
                let served = self.has_served();
                self.move_on(Event::Expired { generation, served });
            }
            SessionEvent::Lost(error, Loss::Gone) => {
                self.note_stability();
                self.error = Some(error);
                self.move_on(Event::Lost { generation, reason: Reason::TransportExit });
            }
            SessionEvent::ToolsChanged => self.refresh_soon(),
        }
    }

    fn dialed(&mut self, outcome: Result<(Live, Tools)>) {
        let generation = self.generation;
        let outcome = match outcome {
            Ok((live, tools)) => {
                self.attempt = None;
                self.error = None;
                self.ups += 1;
                live.session.bound_requests(self.config.request_timeout);
                self.up_at = self.shared.clock.now();
                self.live = Some(Arc::new(live));
                self.tools = tools;
                self.store_soon();
                self.watch_over(generation);
                Dialed::Up
            }
            Err(error) => {
                let outcome = match error.kind() {
                    kind if is_hopeless(kind) => Dialed::Hopeless,
                    ErrorKind::AuthFailed => Dialed::Refused,
                    _ if error.is_incurable() => Dialed::Incurable,
                    _ => match error.retry_after_ms() {
                        Some(ms) => Dialed::Busy { wait: Duration::from_millis(ms) },
                        None => Dialed::Failed,
                    },
                };
                if let Some(attempt) = &self.attempt {
                    attempt.session.tell_auth(&error);
                }
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
        self.health_watch = self.live.clone().filter(|_| watched).map(|live| {
            let health_watch: Work<_> =
                Box::pin(watch_over(live, generation, &self.config, self.shared.clone()));
            health_watch
        });
    }

    fn timer_due(&mut self) {
        self.alarm = None;
        match self.timer.take() {
            Some((_, Event::Held { generation })) if self.has_served() => {
                self.move_on(Event::Stable { generation });
            }
            Some((_, event)) => self.move_on(event),
            None => {}
        }
    }

    fn has_served(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.session.has_served())
    }

    /// A link that is lost may have become stable by a call that was answered since its timer.
    fn note_stability(&mut self) {
        if let Phase::Ready { generation, held: true, .. } = self.phase
            && self.has_served()
        {
            self.move_on(Event::Stable { generation });
        }
    }

    fn probed(&mut self, answer: Result<()>) {
        self.probe = None;
        let alive = answer.is_ok();
        if !alive {
            self.note_stability();
        }
        if let Err(error) = answer {
            self.error = Some(error.with_server(&self.shared.server));
        }
        self.move_on(Event::Probed { generation: self.generation, alive });
    }

    fn watched(&mut self, event: Event, error: Option<Error>) {
        self.health_watch = None;
        if let Some(error) = error {
            self.note_stability();
            self.error = Some(error.with_server(&self.shared.server));
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
        let reset_only = matches!(event, Event::Held { .. } | Event::Stable { .. });
        self.publish(if reset_only { Change::Tools } else { Change::Status });
        self.settle();
    }

    fn begin(&mut self, generation: u64) {
        self.generation = generation;
        let shared = self.shared.clone();
        let owner = SessionOwner {
            server: shared.server.clone(),
            generation,
            events: self.tell.clone(),
            subscribers: shared.subscribers.clone(),
            counters: shared.counters.clone(),
        };
        let session = Session::new(owner, self.config.limits);
        let is_first = matches!(self.phase, Phase::Dialing { ladder, .. } if ladder.restarts == 0);
        let ticket = Ticket::new(is_first || self.is_awaited());
        let (config, of, of_ticket) = (self.config.clone(), session.clone(), ticket.clone());
        let (last, pins) = (self.ending.clone(), self.load_pins());
        let work = Box::pin(async move {
            // The last process of this name ends before the next one begins.
            last.await;
            let dialed = dial(shared, config, of, of_ticket).await;
            if let Some(pins) = pins {
                let _ = pins.await;
            }
            dialed
        });
        self.attempt = Some(Attempt { session, ticket, work });
    }

    fn begin_probe(&mut self) {
        let Some(live) = &self.live else { return };
        let work = probe(live.session.clone(), self.config.health_probe, self.shared.clock.clone());
        self.probe = Some(Box::pin(work));
    }

    fn set_timer(&mut self, before: Phase) {
        let timer = self.phase.timer();
        if timer == before.timer() {
            return;
        }
        let from = match self.phase {
            Phase::Ready { .. } => self.up_at,
            _ => self.shared.clock.now(),
        };
        self.timer = timer.map(|(delay, event)| (from + delay, event));
        self.alarm = self.timer.map(|(at, _)| {
            let alarm: Work<()> = Box::pin(self.shared.clock.sleep_until(at));
            alarm
        });
    }
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
    )
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
