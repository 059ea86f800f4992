//! Owns events: each has a sequence number, a time and a server. A slow reader loses the oldest events and learns how
//! many; nobody waits for it.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use tokio::sync::Notify;

use crate::fork::ProcessLocal;
use crate::scan::Signal;
use crate::status::{Reason, State};
use crate::sync::lock;

mod queue;

use queue::Queue;

/// The most events that are delivered at once.
const BATCH: usize = 256;

/// One event.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Increases by one with each event of a manager.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The server it is about; empty for all servers.
    pub server: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A server's state changed.
    Status {
        /// The new state.
        state: State,
        /// What went wrong, if anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<crate::Error>,
        /// Why an attempt is made or scheduled.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// Attempts since the server was last stable.
        attempt: u32,
        /// When the next automatic attempt is due, in milliseconds from now.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_retry_ms: Option<u64>,
    },
    /// A server's tools in the catalog changed, or became live or deferred.
    ToolsChanged {
        /// How many tools it has now.
        tool_count: usize,
    },
    /// The server sent a log message, or mcpool logged something about it.
    Log {
        /// Who logged it.
        origin: LogOrigin,
        /// The severity, as the server names it.
        level: String,
        /// The part of the server that logged it.
        #[serde(skip_serializing_if = "Option::is_none")]
        logger: Option<String>,
        /// The message.
        data: serde_json::Value,
    },
    /// A reload changed the servers of the manager.
    ConfigChanged {
        /// New servers.
        added: Vec<String>,
        /// Removed servers.
        removed: Vec<String>,
        /// Servers that were replaced by another definition of the same name.
        restarted: Vec<String>,
        /// Servers whose settings changed while they kept running.
        updated: Vec<String>,
    },
    /// A tool differs from when it was first seen.
    ToolDrift {
        /// The tool's name on its server.
        tool: String,
        /// The pinned fingerprint.
        pinned: String,
        /// The current fingerprint.
        fingerprint: String,
        /// The differences, one for each part.
        changes: Vec<DriftChange>,
        /// Whether the tool is blocked for it.
        blocked: bool,
    },
    /// A call started or finished. Only sent if the manager's options ask for it.
    Call {
        /// Started or finished.
        phase: CallPhase,
        /// The number of the call in its manager; the same for both events.
        call: u64,
        /// The tool's name on its server.
        tool: String,
        /// The redacted arguments, when the call starts.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<serde_json::Value>,
        /// The duration, when the call finishes.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<f64>,
        /// Whether the tool reports a failure, if it answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// Why there is no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<crate::Error>,
        /// The caller cancelled the call: there is neither an answer nor an error.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cancelled: bool,
    },
    /// A call with a progress callback made progress.
    Progress {
        /// The tool's name on its server.
        tool: String,
        /// The progress so far.
        #[serde(flatten)]
        progress: crate::Progress,
    },
    /// A server's text tries to give instructions to a model.
    Injection {
        /// Which text it is.
        place: InjectionPlace,
        /// The tool's name on its server; `None` for a server's instructions.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// What was found.
        signals: Vec<Signal>,
    },
    /// A server requires authentication.
    AuthRequired {
        /// The server's answer.
        error: crate::Error,
    },
    /// This reader was too slow and lost events; `seq` is the number of the last lost one.
    Lost {
        /// How many events were lost.
        count: u64,
    },
}

impl EventKind {
    /// Every event type: the values of `type`.
    pub const TYPES: &'static [&'static str] = &[
        "status",
        "tools_changed",
        "tool_drift",
        "call",
        "progress",
        "log",
        "injection",
        "auth_required",
        "config_changed",
        "lost",
    ];

    /// The event's type, one of [`EventKind::TYPES`].
    pub fn name(&self) -> &'static str {
        match self {
            EventKind::Status { .. } => "status",
            EventKind::ToolsChanged { .. } => "tools_changed",
            EventKind::ToolDrift { .. } => "tool_drift",
            EventKind::Call { .. } => "call",
            EventKind::Progress { .. } => "progress",
            EventKind::Log { .. } => "log",
            EventKind::Injection { .. } => "injection",
            EventKind::AuthRequired { .. } => "auth_required",
            EventKind::ConfigChanged { .. } => "config_changed",
            EventKind::Lost { .. } => "lost",
        }
    }
}

/// One changed part of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DriftChange {
    /// A JSON pointer into the tool's entry, such as `/inputSchema/properties/path`.
    pub path: String,
    /// The previous value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<serde_json::Value>,
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<serde_json::Value>,
}

/// The phase of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPhase {
    /// The call was submitted.
    Started,
    /// The call ended, with any outcome.
    Finished,
}

/// The kind of a server's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionPlace {
    /// A tool's result.
    Result,
    /// A tool's description or schema.
    Description,
    /// A server's instructions.
    Instructions,
}

/// Who wrote a log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOrigin {
    /// The server, by `notifications/message`.
    Server,
    /// This library, about the server.
    Mcpool,
}

/// The sending side, one per manager.
#[derive(Default)]
pub(crate) struct EventLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

impl Shared {
    fn emit(&self, server: &str, kind: EventKind) {
        lock(&self.queue).push(server, kind);
        self.changed.notify_waiters();
    }
}

impl EventLog {
    pub(crate) fn emit(&self, server: &str, kind: EventKind) {
        self.0.emit(server, kind);
    }

