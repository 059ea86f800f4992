//! Owns a transport whose server a simulation plays: it decides when a dial ends, what the server reads, what arrives
//! and when the link dies. For tests only.
//! Invariant: like a real transport, it delivers nothing after [`Inbound::closed`] or after its own end.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::transport::{Endpoint, Transport};
use super::{Flush, Inbound, Loss, OutgoingMessage, UnreadRequests};
use crate::config::Limits;
use crate::error::{Error, ErrorKind, Executed, Result, Stage};
use crate::mailbox::Mailbox;
use crate::oauth::Login;
use crate::redact::Mask;
use crate::resolve::Resolved;
use crate::runtime;
use crate::sync::lock;

/// The host of a server that a simulation plays.
pub(crate) const HOST: &str = "scripted.test";

thread_local! {
    static SCRIPT: RefCell<Option<Arc<Script>>> = const { RefCell::new(None) };
}

/// Who plays the servers of this thread; `None` ends that.
pub(crate) fn play(script: Option<Arc<Script>>) {
    SCRIPT.set(script);
}

pub(super) fn script_for(resolved: &Resolved) -> Option<Arc<Script>> {
    let Resolved::Http(target) = resolved else { return None };
    let is_scripted = target.url.host_str() == Some(HOST);
    SCRIPT.with_borrow(|script| script.clone().filter(|_| is_scripted))
}

/// All links to one server.
pub(crate) struct Script {
    /// Whether the links are like those to a remote server: a lost link's calls end one by one.
    is_remote: bool,
    link_count: AtomicU64,
    state: Mutex<ScriptState>,
}

#[derive(Default)]
struct ScriptState {
    dials: Vec<oneshot::Sender<Result<()>>>,
    links: Vec<Arc<ScriptedLink>>,
    most_dials: usize,
    most_links: usize,
}

impl Script {
    pub(crate) fn new(is_remote: bool) -> Arc<Script> {
        Arc::new(Script { is_remote, link_count: AtomicU64::new(0), state: Mutex::default() })
    }

    /// Waits until [`Script::end_dial`].
    pub(super) async fn open_link(self: Arc<Self>) -> Result<Arc<ScriptedLink>> {
        let (sender, dialed) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            state.dials.retain(|dial| !dial.is_closed());
            state.dials.push(sender);
            state.most_dials = state.most_dials.max(state.dials.len());
        }
        dialed.await.unwrap_or_else(|_| Err(lost("The simulation is over")))?;
        let number = self.link_count.fetch_add(1, Ordering::Relaxed);
        let link = Arc::new(ScriptedLink {
            number,
            script: Arc::downgrade(&self),
            is_remote: self.is_remote,
            state: Mutex::default(),
        });
        let mut state = lock(&self.state);
        state.links.push(link.clone());
        state.most_links = state.most_links.max(state.links.len());
        Ok(link)
    }

    /// Ends a dial that waits, if there is one.
    pub(crate) fn end_dial(&self, outcome: Result<()>) {
        let dial = lock(&self.state).dials.pop();
        dial.map(|dial| dial.send(outcome));
    }

    /// The links that neither side has ended.
    pub(crate) fn links(&self) -> Vec<Arc<ScriptedLink>> {
        lock(&self.state).links.clone()
    }

    /// The most dials and links that there were at one time.
    pub(crate) fn most(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.most_dials, state.most_links)
    }
}

fn lost(text: &str) -> Error {
    Error::new(ErrorKind::ConnectionLost, text)
}

/// One link, from the view of the simulation: its server's end.
pub(crate) struct ScriptedLink {
    /// Counts the links of a script.
    pub(crate) number: u64,
    script: Weak<Script>,
    is_remote: bool,
    state: Mutex<LinkState>,
}

#[derive(Default)]
struct LinkState {
    inbound: Option<Weak<dyn Inbound>>,
    /// Sent by us and not read by the server.
    sent: VecDeque<(Option<u64>, Bytes)>,
    /// Sent by the server and not read by us.
    arrived: VecDeque<Bytes>,
    is_over: bool,
}

