//! Owns the requests of the server: pings are answered at once, requests for what the managers offer go to one of them,
//! everything else is refused.
//! Invariant: an open request is answered once or cancelled by the server; the reading thread never waits for the answer.
//! Their number is bounded, and the calls that may have caused one do not time out meanwhile.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::{Session, message};
use crate::runtime;
use crate::server_request::{Feature, Refusal, ServerRequest};
use crate::subscribers::Subscriber;
use crate::sync::lock;
use crate::wire::OutgoingMessage;

/// How long a connect waits for the stream of the server's own messages, if a manager answers requests and if none does.
const STREAM: Duration = Duration::from_secs(1);
const UNOFFERED_STREAM: Duration = Duration::from_millis(100);
/// How long a call may wait for an open request of its server at most; the request has its own limit.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// The open requests of a server, by their ids as written.
#[derive(Default)]
pub(super) struct OpenRequests(Mutex<HashMap<Box<str>, AbortHandle>>);

impl OpenRequests {
    /// Ends all, because nobody waits for the answers any more.
    pub(super) fn end_all(&self) {
        let ended = std::mem::take(&mut *lock(&self.0));
        ended.into_values().for_each(|task| task.abort());
    }

    /// Ends one whose answer is not needed any more; returns whether it was open.
    pub(super) fn abort(&self, id: &str) -> bool {
        let task = lock(&self.0).remove(id);
        task.as_ref().inspect(|task| task.abort()).is_some()
    }

    /// Removes one that has its answer; returns whether it was open. Whoever removes it sends the answer.
    pub(super) fn end(&self, id: &str) -> bool {
        lock(&self.0).remove(id).is_some()
    }

    /// Opens one, unless there are too many: the task ends it.
    pub(super) fn spawn(
        &self,
        id: &str,
        limit: usize,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        // Locked until the task is known: it may end at once.
        let mut open = lock(&self.0);
        if open.len() >= limit {
            return false;
        }
        open.insert(id.into(), runtime::spawn(task).abort_handle());
        true
    }

    fn contains(&self, id: &str) -> bool {
        lock(&self.0).contains_key(id)
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

impl Session {
    /// Waits until the server can send messages of its own: some servers lose those from before that.
    pub(crate) async fn until_heard(&self) {
        let Some(wire) = self.wire.get() else { return };
        let answers = self.subscribers.capabilities() != json!({});
        let limit = if answers { STREAM } else { UNOFFERED_STREAM };
        let _ = tokio::time::timeout(limit, wire.listening()).await;
    }

    /// Answers a request of the server; `id` is the server's id as written, `call` the call that caused it, if that is known.
    pub(super) fn on_request(
        &self,
        method: &str,
        id: &str,
        params: Option<&RawValue>,
        call: Option<u64>,
    ) {
        if id.len() > self.limits.text_bytes {
            return tracing::debug!(server = &*self.server, "a request with too long an id");
        }
        if method == "ping" {
            return self.reply(message::answer(id, "\"result\":{}"));
        }
        let feature = Feature::from_method(method);
        let call = call.or_else(|| feature.and_then(|_| self.call_of_request(params)));
        let answering = feature.and_then(|feature| Some((feature, self.answering(feature, call)?)));
        match answering {
            Some((feature, manager)) => self.ask(feature, manager, id, params, call),
            None => self.reply(not_offered(method, id)),
        }
    }

    /// The manager that answers: that of the call, or of all pending calls, if it is known.
    fn answering(&self, feature: Feature, call: Option<u64>) -> Option<Arc<dyn Subscriber>> {
        let caller = lock(&self.table).manager_of(call);
        self.subscribers.answering(feature, caller)
    }

    fn ask(
        &self,
        feature: Feature,
        manager: Arc<dyn Subscriber>,
        id: &str,
        params: Option<&RawValue>,
        call: Option<u64>,
    ) {
        if self.open_requests.contains(id) {
            return tracing::debug!(server = &*self.server, "a request with the id of an open one");
        }
        let (session, server) = (self.me.clone(), self.server.to_string());
        let params: Box<str> = params.map_or("{}", RawValue::get).into();
        let own_id: Box<str> = id.into();
        self.pause_calls(call);
        let task = async move {
            // A callback that panics has no answer.
            let answer = runtime::in_own_task(answer(feature, manager, server, params)).await;
            let answer = answer.unwrap_or_else(|| feature.unanswered());
            let Some(session) = session.upgrade() else { return };
            if session.open_requests.end(&own_id) {
                session.resume_calls(call);
                session.reply(match answer {
                    Ok(result) => message::answer(&own_id, &format!("\"result\":{result}")),
                    Err(refusal) => refused(&own_id, &refusal),
                });
            }
        };
        if !self.open_requests.spawn(id, self.limits.server_requests, task) {
            self.resume_calls(call);
            self.reply(refused(id, &Refusal::TOO_MANY));
        }
    }

    /// The server does not want the answer any more.
    pub(super) fn on_cancelled(&self, id: &str) {
        if self.open_requests.abort(id) {
            self.resume_calls(None);
        }
    }

    pub(super) fn pause_calls(&self, call: Option<u64>) {
        let until_us = self.now_us().saturating_add(LONGEST_WAIT.as_micros() as u64);
        lock(&self.table).pause_calls(call, until_us);
    }

    /// The idle time of calls begins again.
    pub(super) fn resume_calls(&self, call: Option<u64>) {
        if self.open_requests.is_empty() {
            lock(&self.table).resume_calls(None, self.now_us());
        } else if call.is_some() {
            lock(&self.table).resume_calls(call, self.now_us());
        }
        self.deadline_moved.notify_one();
    }
}

/// Asks the manager.
pub(super) async fn answer(
    feature: Feature,
    manager: Arc<dyn Subscriber>,
    server: String,
    params: Box<str>,
) -> Result<Value, Refusal> {
    let (bytes, read) = (params.len(), move || serde_json::from_str::<Value>(&params).ok());
    let params = runtime::read_off_worker(bytes, read).await;
    let params = params.filter(Value::is_object).ok_or(Refusal::INVALID)?;
    manager.answer_request(ServerRequest { feature, server, params }).await
}

fn not_offered(method: &str, id: &str) -> OutgoingMessage {
    let words = format!("This client does not offer {method}");
    error_answer(id, ErrorCode::METHOD_NOT_FOUND.0, &words)
}

fn refused(id: &str, refusal: &Refusal) -> OutgoingMessage {
    error_answer(id, refusal.code, refusal.message)
}

fn error_answer(id: &str, code: i32, words: &str) -> OutgoingMessage {
    message::answer(id, &format!("\"error\":{}", json!({"code": code, "message": words})))
}
