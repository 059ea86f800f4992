//! Owns the standing request for a server's announcements where the protocol has no handshake (`subscriptions/listen`).
//! It is opened again whenever it ends, so that no change is missed, and when the managers want other resources.
//! Invariant: at most one is open. It is no pending request: nobody waits for its answer, and it has no deadline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::control::wire_request;
use super::handshake::{Handshake, ServerCapabilities};
use super::{Session, SessionEvent};
use crate::runtime;
use crate::sync::lock;

/// How long a change waits for the server's word.
const ACCEPTED: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_secs(1);
/// How many times the pause doubles while a server ends each stream at once.
const DOUBLINGS: u32 = 5;
/// A stream that was open for less than this ended at once.
const SHORT: Duration = Duration::from_secs(1);
/// How many times a server may end the request without ever accepting it.
const REFUSALS: u32 = 3;

#[derive(Default)]
pub(super) struct Subscription {
    open: Mutex<Option<OpenSubscription>>,
    /// What the server announces; unset until the handshake.
    announced: OnceLock<Value>,
    /// Whether it is kept open.
    is_kept: AtomicBool,
    accepted: Notify,
    /// Notified when the session has ended.
    closed: Arc<Notify>,
}

struct OpenSubscription {
    id: u64,
    is_accepted: bool,
    ended: oneshot::Sender<SubscriptionEnd>,
}

/// How a standing request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubscriptionEnd {
    /// The server had accepted it.
    Accepted,
    Refused,
    /// We want another one.
    Replaced,
}

impl Subscription {
    pub(super) fn is_open(&self) -> bool {
        lock(&self.open).is_some()
    }

    pub(super) fn has_id(&self, id: u64) -> bool {
        lock(&self.open).as_ref().is_some_and(|open| open.id == id)
    }

    /// The server has accepted it.
    pub(super) fn accept(&self) {
        if let Some(open) = lock(&self.open).as_mut() {
            open.is_accepted = true;
        }
        self.accepted.notify_waiters();
    }

    /// The server has ended it. Returns whether it was the one with this id.
    pub(super) fn end(&self, id: u64) -> bool {
        let ended = lock(&self.open).take_if(|open| open.id == id);
        let was_open = ended.is_some();
        if let Some(OpenSubscription { is_accepted, ended, .. }) = ended {
            let end =
                if is_accepted { SubscriptionEnd::Accepted } else { SubscriptionEnd::Refused };
            let _ = ended.send(end);
        }
        was_open
    }

    /// The session has ended.
    pub(super) fn close(&self) {
        drop(lock(&self.open).take());
        self.closed.notify_one();
    }
}

impl Session {
    /// Keeps a subscription to what the server announces and the managers want.
    pub(super) fn subscribe(&self, handshake: &Handshake) {
        let ServerCapabilities { announces_resources, announces_prompts, .. } =
            handshake.capabilities;
        let announced = [
            ("toolsListChanged", handshake.announces_tools),
            ("promptsListChanged", announces_prompts),
            ("resourcesListChanged", announces_resources),
        ];
        let announced = announced.into_iter().filter(|(_, is_announced)| *is_announced);
        let announced = announced.map(|(name, _)| (name.to_owned(), Value::Bool(true))).collect();
        let _ = self.subscription.announced.set(announced);
        if self.subscription_filter() != json!({}) {
            self.keep_subscription();
        }
    }

    fn keep_subscription(&self) {
        if !self.subscription.is_kept.swap(true, Ordering::Relaxed) {
            runtime::spawn(keep_subscribed(self.me.clone(), self.subscription.closed.clone()));
        }
    }

    /// The managers want other resources: opens another one in place of this. Returns whether
    /// the server has accepted it, within a bounded time.
    pub(super) async fn renew_subscription(&self) -> bool {
        let accepted = self.subscription.accepted.notified();
        let open = lock(&self.subscription.open).take();
        if let Some(OpenSubscription { id, ended, .. }) = open {
            self.send_cancelled(id, "another one follows");
            let _ = ended.send(SubscriptionEnd::Replaced);
        }
        self.keep_subscription();
        tokio::time::timeout(ACCEPTED, accepted).await.is_ok()
    }

    /// What is announced, and the resources that the managers want.
    fn subscription_filter(&self) -> Value {
        let mut filter = self.subscription.announced.get().cloned().unwrap_or_else(|| json!({}));
        let wanted = self.subscribers.session_settings(&self.server).subscriptions;
        if !wanted.is_empty() {
            filter["resourceSubscriptions"] = json!(wanted);
        }
        filter
    }

    /// Returns what tells its end; `None` if the session has ended.
    fn open_subscription(&self) -> Option<oneshot::Receiver<SubscriptionEnd>> {
        let (ended, end) = oneshot::channel();
        let (wire, id) = (self.wire.get()?, self.next_id());
        {
            // Held, so that the end of the session finds it.
            let _table = self.open_table().ok()?;
            let open = OpenSubscription { id, is_accepted: false, ended };
            lock(&self.subscription.open).replace(open);
        }
        let params = json!({"notifications": self.subscription_filter()});
        let metadata = self.stateless.get();
        let request = wire_request(wire, metadata, id, "subscriptions/listen", &params);
        wire.send_control(request, id).ok()?;
        Some(end)
    }

    /// The tools have changed, or may have.
    pub(super) fn note_changed_tools(&self, during_call: bool) {
        if self.announcements.announce(during_call) {
            self.subscribers.note_announcement();
            self.emit(SessionEvent::ToolsChanged);
        }
    }
}

async fn keep_subscribed(weak: Weak<Session>, closed: Arc<Notify>) {
    let (mut refusals, mut short_streams) = (0, 0);
    let mut has_stood = false;
    loop {
        let Some(end) = weak.upgrade().and_then(|session| session.open_subscription()) else {
            return;
        };
        if let (true, Some(session)) = (has_stood, weak.upgrade()) {
            // What was announced in between is lost.
            session.note_changed_tools(false);
        }
        let since = Instant::now();
        let Ok(end) = end.await else { return };
        let was_accepted = end == SubscriptionEnd::Accepted;
        has_stood |= was_accepted;
        if end == SubscriptionEnd::Replaced {
            continue;
        }
        refusals += u32::from(!was_accepted);
        // One that it has accepted before is wanted again, however long that takes.
        if refusals >= REFUSALS && !has_stood {
            return;
        }
        let is_short = since.elapsed() < SHORT;
        short_streams = if is_short { short_streams + 1 } else { 0 };
        runtime::at_most(pause_after(short_streams), closed.notified()).await;
    }
}

/// The pause after this many consecutive short streams.
fn pause_after(short_streams: u32) -> Duration {
    PAUSE * (1 << DOUBLINGS.min(short_streams.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_end_ends_it() {
        let subscription = Subscription::default();
        let (ended, mut end) = oneshot::channel();
        let open = OpenSubscription { id: 7, is_accepted: false, ended };
        lock(&subscription.open).replace(open);
        assert!(!subscription.end(8));
        assert!(subscription.has_id(7) && end.try_recv().is_err());
        subscription.accept();
        assert!(subscription.end(7));
        assert!(!subscription.end(7), "once");
        assert_eq!(end.try_recv(), Ok(SubscriptionEnd::Accepted));
    }

    #[test]
    fn the_pauses_are_bounded() {
        assert_eq!(pause_after(0), PAUSE);
        assert_eq!(pause_after(1), PAUSE);
        assert_eq!(pause_after(3), 4 * PAUSE);
        assert_eq!(pause_after(u32::MAX), 32 * PAUSE);
    }
}
