//! Owns one JSON-RPC session over a wire: calls, control requests (`control`), pending requests (`table`), deadlines,
//! and requests from the server.
//! Invariant: every request ends in exactly one outcome; a late or second answer is dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use crate::call::Arguments;
use crate::config::Limits;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::event::EventKind;
use crate::mailbox::{BufferedWriter, Waiter};
use crate::redact::Mask;
use crate::result::{ManagerId, Origin};
use crate::status::CallCounters;
use crate::subscribers::Subscribers;
use crate::sync::lock;
use crate::wire::{Flush, Inbound, Loss, OutgoingMessage, UnreadRequests, Wire};

mod announcements;
mod catch_up;
mod control;
mod deadlines;
mod discover;
mod handshake;
mod inbound;
mod list;
mod message;
mod negotiate;
mod outgoing_call;
mod pages;
mod repeated_call;
mod requests;
mod resend;
mod retire;
mod rounds;
#[cfg(any(test, fuzzing))]
mod routing;
mod server_logs;
mod server_requests;
mod stateless;
mod subscription;
mod table;
mod tasks;
mod text;
mod tool_list;
mod unreadable;

pub(crate) use announcements::Announcements;
pub(crate) use handshake::{Era, Handshake, connect_error};
pub(crate) use negotiate::{Negotiation, negotiate};
pub(crate) use outgoing_call::{CallContent, OutgoingCall, UnsentCall};
use repeated_call::RepeatedCall;
pub(crate) use requests::Listed;
pub(crate) use resend::{CallRequest, CallSender, UnreadCall};
use rounds::round_key;
#[cfg(any(test, fuzzing))]
pub(crate) use routing::{RoutedRequests, route};
use server_requests::OpenRequests;
use stateless::RequestMetadata;
use subscription::Subscription;
pub(crate) use table::CallLimits;
use table::{AfterClose, PendingRequest, RequestOutcome, Table};
use tasks::{TaskPhase, TaskWaits};
use text::TextReader;
pub(crate) use tool_list::list_tools;

/// The events that a session sends to its connection.
pub(crate) enum SessionEvent {
    Lost(Error, Loss),
    /// A call was not answered in time.
    Silent,
    /// Sent once until the tools are listed again.
    ToolsChanged,
    /// Somebody waits for the changed tools.
    ToolsAwaited,
}

/// What a session gets from its connection.
pub(crate) struct SessionOwner {
    pub(crate) server: Arc<str>,
    /// Sent with each event: the owner ignores those of an older session.
    pub(crate) generation: u64,
    pub(crate) events: mpsc::UnboundedSender<(u64, SessionEvent)>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) counters: Arc<CallCounters>,
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
    /// Signalled at each change of the table once the session refuses new calls.
    ending: Notify,
    /// The timeout of a control request, in microseconds.
    request_timeout_us: AtomicU64,
    started: Instant,
    events: mpsc::UnboundedSender<(u64, SessionEvent)>,
    subscribers: Arc<Subscribers>,
    /// Whether a required sign-in was reported.
    auth_reported: AtomicBool,
    announcements: Announcements,
    open_requests: OpenRequests,
    /// What every request carries; set if the negotiated protocol has no handshake.
    stateless: OnceLock<RequestMetadata>,
    subscription: Subscription,
    tasks: TaskWaits,
    /// When the tools have to be listed again although nothing was announced.
    tools_stale_at_us: AtomicU64,
}

impl Session {
    /// A session without a wire; [`Session::attach`] connects it.
    pub(crate) fn new(owner: SessionOwner, limits: Limits) -> Arc<Session> {
        let SessionOwner { server, generation, events, subscribers, counters } = owner;
        Arc::new_cyclic(|me| Session {
            me: me.clone(),
            server,
            generation,
            limits,
            wire: OnceLock::new(),
            last_id: AtomicU64::new(0),
            table: Mutex::new(Table::new(counters)),
            deadline_moved: Notify::new(),
            ending: Notify::new(),
            request_timeout_us: AtomicU64::new(table::NEVER),
            started: Instant::now(),
            events,
            subscribers,
            auth_reported: AtomicBool::new(false),
            announcements: Announcements::default(),
            open_requests: OpenRequests::default(),
            stateless: OnceLock::new(),
            subscription: Subscription::default(),
            tasks: TaskWaits::default(),
            tools_stale_at_us: AtomicU64::new(table::NEVER),
        })
    }

