//! Owns the task behind a connection: it passes events to the phase machine, carries out the effects, and holds the
//! attempt or the link. Publishing is in `publish`, the tools in `tools`, the timer in `timer`, ends in `ending`.
//! Invariant: an attempt is held while dialing, a link while up, never both.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::dial::dial;
use super::link::{Attempt, Link, LinkEvent, PendingStore, finished};
use super::phase::{Dialed, DownCause, Phase, PhaseEffect, PhaseEvent};
use super::starts::StartRequest;
use super::{ConnectionShared, Live};
use crate::caller::ConnectionHeaders;
use crate::completion::Completion;
use crate::config::ServerConfig;
use crate::error::{Error, Result};
use crate::runtime;
use crate::session::{Session, SessionEvent, SessionOwner};
use crate::status::Reason;
use crate::subscribers::{Severity, ToolStore};
use crate::tool::Tools;
use crate::wire::Loss;

mod ending;
mod publish;
mod timer;
mod tools;

use publish::EmittedChange;
use timer::PhaseTimer;

pub(super) enum Command {
    Connect(oneshot::Sender<Result<()>>),
    Await(oneshot::Sender<Result<()>>),
    Wake,
    Adopt(Option<Tools>, oneshot::Sender<bool>),
    /// With the headers for the server that it defines.
    Redefine(Box<ServerConfig>, Arc<ConnectionHeaders>),
    Store(Box<dyn ToolStore>),
    /// Somebody has signed in.
    SignedIn,
    Disconnect(oneshot::Sender<()>),
}

pub(super) struct Actor {
    config: ServerConfig,
    headers: Arc<ConnectionHeaders>,
    phase: Phase,
    generation: u64,
    /// How many times it came up.
    ups: u64,
    commands: mpsc::UnboundedReceiver<Command>,
    news: mpsc::UnboundedReceiver<(u64, SessionEvent)>,
    news_sender: mpsc::UnboundedSender<(u64, SessionEvent)>,
    /// Askers that wait for the end of the current attempt.
    connecting: Vec<oneshot::Sender<Result<()>>>,
    /// Askers that wait until it is up, over any number of attempts.
    awaiting: Vec<oneshot::Sender<Result<()>>>,
    /// While dialing.
    attempt: Option<Attempt>,
    /// Whether somebody has signed in during the attempt.
    has_signed_in: bool,
    /// While up.
    link: Option<Link>,
    /// The server's own tools, or the last known ones while it is not up.
    tools: Tools,
    timer: Option<PhaseTimer>,
    /// Sessions whose last calls are still finishing.
    retired: Vec<Weak<Session>>,
    /// The end of the previous process or session; the next attempt and a disconnect wait for it.
    ending: Completion,
    /// Why it is not up, in the phases that have a reason.
    error: Option<Error>,
    shared: Arc<ConnectionShared>,
}

impl Actor {
    pub(super) fn new(
        config: ServerConfig,
        headers: Arc<ConnectionHeaders>,
        commands: mpsc::UnboundedReceiver<Command>,
        shared: Arc<ConnectionShared>,
    ) -> Self {
        let (news_sender, news) = mpsc::unbounded_channel();
        Actor {
            config,
            headers,
            phase: Phase::Idle,
            generation: 0,
            ups: 0,
            commands,
            news,
            news_sender,
            connecting: Vec::new(),
            awaiting: Vec::new(),
            attempt: None,
            has_signed_in: false,
            link: None,
            tools: Tools::default(),
            timer: None,
            retired: Vec::new(),
            ending: Completion::done(),
            error: None,
            shared,
        }
    }

