//! Owns incoming messages: answers to pending requests, requests and notifications of the server, and unreadable
//! messages.
//! Invariant: only an object with a top-level `jsonrpc`, or one that is nothing but the answer to a pending request, is a
//! message; a server's log lines on stdout are not.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{self, BareAnswer, Envelope};
use super::server_logs::ServerLog;
use super::table::RequestOutcome;
use super::unreadable::{self, UnreadableAnswer};
use super::{Session, SessionEvent};
use crate::call::Progress;
use crate::error::{Error, ErrorKind, Executed, RpcError};
use crate::event::EventKind;
use crate::sync::lock;
use crate::wire::{Inbound, Loss, UnreadRequests, our_number, without_bom};

/// The length from which looking for the usual layouts first is faster.
const LONG_ANSWER: usize = 64 << 10;

impl Session {
    /// An answer that cannot be read fails its own call at once.
    fn unreadable(&self, message: &[u8]) {
        self.fail_unreadable(message, || unreadable("cannot be read"));
    }

    fn too_deep(&self, message: &[u8]) {
        let limit = self.limits.json_depth;
        self.fail_unreadable(message, || {
            over_limit(format!("The server's answer is nested more than {limit} deep"))
        });
    }

    fn fail_unreadable(&self, message: &[u8], error: impl FnOnce() -> Error) {
        let id = UnreadableAnswer::in_line(message).and_then(|answer| answer.id);
        match id.filter(|&id| lock(&self.table).contains(id)) {
            Some(id) => self.answer(id, Err(error())),
            None => self.not_a_message(message),
        }
    }

    /// A server may log to stdout; before it has connected, those lines may explain a failure.
    fn not_a_message(&self, line: &[u8]) {
        tracing::debug!(
            server = &*self.server,
            "not a message: {}",
            self.mask().fragment(&String::from_utf8_lossy(&line[..line.len().min(200)]))
        );
        if let Some(wire) = self.wire.get() {
            wire.note_stray_line(line);
        }
    }

    /// A message or a batch that came with the answer to request `asked`, if that is known.
    fn incoming(&self, message: Bytes, asked: Option<u64>) {
        if message.first() == Some(&b'{') {
            return self.single_message(message, asked);
        }
        let rest = without_bom(&message).trim_ascii_start();
        match rest.first() {
            Some(b'[') => {}
            Some(b'{') => return self.single_message(message.slice_ref(rest), asked),
            _ => return self.not_a_message(&message),
        }
        let mut read = 0;
        let one = |item: &RawValue| {
            read += 1;
            self.single_message(message.slice_ref(item.get().as_bytes()), asked);
        };
        if message::each_of_batch(rest, one) {
            return;
        }
        let elements = unreadable::elements(rest);
        if elements.is_empty() {
            self.not_a_message(&message);
        }
        let messages = elements.into_iter().filter(|element| element.starts_with(b"{"));
        for element in messages.skip(read) {
            self.single_message(message.slice_ref(element), asked);
        }
    }

    /// An error without an id belongs to the request `asked`, or to the only pending one.
    fn on_error_without_id(&self, message: &Bytes, asked: Option<u64>) {
        let Some(error) = message::error_without_id(message) else {
            return self.unreadable(message);
        };
        let id = asked.or_else(|| lock(&self.table).only_id());
        match id {
            Some(id) => self.answer(id, Err(self.rpc_error(error))),
            None => tracing::debug!(server = &*self.server, "an error for nobody in particular"),
        }
    }