    /// Attaches the wire.
    pub(crate) fn attach(self: &Arc<Self>, wire: Wire) {
        let inbound: Weak<dyn Inbound> = Arc::downgrade(self) as Weak<dyn Inbound>;
        // Set before anything is delivered: the server's first message may need a reply.
        self.wire.get_or_init(|| wire).deliver_to(inbound);
        crate::runtime::spawn(deadlines::watch(Arc::downgrade(self)));
    }

    pub(crate) fn wire(&self) -> Option<&Wire> {
        self.wire.get()
    }

    fn connected_wire(&self) -> Result<&Wire> {
        self.wire.get().ok_or_else(|| self.not_sent("is not connected"))
    }

    /// Reads what the server has already sent, before a deadline is enforced that was noticed `late`.
    pub(crate) async fn read_arrived(&self, late: Duration) {
        if let Some(wire) = self.wire.get() {
            wire.read_arrived(late).await;
        }
    }

    /// The mask for the values that the server was given, applied to its texts other than results.
    pub(crate) fn mask(&self) -> Mask {
        self.wire.get().map(Wire::mask).unwrap_or_default()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Reads the server's texts other than results.
    fn text_reader(&self) -> TextReader {
        TextReader::new(self.mask(), self.limits.text_bytes)
    }

    /// Sends `tools/call`; the answer goes to `waiter`. If nothing was sent, the error returns the waiter.
    pub(crate) fn call(
        self: &Arc<Self>,
        outgoing_call: OutgoingCall<'_>,
        limits: CallLimits,
        waiter: Waiter,
    ) -> Result<u64, UnsentCall> {
        let OutgoingCall { tool, presenter, content } = outgoing_call;
        let Some(wire) = self.wire.get() else {
            let request = content.into_request();
            return Err(UnsentCall { error: self.not_sent("is not connected"), waiter, request });
        };
        let reader = match &waiter {
            Waiter::Loop(address) => Some(address.mailbox.clone()),
            Waiter::Future(_) | Waiter::Proxy(_) => None,
        };
        let id = self.next_id();
        let on_progress = content.on_progress();
        let (arguments, metadata) = (content.arguments().json(), self.stateless.get());
        let standing = metadata.map(RequestMetadata::entries).unwrap_or_default();
        let task = self.task_phase(tool, content.task());
        let meta = content.meta().map(Arguments::json);
        let mut message = match &task {
            TaskPhase::Resumed(task) => message::tasks_get(id, task, meta, &standing),
            _ => message::tools_call(id, tool.name_json(), arguments, meta, &standing),
        }
        .with_headers(content.headers());
        if task == TaskPhase::Asked || (task == TaskPhase::Returned && metadata.is_none()) {
            message = message::as_task(message);
        }
        if let Some(metadata) = metadata
            && wire.has_stream_per_request()
        {
            message = message.with_mirrored(match &task {
                TaskPhase::Resumed(task) => metadata.headers("tasks/get", Some(task)),
                _ => metadata.call_headers(tool, arguments),
            });
        }
        let origin = Origin {
            presenter: presenter.clone(),
            tool: tool.raw_name_shared(),
            mask: wire.mask(),
        };
        let (request, now_us) = (content.into_request(), self.now_us());
        let (alone, sole_reader) = {
            let mut table = match self.open_table() {
                Ok(table) => table,
                Err(error) => {
                    return Err(UnsentCall { error, waiter, request });
                }
            };
            let alone = table.is_empty();
            let mut pending =
                PendingRequest::call(waiter, origin, request, now_us, limits, on_progress);
            if metadata.is_some() && task.task_id().is_none() {
                pending.keep_to_repeat(RepeatedCall::new(&message, id));
            }
            pending.set_task(task);
            let sole_reader = table.note_reader(reader.as_ref().map_or(0, |mailbox| mailbox.id()));
            if table.wants_waking(pending.deadline_us()) {
                self.deadline_moved.notify_one();
            }
            table.insert(id, pending);
            (alone, sole_reader)
        };
        wire.lend(reader.as_ref().filter(|_| sole_reader));
        // A single call is sent at once; calls made while others are in flight are sent together.
        let together = reader.as_ref().is_some_and(|mailbox| !alone || mailbox.is_busy());
        let flush = if together { Flush::Later } else { Flush::Now };
        if let Err(error) = wire.send(message, Some(id), flush) {
            let pending = self.change_table(|table| table.remove(id));
            return match pending.and_then(PendingRequest::into_call) {
                Some((waiter, _, request)) => {
                    Err(UnsentCall { error: error.with_server(&self.server), waiter, request })
                }
                // The connection ended first, and its end has finished the waiter.
                None => Ok(id),
            };
        }
        if let (Flush::Later, Some(mailbox)) = (flush, reader) {
            mailbox.flush_later(self);
        }
        Ok(id)
    }

    /// The caller gave up: drops the pending call and notifies the server.
    pub(crate) fn cancel(&self, id: u64) {
        let (pending, resent) = self.change_table(|table| (table.remove(id), table.resent(id)));
        match (pending, resent) {
            (Some(_), _) => drop(self.send_cancelled(id, GAVE_UP)),
            (None, Some(resent)) => resent.cancel(),
            (None, None) => {}
        }
    }

    /// Ends the calls of a manager that has released the connection, which stays up for others.
    pub(crate) fn end_calls_of(&self, manager: ManagerId) {
        let is_own = |origin: &Origin| origin.presenter.manager() == manager;
        let own = self.change_table(|table| table.remove_calls(is_own));
        own.into_iter().for_each(|(id, pending)| self.end_released(id, pending));
    }

    /// Ends one call that was sent while its manager released the connection.
    pub(crate) fn end_call(&self, id: u64) {
        if let Some(pending) = self.change_table(|table| table.remove(id)) {
            self.end_released(id, pending);
        }
    }

    fn end_released(&self, id: u64, pending: PendingRequest) {
        let was_sent = self.send_cancelled(id, "its manager released the server");
        let executed = if was_sent { Executed::Unknown } else { Executed::No };
        let error = closed_by_us().with_server(&self.server).with_executed(executed);
        let error = pending.end_error(&self.server, error);
        pending.finish(Err(error));
    }

    /// Notifies the server if the call was sent; returns whether it was.
    fn send_cancelled(&self, id: u64, reason: &str) -> bool {
        let Some(wire) = self.wire.get() else { return false };
        if self.abandon_task(id) {
            return true;
        }
        self.open_requests.abort(&round_key(id));
        let id = {
            let mut table = lock(&self.table);
            let id = table.take_wire_id(id);
            if self.is_stateless() || self.tasks.is_used() {
                table.note_given_up(id);
            }
            id
        };
        let left = wire.abandon(id);
        // Where the protocol has no handshake, the end of the call's own stream says it.
        if left && !(self.is_stateless() && wire.has_stream_per_request()) {
            self.notify(
                "notifications/cancelled",
                &serde_json::json!({"requestId": id, "reason": reason}),
            );
        }
        left
    }

    fn notify(&self, method: &str, params: &serde_json::Value) {
        self.send_aside(message::notification(method, params));
    }

    fn reply(&self, message: OutgoingMessage) {
        let taken = self.wire.get().is_some_and(|wire| wire.send_reply(message, &self.limits));
        if !taken {
            tracing::debug!(server = &*self.server, "a reply that the server does not take");
        }
    }

    /// Sends a message without an answer; ignored when the wire has ended.
    fn send_aside(&self, message: OutgoingMessage) {
        if let Some(wire) = self.wire.get() {
            let _ = wire.send(message, None, Flush::Now);
        }
    }

    /// Ends the session and the wire; fails everything pending. Bounded.
    pub(crate) async fn close(&self) {
        self.cancel_tasks().await;
        self.end(closed_by_us()).await;
    }

    /// Same as [`Session::close`], with this error.
    pub(crate) async fn end(&self, error: Error) {
        self.fail_all(error.with_server(&self.server), None);
        if let Some(wire) = self.wire.get() {
            wire.close().await;
        }
    }

    /// Closes the table and fails pending requests; returns whether the session was open. Calls that were never read
    /// are returned to their senders.
    fn fail_all(&self, error: Error, unread: Option<&UnreadRequests>) -> bool {
        let is_unread = |id| unread.is_some_and(|unread| unread.proves(id));
        let (was_open, ended) = self.change_table(|table| {
            (table.closed().is_none(), table.close(error.clone(), is_unread))
        });
        for (pending, after) in ended {
            match after {
                AfterClose::Fail(executed) => {
                    let error = error.clone().with_executed(executed);
                    let error = pending.end_error(&self.server, error);
                    pending.finish(Err(error));
                }
                AfterClose::Resend(handle) => self.return_unread(pending, &error, handle),
            }
        }
        self.open_requests.end_all();
        self.tasks.end_all();
        self.subscription.close();
        self.deadline_moved.notify_one();
        was_open
    }

    /// Whether this session is known to take no more calls; the next session will.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.table).closed().is_some() || self.wire.get().is_some_and(Wire::is_over)
    }

