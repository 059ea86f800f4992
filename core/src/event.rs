//! Owns what mcpool tells while it works: events with a sequence number, a time and a server.
//! A slow reader loses the oldest events and is told how many; nobody else waits for it.

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

/// How many events are handed over at once.
const BATCH: usize = 256;

/// One thing that happened.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Counts up by one for each event of a manager.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The server concerned; empty when all are.
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
    /// A server changed its state.
    Status {
        /// The new state.
        state: State,
        /// What went wrong, if anything did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<crate::Error>,
        /// Why an attempt is made or due.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// How many attempts there have been since it was last stable.
        attempt: u32,
        /// When the next attempt is due by itself, in milliseconds from now.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_retry_ms: Option<u64>,
    },
    /// A server's tools in the catalog changed, or became live or deferred.
    ToolsChanged {
        /// How many it has now.
        tool_count: usize,
    },
    /// The server sent a log message, or mcpool has something to say of it.
    Log {
        /// Who speaks.
        origin: LogOrigin,
        /// Its severity, as the server names it.
        level: String,
        /// Which part of the server speaks.
        #[serde(skip_serializing_if = "Option::is_none")]
        logger: Option<String>,
        /// The message.
        data: serde_json::Value,
    },
    /// A reload changed the servers of the manager.
    ConfigChanged {
        /// New servers.
        added: Vec<String>,
        /// Servers that are gone.
        removed: Vec<String>,
        /// Servers that were replaced by another definition of the same name.
        restarted: Vec<String>,
        /// Servers whose settings changed while they ran on.
        updated: Vec<String>,
    },
    /// A tool is no longer as it was when it was first seen.
    ToolDrift {
        /// The server's name for it.
        tool: String,
        /// What it was: the fingerprint.
        pinned: String,
        /// What it is: the fingerprint.
        fingerprint: String,
        /// What is different, part by part.
        changes: Vec<DriftChange>,
        /// Whether it is kept from agents for it.
        blocked: bool,
    },
    /// A call was begun, or has ended. Only where the manager was asked to tell.
    Call {
        /// Which of the two.
        phase: CallPhase,
        /// Counts the calls of a manager; the same at begin and end.
        call: u64,
        /// The server's name for the tool.
        tool: String,
        /// What it was called with, at the begin, without what looks secret.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<serde_json::Value>,
        /// How long it took, at the end.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<f64>,
        /// Whether the tool says that it failed, where it has answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// Why there is no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<crate::Error>,
        /// The caller gave it up: there is neither an answer nor an error.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cancelled: bool,
    },
    /// A call that asked for progress has made some.
    Progress {
        /// The server's name for the tool.
        tool: String,
        /// How far it has come.
        #[serde(flatten)]
        progress: crate::Progress,
    },
    /// A text from a server tries to give orders to a model.
    Injection {
        /// Where it stands.
        place: InjectionPlace,
        /// The server's name for the tool; none for a server's instructions.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// What was found.
        signals: Vec<Signal>,
    },
    /// A server wants to know who we are.
    AuthRequired {
        /// What it said.
        error: crate::Error,
    },
    /// This reader was too slow for events that came before; `seq` is the number of the last of them.
    Lost {
        /// How many they were.
        count: u64,
    },
}

impl EventKind {
    /// Every type of event: what `type` says.
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

    /// The type: one of [`EventKind::TYPES`].
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

/// One part of a tool that is different.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DriftChange {
    /// A JSON pointer into the tool's entry, such as `/inputSchema/properties/path`.
    pub path: String,
    /// What stood there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<serde_json::Value>,
    /// What stands there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<serde_json::Value>,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPhase {
    /// It was handed in.
    Started,
    /// It has ended, however it did.
    Finished,
}

/// Which text of a server is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionPlace {
    /// What a tool answered.
    Result,
    /// What a tool says of itself, its schema included.
    Description,
    /// What a server says of itself.
    Instructions,
}

/// Who speaks in a log event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOrigin {
    /// The server, by `notifications/message`.
    Server,
    /// This library, of the server.
    Mcpool,
}

/// The sending side, one per manager.
#[derive(Default)]
pub(crate) struct EventLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    news: Notify,
}

impl Shared {
    fn emit(&self, server: &str, kind: EventKind) {
        lock(&self.queue).push(server, kind);
        self.news.notify_waiters();
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

    /// Every stream ends after the events that were sent.
    pub(crate) fn close(&self) {
        lock(&self.0.queue).close();
        self.0.news.notify_waiters();
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.close();
    }
}

/// A stream of events from the moment it was asked for.
pub struct Events {
    shared: ProcessLocal<Arc<Shared>>,
    id: u64,
    lost: AtomicU64,
}

impl Events {
    /// The next event; `None` when the manager is gone. Who asks at the same time gets different events.
    pub async fn next(&self) -> Option<Event> {
        while self.ready().await {
            if let Some(event) = self.take_most(1).pop() {
                return Some(event);
            }
        }
        None
    }

    /// Waits until there is something to [`Events::take`]; false when the manager is gone. Nothing is lost by giving it up.
    pub async fn ready(&self) -> bool {
        // Nothing will happen here to what belongs to the parent of a forked process.
        if self.shared.is_inherited() {
            return false;
        }
        loop {
            let mut told = pin!(self.shared.news.notified());
            // From here on, what happens is not missed.
            told.as_mut().enable();
            {
                let queue = lock(&self.shared.queue);
                if queue.has_news(self.id) {
                    return true;
                }
                if queue.is_closed() {
                    return false;
                }
            }
            told.await;
        }
    }

    /// What has happened since, some hundreds at most; empty when it is all read.
    pub fn take(&self) -> Vec<Event> {
        self.take_most(BATCH)
    }

    fn take_most(&self, most: usize) -> Vec<Event> {
        if self.shared.is_inherited() {
            return Vec::new();
        }
        let (lost, events) = lock(&self.shared.queue).take(self.id, most);
        if let Some(Event { kind: EventKind::Lost { count }, .. }) = lost {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
        lost.into_iter().chain(events.into_iter().map(Arc::unwrap_or_clone)).collect()
    }

    /// How many events this reader was too slow for.
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
        for _ in 0..queue::EVENTS + 10 {
            log.emit("s", EventKind::ToolsChanged { tool_count: 0 });
        }
        let told = events.next().await.unwrap();
        assert!(matches!(told.kind, EventKind::Lost { count: 10 }), "{told:?}");
        assert_eq!((told.seq, events.lost()), (10, 10));
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

    /// One event of each type. A new type has to be added here, to the list and to the languages.
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