impl ScriptedLink {
    pub(crate) fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn inbound(&self) -> Option<Arc<dyn Inbound>> {
        let state = lock(&self.state);
        state.inbound.as_ref().filter(|_| !state.is_over)?.upgrade()
    }

    /// The server reads the next message.
    pub(crate) fn read_sent(&self) -> Option<Bytes> {
        lock(&self.state).sent.pop_front().map(|(_, message)| message)
    }

    /// The server sends a message.
    pub(crate) fn push(&self, message: Bytes) {
        lock(&self.state).arrived.push_back(message);
    }

    /// Delivers the next message; whether there was one.
    pub(crate) fn deliver(&self) -> bool {
        let Some(inbound) = self.inbound() else { return false };
        let message = lock(&self.state).arrived.pop_front();
        message.map(|message| inbound.message(message)).is_some()
    }

    /// The link says that it is in this condition.
    pub(crate) fn report(&self, loss: Loss) {
        if let Some(inbound) = self.inbound() {
            inbound.lost(lost("The server is not well"), loss);
        }
    }

    /// The link dies. What the server has not read has not run; that is proved if `is_known`.
    pub(crate) fn die(&self, is_known: bool) {
        let Some(inbound) = self.inbound() else { return };
        let unsent: HashSet<u64> =
            lock(&self.state).sent.drain(..).filter_map(|(id, _)| id).collect();
        self.end();
        let error = lost("The link died");
        if !self.is_remote {
            let proof = is_known.then_some(UnreadRequests::Unsent(unsent));
            return inbound.closed(error, proof.as_ref());
        }
        for id in unsent.into_iter().filter(|_| is_known) {
            inbound.unanswered(id, error.clone().with_executed(Executed::No));
        }
        inbound.closed(error, None);
    }

    fn end(&self) {
        lock(&self.state).is_over = true;
        if let Some(script) = self.script.upgrade() {
            lock(&script.state).links.retain(|link| !std::ptr::eq(&**link, self));
        }
    }

    fn enqueue(&self, message: OutgoingMessage, id: Option<u64>) -> Result<()> {
        let mut state = lock(&self.state);
        if state.is_over {
            return Err(lost("The link is over").with_executed(Executed::No));
        }
        state.sent.push_back((id, message.into_json()));
        Ok(())
    }
}

impl Transport for ScriptedLink {
    type Target = Arc<Script>;
    const STARTS_PROGRAM: bool = false;
    const OPENING: Stage = Stage::Spawn;
    const REPORTS_UNSENT_LATER: bool = false;
    const CALLS_END_ALONE: bool = false;

    async fn open(
        script: Arc<Script>,
        _login: Option<Arc<Login>>,
        _limits: &Limits,
    ) -> Result<Arc<Self>> {
        script.open_link().await
    }

    fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        lock(&self.state).inbound = Some(inbound);
    }

    fn send(&self, message: OutgoingMessage, id: Option<u64>, _: Flush) -> Result<()> {
        self.enqueue(message, id)
    }

    fn send_control(&self, message: OutgoingMessage, id: u64) -> Result<()> {
        self.enqueue(message, Some(id))
    }

    fn send_reply(&self, message: OutgoingMessage, _: &Limits) -> bool {
        self.enqueue(message, None).is_ok()
    }

    async fn send_and_confirm(&self, message: OutgoingMessage) -> Result<()> {
        self.enqueue(message, None)
    }

    /// A request that the server has not read is taken back.
    fn abandon(&self, id: u64) -> bool {
        let mut state = lock(&self.state);
        let before = state.sent.len();
        state.sent.retain(|(sent, _)| *sent != Some(id));
        state.sent.len() == before
    }

    fn lend(&self, _reader: Option<&Arc<Mailbox>>) {}

    async fn read_arrived(&self, _late: Duration) {
        while self.deliver() {}
    }

    fn mask(&self) -> Mask {
        Mask::default()
    }

    fn is_over(&self) -> bool {
        lock(&self.state).is_over
    }

    fn endpoint(&self) -> Option<Endpoint<'_>> {
        None
    }

    /// Takes a few turns, as ending a process does.
    async fn close(&self) {
        lock(&self.state).inbound = None;
        runtime::yield_turns(3).await;
        self.end();
    }
}