    fn single_message(&self, message: Bytes, asked: Option<u64>) {
        if message::is_deeper_than(&message, self.limits.json_depth) {
            return self.too_deep(&message);
        }
        // A long answer to a control request, such as a tool list, is read as a whole later; scanning it here would be
        // a second pass.
        if message.len() >= LONG_ANSWER
            && let Some((id, result)) = message::quick_answer(&message)
            && lock(&self.table).is_control(id)
        {
            return self.answer(id, Ok(message.slice_ref(result)));
        }
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(&message) else {
            return self.unreadable(&message);
        };
        match envelope {
            Envelope { jsonrpc: None, .. } => self.without_version(&message),
            Envelope { method: Some(method), id, params, result, error, .. } => {
                let Some(method) = message::method_name(method) else {
                    return self.unreadable(&message);
                };
                let answered = id.filter(|_| result.is_some() || error.is_some());
                if let Some(id) = answered.and_then(|id| self.pending(id)) {
                    return self.answer(id, Err(unreadable("is a request, too")));
                }
                match id {
                    Some(id) => self.on_request(&method, id.get(), params, asked),
                    None => self.on_notification(&method, params),
                }
            }
            Envelope { method: None, id: Some(id), result, error, .. } => {
                let Some(id) = our_number(id.get()) else {
                    return self.unreadable(&message);
                };
                self.answer(id, self.outcome(&message, result, error));
            }
            Envelope { method: None, id: None, .. } => self.on_error_without_id(&message, asked),
        }
    }

    /// The number of a pending request.
    fn pending(&self, id: &RawValue) -> Option<u64> {
        our_number(id.get()).filter(|&id| lock(&self.table).contains(id))
    }

    fn without_version(&self, message: &Bytes) {
        let answer = BareAnswer::read(message);
        match answer.and_then(|answer| Some((self.pending(answer.id)?, answer))) {
            Some((id, BareAnswer { result, error, .. })) => {
                self.answer(id, self.outcome(message, result, error));
            }
            None => self.not_a_message(message),
        }
    }

    fn on_notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress" => {
                #[derive(Deserialize)]
                struct Params<'a> {
                    #[serde(rename = "progressToken", borrow)]
                    token: &'a RawValue,
                    progress: f64,
                    #[serde(default)]
                    total: Option<f64>,
                    #[serde(borrow, default)]
                    message: Option<&'a RawValue>,
                }
                if let Some(Params { token, progress, total, message }) = read_params(params)
                    && let Some(token) = our_number(token.get())
                {
                    let on_progress = lock(&self.table).note_progress(token, self.now_us());
                    if let Some(on_progress) = on_progress {
                        let message = message.and_then(|text| self.text_reader().text(text));
                        on_progress(Progress { progress, total, message });
                    }
                }
            }
            "notifications/tools/list_changed" => {
                let during_call = lock(&self.table).has_calls();
                self.note_changed_tools(during_call);
            }
            "notifications/subscriptions/acknowledged" => self.subscription.accept(),
            "notifications/cancelled" => {
                #[derive(Deserialize)]
                struct Params<'a> {
                    #[serde(rename = "requestId", borrow)]
                    id: &'a RawValue,
                }
                if let Some(Params { id }) = read_params(params) {
                    let is_ours = our_number(id.get()).is_some_and(|id| self.subscription.end(id));
                    if !is_ours {
                        self.on_cancelled(id.get());
                    }
                }
            }
            "notifications/tasks/status" | "notifications/tasks" => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Params {
                    task_id: String,
                }
                if self.tasks.is_waiting()
                    && let Some(Params { task_id }) = read_params(params)
                {
                    self.tasks.note_change(&task_id);
                }
            }
            "notifications/resources/list_changed" => {
                self.subscribers.emit(&self.server, EventKind::ResourcesChanged);
            }
            "notifications/prompts/list_changed" => {
                self.subscribers.emit(&self.server, EventKind::PromptsChanged);
            }
            "notifications/resources/updated" => {
                #[derive(Deserialize)]
                struct Params<'a> {
                    #[serde(borrow)]
                    uri: &'a RawValue,
                }
                let uri =
                    read_params(params).and_then(|Params { uri }| self.text_reader().text(uri));
                if let Some(uri) = uri {
                    self.subscribers.emit(&self.server, EventKind::ResourceUpdated { uri });
                }
            }
            "notifications/elicitation/complete" => {
                #[derive(Deserialize)]
                struct Params<'a> {
                    #[serde(rename = "elicitationId", borrow)]
                    id: &'a RawValue,
                }
                let id = read_params(params).and_then(|Params { id }| self.text_reader().text(id));
                if let Some(elicitation_id) = id {
                    let kind = EventKind::ElicitationComplete { elicitation_id };
                    self.subscribers.emit(&self.server, kind);
                }
            }
            "notifications/message" => {
                let read = |raw: &RawValue| ServerLog::read(raw.get(), &self.text_reader());
                if let Some(log) = params.and_then(read) {
                    log.log(&self.server);
                    self.subscribers.emit(&self.server, log.into_event());
                }
            }
            other => tracing::trace!(
                server = &*self.server,
                method = &*self.mask().text(other),
                "notification"
            ),
        }
    }

    fn outcome(
        &self,
        message: &Bytes,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
    ) -> RequestOutcome {
        match (result, error) {
            (Some(result), None) if result.get().starts_with('{') => {
                Ok(message.slice_ref(result.get().as_bytes()))
            }
            (None, Some(error)) => Err(self.rpc_error(error.get())),
            (Some(_), Some(_)) => Err(unreadable("has both a result and an error")),
            (Some(_), None) => Err(unreadable("has a result that is not an object")),
            (None, None) => Err(unreadable("has neither a result nor an error")),
        }
    }

    /// Converts the server's JSON-RPC error to ours.
    pub(super) fn rpc_error(&self, error: &str) -> Error {
        let texts = self.text_reader();
        let shape = serde_json::from_str::<message::RpcErrorShape<'_>>(error).ok();
        let words = |json: Option<&RawValue>| json.map_or(Some(String::new()), |it| texts.text(it));
        let Some((shape, words)) = shape.and_then(|it| words(it.message).map(|words| (it, words)))
        else {
            return unreadable("carries an error that cannot be read");
        };
        let data = shape.data.map(|data| texts.value(data));
        Error::new(ErrorKind::ToolFailed, words.clone())
            .with_executed(Executed::Yes)
            .with_rpc(RpcError { code: shape.code, message: words, data })
    }
}