    /// The server's announcements about its tools.
    pub(crate) fn announcements(&self) -> &Announcements {
        &self.announcements
    }

    /// Whether the server has answered a call in this session.
    pub(crate) fn has_served(&self) -> bool {
        lock(&self.table).has_served()
    }

    fn change_table<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = lock(&self.table);
        let changed = change(&mut table);
        let is_ending = table.closed().is_some();
        drop(table);
        if is_ending {
            self.ending.notify_waiters();
        }
        changed
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
            .naming_server(&self.server)
            .with_executed(Executed::No)
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn now_us(&self) -> u64 {
        #[cfg(test)]
        if let Some(now_us) = crate::runtime::simulated::now_us() {
            return now_us;
        }
        self.started.elapsed().as_micros() as u64
    }

    fn answer(&self, id: u64, outcome: RequestOutcome) {
        if !self.is_stateless() && !self.tasks.is_used() {
            return self.finish_request(id, outcome);
        }
        let awaiting = lock(&self.table).awaiting(id);
        match awaiting {
            Some(id) if self.begin_task(id, &outcome) || self.begin_round(id, &outcome) => {}
            Some(id) => self.finish_request(id, outcome),
            None => tracing::debug!(server = &*self.server, id, "an answer to an earlier round"),
        }
    }