    /// Runs until the last handle is dropped, then ends the link.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                // Commands first: what follows a change of the settings, such as a loss, is decided by the new ones.
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => self.handle_command(command),
                    None => break,
                },
                dialed = finished(self.attempt.as_mut().map(|attempt| &mut attempt.dial)) => self.on_dialed(dialed),
                Some((generation, news)) = self.news.recv() => self.on_session_event(generation, news),
                () = finished(self.timer.as_mut().map(|timer| &mut timer.alarm)) => self.on_timer(),
                event = next_link_event(self.link.as_mut()) => self.on_link_event(event),
            }
        }
        self.apply_event(PhaseEvent::Close, None);
        self.ending.await;
    }

    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Connect(asker) if self.shared.subscribers.len() == 0 => {
                // Released by the asker's manager since it asked: nobody would end what this started.
                let _ = asker.send(Err(Error::disconnected(&self.shared.server)));
            }
            Command::Connect(asker) => {
                self.connecting.push(asker);
                self.apply_event(PhaseEvent::Start, None);
                self.promote();
                if !matches!(self.phase, Phase::Dialing { .. }) {
                    self.answer_waiters();
                }
            }
            Command::Await(asker) => {
                self.awaiting.push(asker);
                self.promote();
                self.answer_waiters();
            }
            Command::Wake => {
                self.apply_event(PhaseEvent::Wake, None);
                self.promote();
            }
            Command::Adopt(tools, asker) => {
                if let Some(tools) = tools {
                    self.adopt(tools);
                }
                let _ = asker.send(!self.tools.list.is_empty());
            }
            Command::Redefine(config, headers) => {
                self.headers = headers;
                self.redefine(*config);
            }
            Command::Store(store) => self.store_in(store),
            Command::SignedIn => self.on_signed_in(),
            Command::Disconnect(asker) => {
                self.apply_event(PhaseEvent::Stop, None);
                let ending = self.ending.clone();
                runtime::spawn(async move {
                    ending.await;
                    let _ = asker.send(());
                });
            }
        }
    }

    /// A server that waited for a sign-in is dialled again.
    fn on_signed_in(&mut self) {
        self.has_signed_in = true;
        if self.phase.needs_auth() {
            self.apply_event(PhaseEvent::Start, None);
        }
    }

    fn is_awaited(&self) -> bool {
        !self.connecting.is_empty() || !self.awaiting.is_empty()
    }

    /// Marks the current attempt as awaited.
    fn promote(&self) {
        if let Some(attempt) = &self.attempt {
            attempt.start_request.promote();
        }
    }

    fn redefine(&mut self, config: ServerConfig) {
        let other_server = !self.config.identity_differences(&config).is_empty();
        let settings = self.config.setting_differences(&config);
        let ConnectionShared { subscribers, server, .. } = &*self.shared;
        if !settings.is_empty() && subscribers.len() > 1 {
            let line = format!("one of its managers changed {} for all", settings.join(", "));
            subscribers.log(Severity::Warning, server, &line);
        }
        if other_server {
            // Written under the old definition, to which these tools belong.
            self.store_now();
        }
        self.config = config;
        if let Some(link) = &self.link {
            link.live.session.bound_requests(self.config.request_timeout);
        }
        if other_server {
            self.shared.forget_era();
            self.tools = Tools::default();
            self.publish(EmittedChange::Tools);
            self.apply_event(PhaseEvent::Replaced, None);
        } else if let (Phase::Ready { generation, .. }, Some(link)) = (self.phase, &mut self.link) {
            link.watch_over(generation, &self.config, &self.shared);
        }
    }

    /// Events of a session that is still dialing are kept until the attempt ends.
    fn on_session_event(&mut self, generation: u64, news: SessionEvent) {
        match (self.phase, &mut self.attempt) {
            (Phase::Ready { generation: of, .. }, _) if of == generation => {}
            (Phase::Dialing { generation: of, .. }, Some(attempt)) if of == generation => {
                // The end of the attempt settles a doubt.
                if !matches!(news, SessionEvent::Lost(_, Loss::Doubtful)) {
                    attempt.early_news.push(news);
                }
                return;
            }
            _ => return,
        }
        match news {
            SessionEvent::Lost(_, Loss::Doubtful) | SessionEvent::Silent => {
                self.apply_event(PhaseEvent::Suspect { generation }, None);
            }
            SessionEvent::Lost(error, Loss::Expired) => {
                let served = self.has_served();
                self.lose(PhaseEvent::Expired { generation, served }, error);
            }
            SessionEvent::Lost(error, Loss::Gone) => {
                let cause = DownCause::from_error_kind(error.kind());
                self.lose(
                    PhaseEvent::Lost { generation, reason: Reason::TransportExit, cause },
                    error,
                );
            }
            SessionEvent::ToolsChanged => {
                if let Some(link) = &mut self.link {
                    link.refresh_soon();
                }
            }
            SessionEvent::ToolsAwaited => {
                if let Some(link) = &mut self.link {
                    link.hurry_refresh();
                }
            }
        }
    }

    fn on_dialed(&mut self, dialed: Result<(Live, Tools)>) {
        let generation = self.generation;
        let attempt = self.attempt.as_mut();
        let early_news = attempt.map(|attempt| std::mem::take(&mut attempt.early_news));
        match dialed {
            Ok((live, tools)) => {
                self.attempt = None;
                self.ups += 1;
                live.session.bound_requests(self.config.request_timeout);
                let mut link = Link::new(live);
                link.watch_over(generation, &self.config, &self.shared);
                self.link = Some(link);
                self.tools = tools;
                self.store_soon();
                self.apply_event(PhaseEvent::Dialed { generation, outcome: Dialed::Up }, None);
            }
            Err(error) => {
                if let Some(attempt) = &self.attempt {
                    attempt.session.report_auth_required(&error);
                }
                let outcome = Dialed::from_error(&error);
                self.apply_event(PhaseEvent::Dialed { generation, outcome }, Some(error));
                // The attempt may have failed a moment before the sign-in.
                if self.has_signed_in && self.phase.needs_auth() {
                    self.apply_event(PhaseEvent::Start, None);
                }
            }
        }
        for news in early_news.into_iter().flatten() {
            self.on_session_event(generation, news);
        }
    }

    fn on_link_event(&mut self, event: LinkEvent) {
        let generation = self.generation;
        match event {
            LinkEvent::Probed(Ok(())) => {
                self.apply_event(PhaseEvent::Probed { generation, alive: true }, None);
            }
            LinkEvent::Probed(Err(error)) => {
                let error = error.with_server(&self.shared.server);
                self.lose(PhaseEvent::Probed { generation, alive: false }, error);
            }
            LinkEvent::Watched(event, Some(error)) => {
                self.lose(event, error.with_server(&self.shared.server));
            }
            LinkEvent::Watched(event, None) => self.apply_event(event, None),
            LinkEvent::RefreshDue => {
                if let Some(link) = &mut self.link {
                    link.begin_refresh(&self.config, &self.shared);
                }
            }
            LinkEvent::Refreshed(tools) => self.on_refreshed(tools),
            LinkEvent::StoreDue => self.store_now(),
        }
    }

    fn has_served(&self) -> bool {
        self.link.as_ref().is_some_and(Link::has_served)
    }

    /// Loses the link by this event. A call answered since the timer fired may have made it stable.
    fn lose(&mut self, event: PhaseEvent, error: Error) {
        if let Phase::Ready { generation, held: true, .. } = self.phase
            && self.has_served()
        {
            self.apply_event(PhaseEvent::Stable { generation }, None);
        }
        self.apply_event(event, Some(error));
    }

    /// Applies an event and its error: asks the phase machine, carries out the effects, publishes.
    fn apply_event(&mut self, event: PhaseEvent, error: Option<Error>) {
        let before = self.phase;
        let (phase, effects) = self.phase.on(event, &self.config.restart, self.generation);
        self.phase = phase;
        // Set before the effects, because they end the calls of a lost link.
        self.error = match phase.has_error() {
            true => error.or(self.error.take()),
            false => None,
        };
        for effect in effects {
            match effect {
                PhaseEffect::Dial { generation } => self.start_attempt(generation),
                PhaseEffect::Probe { .. } => {
                    if let Some(link) = &mut self.link {
                        link.begin_probe(&self.config, &self.shared);
                    }
                }
                PhaseEffect::LetGo => self.let_go(),
                PhaseEffect::HangUp => self.hang_up(),
            }
        }
        if before == phase {
            return;
        }
        if !phase.keeps_tools() {
            self.tools = Tools::default();
        }
        if matches!(phase, Phase::Stopped | Phase::Closed) {
            self.end_retired();
        }
        self.set_timer(before);
        self.log_change(before);
        // A reset of the restart ladder shows in the status; it is not an event.
        let reset_only = matches!(event, PhaseEvent::Held { .. } | PhaseEvent::Stable { .. });
        self.publish(if reset_only { EmittedChange::Tools } else { EmittedChange::Status });
        self.answer_waiters();
    }

    fn start_attempt(&mut self, generation: u64) {
        self.generation = generation;
        self.has_signed_in = false;
        let shared = self.shared.clone();
        let owner = SessionOwner {
            server: shared.server.clone(),
            generation,
            events: self.news_sender.clone(),
            subscribers: shared.subscribers.clone(),
            counters: shared.call_counters.clone(),
        };
        let session = Session::new(owner, self.config.limits);
        let is_first = matches!(self.phase, Phase::Dialing { ladder, .. } if ladder.restarts == 0);
        let start_request = StartRequest::new(is_first || self.is_awaited());
        let (config, headers) = (self.config.clone(), self.headers.clone());
        let (of, request) = (session.clone(), start_request.clone());
        let (last, pins) = (self.ending.clone(), self.load_pins());
        let dial: BoxFuture<'static, _> = Box::pin(async move {
            // The previous process of this name must end before the next one starts.
            last.await;
            let dialed = dial(shared, config, headers, of, request).await;
            if let Some(pins) = pins {
                let _ = pins.await;
            }
            dialed
        });
        self.attempt = Some(Attempt { session, start_request, dial, early_news: Vec::new() });
    }
}

/// The next event of the link's work; pending forever without a link.
async fn next_link_event(link: Option<&mut Link>) -> LinkEvent {
    match link {
        Some(link) => link.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
