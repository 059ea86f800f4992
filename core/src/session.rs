//! Owns one JSON-RPC conversation over a wire: ids, who waits for which answer, deadlines, and what the server asks.
//! Invariant: every request ends in exactly one outcome, and a late or second answer is dropped.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::call::{Arguments, CallOptions, Waiter};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::EventLog;
use crate::status::Calls;
use crate::sync::lock;
use crate::wire::{Flush, Inbound, Wire};

mod handshake;
mod inbound;
mod message;
mod server_requests;
mod table;

pub(crate) use handshake::{Greeting, greet, list_tools};
use table::{Outcome, Pending, Table};

/// What a session tells the connection that owns it.
pub(crate) enum News {
    Lost(Error),
    ToolsChanged,
}

pub(crate) struct Session {
    server: Arc<str>,
    generation: u64,
    wire: OnceLock<Wire>,
    table: Mutex<Table>,
    deadline_moved: Notify,
    started: Instant,
    news: mpsc::UnboundedSender<(u64, News)>,
    events: Arc<EventLog>,
}

impl Session {
    /// A session without a wire; [`Session::attach`] brings it to life.
    pub(crate) fn new(
        server: Arc<str>,
        generation: u64,
        news: mpsc::UnboundedSender<(u64, News)>,
        events: Arc<EventLog>,
    ) -> Arc<Session> {
        Arc::new(Session {
            server,
            generation,
            wire: OnceLock::new(),
            table: Mutex::default(),
            deadline_moved: Notify::new(),
            started: Instant::now(),
            news,
            events,
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
        crate::runtime::spawn(watch_deadlines(Arc::downgrade(self)));
    }

    pub(crate) fn wire(&self) -> Option<&Wire> {
        self.wire.get()
    }

    pub(crate) fn calls(&self) -> Calls {
        lock(&self.table).calls()
    }

    /// Sends `tools/call`; the answer goes to `waiter`. `tool` is the raw name as a JSON string.
    pub(crate) fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: &Arguments,
        options: CallOptions,
        timeout: Duration,
        waiter: Waiter,
    ) -> Result<u64> {
        let wire = self.wire.get().ok_or_else(|| self.not_sent("is not connected"))?;
        let reader = match &waiter {
            Waiter::Loop(address) => Some(address.mailbox.clone()),
            Waiter::Future(_) => None,
        };
        let asks_progress = options.on_progress.is_some();
        let now_us = self.now_us();
        let (id, alone, sole_reader) = {
            let mut table = self.open_table()?;
            let alone = table.is_empty();
            let timeout_us = u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
            // The largest number means "never".
            let deadline_us = now_us.saturating_add(timeout_us).min(u64::MAX - 1);
            let pending = Pending::call(waiter, now_us, deadline_us, options.on_progress);
            let sole_reader = table.note_reader(reader.as_ref().map_or(0, |mailbox| mailbox.id()));
            if table.wants_waking(deadline_us) {
                self.deadline_moved.notify_one();
            }
            (table.insert(pending), alone, sole_reader)
        };
        let message = message::tools_call(
            id,
            tool,
            arguments.json(),
            options.meta.as_ref().map(Arguments::json),
            asks_progress,
        );
        wire.lend(reader.as_ref().filter(|_| sole_reader));
        // A lone call leaves at once; calls made while others are under way leave together.
        let together = reader.as_ref().is_some_and(|mailbox| !alone || mailbox.is_busy());
        let flush = if together { Flush::Later } else { Flush::Now };
        if let Err(error) = wire.send(message, Some(id), flush) {
            lock(&self.table).remove(id);
            return Err(error.with_server(&self.server));
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
        if lock(&self.table).remove(id).is_some() {
            self.send_cancelled(id, "the caller gave up");
        }
    }

    fn send_cancelled(&self, id: u64, reason: &str) {
        self.notify(
            "notifications/cancelled",
            &serde_json::json!({"requestId": id, "reason": reason}),
        );
        if let Some(wire) = self.wire.get() {
            wire.abandon(id);
        }
    }

    /// Sends a control request and waits for its raw result.
    async fn request(&self, method: &str, params: &serde_json::Value) -> Result<Bytes> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut table = self.open_table()?;
            table.note_reader(0);
            table.insert(Pending::control(sender))
        };
        let wire = self.wire.get().ok_or_else(|| self.not_sent("is not connected"))?;
        wire.lend(None);
        if let Err(error) = wire.send(message::request(id, method, params), Some(id), Flush::Now) {
            lock(&self.table).remove(id);
            // The pipe broke: the obituary that follows says why.
            return match tokio::time::timeout(Duration::from_millis(500), self.obituary()).await {
                Ok(obituary) => Err(obituary),
                Err(_) => Err(error),
            };
        }
        answer.await.unwrap_or_else(|_| Err(self.not_sent("is gone")))
    }

    async fn obituary(&self) -> Error {
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

    /// Sends what expects no answer; when the wire has ended there is nobody to tell.
    fn send_aside(&self, message: Vec<u8>) {
        if let Some(wire) = self.wire.get() {
            let _ = wire.send(message, None, Flush::Now);
        }
    }

    /// Ends the conversation and the wire; whoever still waits is told so. Bounded.
    pub(crate) async fn close(&self) {
        self.fail_all(
            Error::new(ErrorKind::ConnectionLost, "The connection was closed by us")
                .with_server(&self.server),
        );
        if let Some(wire) = self.wire.get() {
            wire.close().await;
        }
    }

    fn fail_all(&self, error: Error) -> bool {
        let Some(pending) = lock(&self.table).close(error.clone()) else { return false };
        for pending in pending {
            pending.finish(Err(error.clone().with_executed(Executed::Unknown)));
        }
        self.deadline_moved.notify_one();
        true
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

    fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn answer(&self, id: u64, outcome: Outcome) {
        let now_us = self.now_us();
        let Some(pending) = lock(&self.table).finish(id, &outcome, now_us) else {
            return tracing::debug!(server = &*self.server, id, "an answer that nobody waits for");
        };
        pending.finish(outcome.map_err(|error| error.with_server(&self.server)));
    }
}

/// One task per session wakes for the earliest deadline; calls that end in time never touch a timer.
async fn watch_deadlines(session: Weak<Session>) {
    loop {
        let Some(strong) = session.upgrade() else { return };
        let now_us = strong.now_us();
        let (expired, next) = {
            let mut table = lock(&strong.table);
            if table.closed().is_some() {
                return;
            }
            table.expire(now_us)
        };
        for (id, pending) in expired {
            strong.send_cancelled(id, "timed out");
            let text = format!("Server \"{}\": the tool did not answer in time", strong.server);
            pending.finish(Err(Error::new(ErrorKind::ToolTimeout, text)
                .with_server(&strong.server)
                .with_executed(Executed::Unknown)
                .with_hint("raise the call's timeout or the server's \"toolTimeout\"")));
        }
        let moved = strong.deadline_moved.notified();
        match next {
            Some(at) => {
                let wait =
                    Duration::from_micros(at.saturating_sub(now_us)) + Duration::from_millis(1);
                let _ = tokio::time::timeout(wait, moved).await;
            }
            None => moved.await,
        }
    }
}