    fn finish_request(&self, id: u64, outcome: RequestOutcome) {
        let now_us = self.now_us();
        let finished = self.change_table(|table| table.finish(id, &outcome, now_us));
        let Some(pending) = finished else {
            if self.subscription.end(id) {
                return;
            }
            return tracing::debug!(server = &*self.server, id, "an answer that nobody waits for");
        };
        let outcome = outcome.map_err(|error| {
            let error = self.after_refusal(error.with_server(&self.server));
            self.report_auth_required(&error);
            self.ask_for_pages(error, pending.manager())
        });
        pending.finish(outcome);
    }

    fn emit(&self, event: SessionEvent) {
        // The owner has ended with its runtime.
        let _ = self.events.send((self.generation, event));
    }

    /// Reports a required sign-in, once per session.
    pub(crate) fn report_auth_required(&self, error: &Error) {
        if error.kind() == ErrorKind::AuthRequired
            && !self.auth_reported.swap(true, Ordering::Relaxed)
        {
            let kind = EventKind::AuthRequired { error: error.clone() };
            self.subscribers.emit(&self.server, kind);
        }
    }
}

/// The reason that a server gets for a request that nobody waits for any more.
const GAVE_UP: &str = "the caller gave up";

fn closed_by_us() -> Error {
    Error::new(ErrorKind::ConnectionLost, "The connection was closed by us")
}

impl BufferedWriter for Session {
    fn flush(&self) {
        if let Some(wire) = self.wire.get() {
            wire.flush();
        }
    }
}