    pub(crate) fn subscribe(&self) -> Events {
        let id = lock(&self.0.queue).join();
        Events { shared: ProcessLocal::new(self.0.clone()), id, lost: AtomicU64::new(0) }
    }

    /// Every stream ends after the events that were already sent.
    pub(crate) fn close(&self) {
        lock(&self.0.queue).close();
        self.0.changed.notify_waiters();
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.close();
    }
}

/// A stream of the events since it was created.
pub struct Events {
    shared: ProcessLocal<Arc<Shared>>,
    id: u64,
    lost: AtomicU64,
}

impl Events {
    /// The next event; `None` when the manager is gone. Concurrent callers get different events.
    pub async fn next(&self) -> Option<Event> {
        while self.ready().await {
            if let Some(event) = self.take_up_to(1).pop() {
                return Some(event);
            }
        }
        None
    }

    /// Waits until [`Events::take`] has events; false when the manager is gone. Cancelling it loses nothing.
    pub async fn ready(&self) -> bool {
        // Events of a parent process never arrive in a forked child.
        if self.shared.is_inherited() {
            return false;
        }
        loop {
            let mut notified = pin!(self.shared.changed.notified());
            // Registered before the check, so that no event is missed in between.
            notified.as_mut().enable();
            {
                let queue = lock(&self.shared.queue);
                if queue.has_events(self.id) {
                    return true;
                }
                if queue.is_closed() {
                    return false;
                }
            }
            notified.await;
        }
    }

    /// The events since the last call, a few hundred at most; empty if there are none.
    pub fn take(&self) -> Vec<Event> {
        self.take_up_to(BATCH)
    }

    fn take_up_to(&self, limit: usize) -> Vec<Event> {
        if self.shared.is_inherited() {
            return Vec::new();
        }
        let (lost, events) = lock(&self.shared.queue).take(self.id, limit);
        if let Some(Event { kind: EventKind::Lost { count }, .. }) = lost {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
        lost.into_iter().chain(events.into_iter().map(Arc::unwrap_or_clone)).collect()
    }

    /// How many events this reader has lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if !self.shared.is_inherited() {
            lock(&self.shared.queue).leave(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_reader_loses_the_oldest_and_is_told() {
        let log = EventLog::default();
        let events = log.subscribe();
        for _ in 0..queue::MAX_EVENTS + 10 {
            log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
        }
        let read = events.next().await.unwrap();
        assert!(matches!(read.kind, EventKind::Lost { count: 10 }), "{read:?}");
        assert_eq!((read.seq, events.lost()), (10, 10));
        assert_eq!(events.next().await.unwrap().seq, 11);
    }

    #[tokio::test]
    async fn a_reader_that_gives_up_waiting_loses_nothing() {
        let log = EventLog::default();
        let events = log.subscribe();
        for number in 1..100 {
            let waits = std::future::poll_fn(|cx| {
                let _ = pin!(events.next()).poll(cx);
                std::task::Poll::Ready(())
            });
            waits.await;
            log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
            assert_eq!(events.next().await.unwrap().seq, number);
        }
    }

    /// One event of each type. A new type must be added here, to the list and to the languages.
    fn one_of_each() -> Vec<EventKind> {
        let (tool, none) = (String::new, Vec::new);
        let error = crate::Error::new(crate::ErrorKind::AuthRequired, "");
        vec![
            EventKind::Status {
                state: State::Idle,
                error: None,
                reason: None,
                attempt: 0,
                next_retry_ms: None,
            },
            EventKind::ToolsChanged { tool_count: 0 },
            EventKind::ToolDrift {
                tool: tool(),
                pinned: tool(),
                fingerprint: tool(),
                changes: Vec::new(),
                blocked: false,
            },
            EventKind::Call {
                phase: CallPhase::Started,
                call: 1,
                tool: tool(),
                arguments: None,
                duration_ms: None,
                is_error: None,
                error: None,
                cancelled: false,
            },
            EventKind::Progress {
                tool: tool(),
                progress: crate::Progress { progress: 0.0, total: None, message: None },
            },
            EventKind::Log {
                origin: LogOrigin::Mcpool,
                level: tool(),
                logger: None,
                data: serde_json::Value::Null,
            },
            EventKind::Injection { place: InjectionPlace::Result, tool: None, signals: Vec::new() },
            EventKind::AuthRequired { error },
            EventKind::ConfigChanged {
                added: none(),
                removed: none(),
                restarted: none(),
                updated: none(),
            },
            EventKind::Lost { count: 1 },
        ]
    }

    #[test]
    fn the_list_of_types_is_what_events_say() {
        let all = one_of_each();
        assert_eq!(all.iter().map(EventKind::name).collect::<Vec<_>>(), EventKind::TYPES);
        for kind in all {
            let name = kind.name();
            assert_eq!(serde_json::to_value(kind).unwrap()["type"], name);
        }
    }

    #[tokio::test]
    async fn the_stream_ends_with_the_manager() {
        let log = EventLog::default();
        let events = log.subscribe();
        drop(log);
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn a_closed_log_is_read_to_its_end() {
        let log = EventLog::default();
        let events = log.subscribe();
        log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
        log.close();
        assert_eq!(events.next().await.unwrap().seq, 1);
        assert!(events.next().await.is_none());
        assert!(log.subscribe().next().await.is_none());
    }
}