/// The parameters of a notification; `None` if they cannot be read.
fn read_params<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(params?.get()).ok()
}

fn over_limit(text: String) -> Error {
    Error::new(ErrorKind::LimitExceeded, text).with_executed(Executed::Yes)
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::ProtocolError, format!("The server's answer {what}"))
        .with_executed(Executed::Unknown)
}

impl Inbound for Session {
    fn message(&self, message: Bytes) {
        self.incoming(message, None);
    }

    fn message_for(&self, asked: u64, message: Bytes) {
        self.incoming(message, Some(asked));
    }

    fn oversized(&self, head: &[u8], tail: &[u8]) {
        let Some(answer) = UnreadableAnswer::find(head, tail) else {
            if !tail.is_empty() {
                self.not_a_message(head);
            }
            return;
        };
        let table = lock(&self.table);
        // At the end of the message and without a readable id, the only pending call is unambiguous.
        let id = match answer.id {
            None if !tail.is_empty() => table.only_id(),
            id => id.filter(|&id| table.contains(id)),
        };
        drop(table);
        if let Some(id) = id {
            let limit = self.limits.message_bytes;
            let text = format!("The server's answer is over {limit} bytes");
            self.answer(id, Err(over_limit(text)));
        }
    }

    fn expects(&self, id: u64) -> bool {
        lock(&self.table).contains(id) || self.subscription.has_id(id)
    }

    fn unanswered(&self, id: u64, error: Error) {
        self.answer(id, Err(error));
    }

    fn awaits_answers(&self) -> bool {
        !lock(&self.table).is_empty()
    }

    fn only_request(&self) -> Option<u64> {
        lock(&self.table).only_id()
    }

    fn closed(&self, error: Error, unread: Option<&UnreadRequests>) {
        let error = error.with_server(&self.server);
        if self.fail_all(error.clone(), unread) {
            self.emit(SessionEvent::Lost(error, Loss::Gone));
        }
    }

    fn lost(&self, error: Error, loss: Loss) {
        let error = error.with_server(&self.server);
        self.emit(SessionEvent::Lost(error, loss));
    }
}
