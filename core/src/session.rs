//! Owns one JSON-RPC conversation over a wire: ids, who waits for which answer, deadlines, and what the server asks.
//! Invariant: every request ends in exactly one outcome, and a late or second answer is dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::call::{Arguments, Waiter};
use crate::config::Limits;
use crate::connection::Shared;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::EventKind;
use crate::process::EXIT_REPORT;
use crate::redact::Mask;
use crate::result::Origin;
use crate::sync::lock;
use crate::wire::{Flush, Inbound, Loss, Unread, Wire};

mod announcements;
mod catch_up;
mod deadlines;
mod handshake;
mod inbound;
mod message;
mod outgoing_call;
mod resend;
mod server_logs;
mod server_requests;
mod table;
mod text;
mod unreadable;

pub(crate) use announcements::Announcements;
pub(crate) use catch_up::was_stopped;
pub(crate) use handshake::{Handshake, greet, list_tools};
pub(crate) use outgoing_call::{Content, OutgoingCall, Unsent};
pub(crate) use resend::{CallRequest, Resubmit, UnreadCall};
pub(crate) use table::CallLimits;
use table::{Fate, Outcome, Pending, Table};
use text::Texts;

/// What a session tells the connection that owns it.
pub(crate) enum SessionEvent {
    Lost(Error, Loss),
    /// A call was not answered in time.
    Silent,
    /// Told once until the tools are asked for.
    ToolsChanged,
}

pub(crate) struct Session {
    me: Weak<Session>,
    server: Arc<str>,
    generation: u64,
    limits: Limits,
    wire: OnceLock<Wire>,
    last_id: AtomicU64,
    table: Mutex<Table>,
    deadline_moved: Notify,
    /// The longest that a request of ours may go unanswered, in microseconds.
    request_timeout_us: AtomicU64,
    started: Instant,
    news: mpsc::UnboundedSender<(u64, SessionEvent)>,
    shared: Arc<Shared>,
    /// That the server wants a sign-in was told.
    told_auth: AtomicBool,
    announcements: Announcements,
}

impl Session {
    /// A session without a wire; [`Session::attach`] brings it to life.
    pub(crate) fn new(
        generation: u64,
        limits: Limits,
        news: mpsc::UnboundedSender<(u64, SessionEvent)>,
        shared: Arc<Shared>,
    ) -> Arc<Session> {
        Arc::new_cyclic(|me| Session {
            me: me.clone(),
            server: shared.server.clone(),
            generation,
            limits,
            wire: OnceLock::new(),
            last_id: AtomicU64::new(0),
            table: Mutex::new(Table::new(shared.tally.clone())),
            deadline_moved: Notify::new(),
            request_timeout_us: AtomicU64::new(table::NEVER),
            started: Instant::now(),
            news,
            shared,
            told_auth: AtomicBool::new(false),
            announcements: Announcements::default(),
        })
    }

    /// Speaks over `wire` from now on.
    pub(crate) fn attach(self: &Arc<Self>, wire: Wire) {
        let inbound: Weak<dyn Inbound> = Arc::downgrade(self) as Weak<dyn Inbound>;
        // Set before anything is delivered: the server's first word may ask for an answer.
        match self.wire.get_or_init(|| wire) {
            Wire::Stdio(pipe) => pipe.deliver_to(inbound),
            Wire::Http(link) => link.deliver_to(inbound),
        }
        crate::runtime::spawn(deadlines::watch(Arc::downgrade(self)));
    }

    pub(crate) fn wire(&self) -> Option<&Wire> {
        self.wire.get()
    }

    /// What hides the values that the server was given, in what it says beside its results.
    pub(crate) fn mask(&self) -> Mask {
        self.wire.get().map(|wire| wire.mask().clone()).unwrap_or_default()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// How what it says beside its results is shown and kept.
    fn texts(&self) -> Texts {
        Texts::new(self.mask(), self.limits.text_bytes)
    }

    /// Sends `tools/call`; the answer goes to `waiter`, who comes back when nothing was sent.
    pub(crate) fn call(
        self: &Arc<Self>,
        outgoing_call: OutgoingCall<'_>,
        limits: CallLimits,
        waiter: Waiter,
    ) -> Result<u64, Unsent> {
        let OutgoingCall { tool, presenter, content } = outgoing_call;
        let Some(wire) = self.wire.get() else {
            let request = content.into_request();
            return Err(Unsent { error: self.not_sent("is not connected"), waiter, request });
        };
        let reader = match &waiter {
            Waiter::Loop(address) => Some(address.mailbox.clone()),
            Waiter::Future(_) | Waiter::Again(_) => None,
        };
        let id = self.next_id();
        let on_progress = content.on_progress();
        let message = message::tools_call(
            id,
            tool.name_json(),
            content.arguments().json(),
            content.meta().map(Arguments::json),
        );
        let origin = Origin {
            presenter: presenter.clone(),
            tool: tool.raw_name_shared(),
            mask: wire.mask().clone(),
        };
        let (request, now_us) = (content.into_request(), self.now_us());
        let (alone, sole_reader) = {
            let mut table = match self.open_table() {
                Ok(table) => table,
                Err(error) => {
                    return Err(Unsent { error, waiter, request });
                }
            };
            let alone = table.is_empty();
            let pending = Pending::call(waiter, origin, request, now_us, limits, on_progress);
            let sole_reader = table.note_reader(reader.as_ref().map_or(0, |mailbox| mailbox.id()));
            if table.wants_waking(pending.deadline_us()) {
                self.deadline_moved.notify_one();
            }
            table.insert(id, pending);
            (alone, sole_reader)
        };
        wire.lend(reader.as_ref().filter(|_| sole_reader));
        // A lone call leaves at once; calls made while others are under way leave together.
        let together = reader.as_ref().is_some_and(|mailbox| !alone || mailbox.is_busy());
        let flush = if together { Flush::Later } else { Flush::Now };
        if let Err(error) = wire.send(message, Some(id), flush) {
            let pending = lock(&self.table).remove(id);
            return match pending.and_then(Pending::into_call) {
                Some((waiter, _, request)) => {
                    Err(Unsent { error: error.with_server(&self.server), waiter, request })
                }
                // The end of the connection was faster and has told the waiter.
                None => Ok(id),
            };
        }
        if let (Flush::Later, Some(mailbox)) = (flush, reader) {
            mailbox.keep_back(self);
        }
        Ok(id)
    }

    /// Sends what calls kept back.
    pub(crate) fn flush(&self) {
        if let Some(wire) = self.wire.get() {
            wire.flush();
        }
    }

    /// The caller has given up: nobody waits any more, and the server may stop working.
    pub(crate) fn cancel(&self, id: u64) {
        let (pending, forwarded) = {
            let mut table = lock(&self.table);
            (table.remove(id), table.forwarded(id))
        };
        match (pending, forwarded) {
            (Some(_), _) => drop(self.send_cancelled(id, "the caller gave up")),
            (None, Some(forwarded)) => forwarded.cancel(),
            (None, None) => {}
        }
    }

    /// Tells the server, unless the call never left; gives whether it had.
    fn send_cancelled(&self, id: u64, reason: &str) -> bool {
        let left = self.wire.get().is_some_and(|wire| wire.abandon(id));
        if left {
            self.notify(
                "notifications/cancelled",
                &serde_json::json!({"requestId": id, "reason": reason}),
            );
        }
        left
    }

    /// Gives requests of ours this long from now on. Before that, whoever connects keeps the time.
    pub(crate) fn bound_requests(&self, limit: Duration) {
        self.request_timeout_us.store(table::micros(limit), Ordering::Relaxed);
    }

    /// Sends a control request and waits for its raw result.
    async fn request(&self, method: &str, params: &serde_json::Value) -> Result<Bytes> {
        let limit_us = self.request_timeout_us.load(Ordering::Relaxed);
        let deadline_us = match limit_us {
            table::NEVER => table::NEVER,
            limit_us => table::after(self.now_us(), limit_us),
        };
        self.request_until(deadline_us, method, params).await
    }

    async fn request_until(
        &self,
        deadline_us: u64,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<Bytes> {
        let (sender, answer) = oneshot::channel();
        let id = self.next_id();
        {
            let mut table = self.open_table()?;
            table.note_reader(0);
            if table.wants_waking(deadline_us) {
                self.deadline_moved.notify_one();
            }
            table.insert(id, Pending::control(sender, deadline_us));
        }
        let _unless_answered = Forgotten { session: self, id };
        let wire = self.wire.get().ok_or_else(|| self.not_sent("is not connected"))?;
        wire.lend(None);
        if let Err(error) = wire.control(message::request(id, method, params), id) {
            // The pipe broke: the obituary that follows says why.
            return match tokio::time::timeout(2 * EXIT_REPORT, self.exit_report()).await {
                Ok(exit_report) => Err(exit_report),
                Err(_) => Err(error),
            };
        }
        answer.await.unwrap_or_else(|_| Err(self.not_sent("is gone")))
    }

    async fn exit_report(&self) -> Error {
        loop {
            if let Err(error) = self.open_table() {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Sends a notification that the server must have taken in before anything else is sent.
    async fn tell(&self, method: &str, params: &serde_json::Value) -> Result<()> {
        let message = message::notification(method, params);
        match self.wire.get() {
            Some(Wire::Http(link)) => link.deliver(message).await,
            // A pipe keeps the order.
            _ => {
                self.send_aside(message);
                Ok(())
            }
        }
    }

    fn notify(&self, method: &str, params: &serde_json::Value) {
        self.send_aside(message::notification(method, params));
    }

    fn reply(&self, message: Vec<u8>) {
        let taken = self.wire.get().is_some_and(|wire| wire.reply(message, &self.limits));
        if !taken {
            tracing::debug!(server = &*self.server, "a reply that the server does not take");
        }
    }

    /// Sends what expects no answer; when the wire has ended there is nobody to tell.
    fn send_aside(&self, message: Vec<u8>) {
        if let Some(wire) = self.wire.get() {
            let _ = wire.send(message, None, Flush::Now);
        }
    }

    /// Ends the conversation and the wire; whoever still waits is told so. Bounded.
    pub(crate) async fn close(&self) {
        self.end(Error::new(ErrorKind::ConnectionLost, "The connection was closed by us")).await;
    }

    /// As [`Session::close`], for this reason.
    pub(crate) async fn end(&self, error: Error) {
        self.fail_all(error.with_server(&self.server), None);
        if let Some(wire) = self.wire.get() {
            wire.close().await;
        }
    }

    /// Asks the server for a sign of life; whatever it answers is one. The asker keeps the time.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.sign_of_life("ping").await
    }

    /// The same by a request that every server with tools has to answer.
    pub(crate) async fn ask_for_tools(&self) -> Result<()> {
        self.sign_of_life("tools/list").await
    }

    async fn sign_of_life(&self, method: &str) -> Result<()> {
        match self.request_until(table::NEVER, method, &serde_json::json!({})).await {
            // A refusal comes from somebody who lives; a lost connection does not.
            Err(error) if error.kind() == ErrorKind::ConnectionLost => Err(error),
            _ => Ok(()),
        }
    }

    /// Tells everybody who waits; the answer tells whether the conversation was open until now. What was never read is
    /// sent again by whoever sent it.
    fn fail_all(&self, error: Error, unread: Option<&Unread>) -> bool {
        let is_unread = |id| unread.is_some_and(|unread| unread.proves(id));
        let (was_open, ended) = {
            let mut table = lock(&self.table);
            (table.closed().is_none(), table.close(error.clone(), is_unread))
        };
        for (pending, fate) in ended {
            match fate {
                Fate::Over(executed) => {
                    pending.finish(Err(error.clone().with_executed(executed)));
                }
                Fate::Forwarded(forwarded) => self.give_back(pending, &error, forwarded),
            }
        }
        self.deadline_moved.notify_one();
        was_open
    }

    /// Whether it is known that this session takes no more calls: the next one will.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.table).closed().is_some() || self.wire.get().is_some_and(Wire::is_over)
    }

    /// What the server has announced of its tools.
    pub(crate) fn announcements(&self) -> &Announcements {
        &self.announcements
    }

    /// Whether the server has answered a call in this session.
    pub(crate) fn has_served(&self) -> bool {
        lock(&self.table).has_served()
    }

    /// Takes no new calls; those under way may still end by themselves.
    pub(crate) fn retire(&self, error: Error) {
        lock(&self.table).refuse(error.with_server(&self.server));
    }

    /// Takes no new calls, provided that none is under way.
    pub(crate) fn retire_if_quiet(&self) -> bool {
        let mut table = lock(&self.table);
        table.is_empty() && table.refuse(self.not_sent("was shut down because nobody called it"))
    }

    /// Waits for the end of all calls under way; each has a deadline of its own.
    pub(crate) async fn quiet(&self) {
        while !lock(&self.table).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn open_table(&self) -> Result<MutexGuard<'_, Table>> {
        let table = lock(&self.table);
        match table.closed() {
            Some(error) => Err(error.clone().with_executed(Executed::No)),
            None => Ok(table),
        }
    }

    fn not_sent(&self, what: &str) -> Error {
        let text = format!("Server \"{}\" {what}", self.server);
        Error::new(ErrorKind::ConnectionLost, text)
            .with_server(&self.server)
            .with_executed(Executed::No)
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn answer(&self, id: u64, outcome: Outcome) {
        let now_us = self.now_us();
        let Some(pending) = lock(&self.table).finish(id, &outcome, now_us) else {
            return tracing::debug!(server = &*self.server, id, "an answer that nobody waits for");
        };
        let outcome = outcome.map_err(|error| error.with_server(&self.server));
        if let Err(error) = &outcome {
            self.tell_auth(error);
        }
        pending.finish(outcome);
    }

    /// Tells that the server wants a sign-in, once: whoever else is refused learns nothing new by it.
    pub(crate) fn tell_auth(&self, error: &Error) {
        if error.kind() == ErrorKind::AuthRequired && !self.told_auth.swap(true, Ordering::Relaxed)
        {
            let kind = EventKind::AuthRequired { error: error.clone() };
            self.shared.subscribers.emit(&self.server, kind);
        }
    }
}

/// A control request whose asker is gone leaves nothing behind.
struct Forgotten<'a> {
    session: &'a Session,
    id: u64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        let unanswered = lock(&self.session.table).remove(self.id).is_some();
        if let (true, Some(wire)) = (unanswered, self.session.wire.get()) {
            wire.abandon(self.id);
        }
    }
}
