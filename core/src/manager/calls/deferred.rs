//! Owns calls whose connection is not known yet: a trust decision or the answer about its identity comes first. Each waits
//! within its own time limit.
//! Invariant: a cancellation finds the wait or the started call, whichever there is.

use std::future::Future;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::super::{Inner, Manager};
use super::handle::{CallHandle, Handle};
use super::pending::{CallSpec, PendingCall, TimeBudget};
use super::route::CheckedCall;
use crate::call::{Arguments, CallOptions};
use crate::caller::{AskFunction, Caller, IdentityQuestion, IdentitySource, OnIdentity};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::{Waiter, WaiterProxy};
use crate::question::Question;
use crate::result::ToolResult;
use crate::runtime;
use crate::sync::lock;

/// A call that waits, or was started after the wait.
pub(super) struct DeferredCall(Mutex<DeferredState>);

enum DeferredState {
    Waiting(Option<AbortHandle>),
    Started(CallHandle),
    /// It was cancelled, or failed before it was started.
    Ended,
}

impl DeferredCall {
    /// Waits, then starts the call by the function that the wait resolves to, unless it was cancelled.
    fn start<S>(wait: impl Future<Output = S> + Send + 'static) -> CallHandle
    where
        S: FnOnce() -> Option<CallHandle>,
    {
        let deferred = Arc::new(DeferredCall(Mutex::new(DeferredState::Waiting(None))));
        let shared = deferred.clone();
        // Locked until the task is stored, so that a cancellation finds it.
        let mut state = lock(&deferred.0);
        let task = runtime::spawn(async move {
            let start = wait.await;
            let mut state = lock(&shared.0);
            if let DeferredState::Waiting(_) = *state {
                *state = start().map_or(DeferredState::Ended, DeferredState::Started);
            }
        });
        *state = DeferredState::Waiting(Some(task.abort_handle()));
        drop(state);
        CallHandle::new(Handle::Deferred(deferred))
    }

    pub(super) fn cancel(&self) {
        let state = std::mem::replace(&mut *lock(&self.0), DeferredState::Ended);
        match state {
            DeferredState::Waiting(Some(task)) => task.abort(),
            DeferredState::Started(call) => call.cancel(),
            DeferredState::Waiting(None) | DeferredState::Ended => {}
        }
    }
}

/// Starts the call on the connection that `held` resolves to, after a decision about the trust in its server.
pub(super) fn start_when_trusted(
    server: &str,
    held: impl Future<Output = Result<Arc<Connection>>> + Send + 'static,
    call: CallSpec,
    waiter: Waiter,
) -> CallHandle {
    let server = server.to_owned();
    DeferredCall::start(async move {
        let held = timeout_at(call.time_budget.deadline(), held).await;
        let held = held.unwrap_or_else(|_| Err(untrusted_in_time(&server)));
        move || match held {
            Ok(connection) => {
                connection.wake();
                Some(PendingCall::new(connection, call).start(waiter))
            }
            Err(error) => {
                let error = call.left.closed_or(&server, error.with_executed(Executed::No));
                waiter.finish(Err(error));
                None
            }
        }
    })
}

/// The error of a call whose server nobody has said to trust in time.
fn untrusted_in_time(server: &str) -> Error {
    let text =
        format!("Nobody has said in time for the call whether server \"{server}\" is trusted");
    Error::new(ErrorKind::ToolTimeout, text).naming_server(server)
}

/// Asks who the call is made for, then sends it.
pub(super) fn start_when_identified(
    call: CheckedCall<'_>,
    on_identity: &OnIdentity,
    waiter: Waiter,
) -> CallHandle {
    let began = Instant::now();
    let deadline = TimeBudget::new(call.limits(), began).deadline();
    let (server, tool) = (call.server.name.clone(), call.raw_name.to_owned());
    let left = call.server.left();
    let CheckedCall { manager, arguments, mut options, .. } = call;
    let question = IdentityQuestion { server: server.clone(), tool: tool.clone() };
    let answer = ask(on_identity, question, &options, &waiter);
    let waiter = Arc::new(ReturnedWaiter(Mutex::new(Some(waiter))));
    let manager = manager.0.me.clone();
    DeferredCall::start(async move {
        let caller = tokio::select! {
            biased;
            () = left.wait() => Err(left.error(&server)),
            answer = timeout_at(deadline, answer) => match answer {
                Ok(Some(caller)) => Ok(caller),
                Ok(None) => Err(no_identity(&server, &tool)),
                Err(_) => Err(late_identity(&server, &tool)),
            },
        };
        move || {
            let sent = caller.and_then(|Caller { identity, headers }| {
                options.identity = identity;
                options.headers = match (options.headers.take(), headers) {
                    (Some(own), Some(headers)) => Some(own.over(&headers)),
                    (own, headers) => own.or(headers),
                };
                let manager = manager.upgrade().ok_or_else(Error::closed)?;
                let waiter = Waiter::Proxy(waiter.clone());
                send_again(manager, &server, &tool, (arguments, options), began, waiter)
            });
            match sent {
                Ok(handle) => Some(handle),
                Err(error) => {
                    waiter.finish(Err(error.with_executed(Executed::No)));
                    None
                }
            }
        }
    })
}

/// Sends a call whose caller is known now. Runs on one of our threads, where no naming function may be called.
fn send_again(
    manager: Arc<Inner>,
    server: &str,
    raw_name: &str,
    (arguments, options): (Arguments, CallOptions),
    began: Instant,
    waiter: Waiter,
) -> Result<CallHandle> {
    let manager = &Manager(ProcessLocal::new(manager));
    manager.check_open()?;
    let servers = manager.0.servers.load();
    // A reload may have removed the server or the tool since.
    let server = servers.get(server).ok_or_else(|| manager.no_such_server(server))?;
    let config = server.usable()?;
    server.offer.check_settled_name(raw_name)?;
    let (began, hold) = (Some(began), None);
    CheckedCall { manager, server, config, raw_name, arguments, options, began, hold }
        .dispatch(waiter)
}

/// Asks; without an answer, the log says why.
fn ask(
    OnIdentity(source): &OnIdentity,
    question: IdentityQuestion,
    options: &CallOptions,
    waiter: &Waiter,
) -> BoxFuture<'static, Option<Caller>> {
    match source {
        IdentitySource::Function(ask) => Box::pin(ask_function(ask.clone(), question)),
        IdentitySource::Caller => {
            let server = question.server.clone();
            let (question, answer) = Question::new("identity", &question);
            match &options.on_question {
                Some(on_question) => on_question(question),
                None => waiter.ask(question),
            }
            Box::pin(async move { read_answer(&server, answer.await) })
        }
    }
}

/// Asks in its own task, so that a panic fails only this call.
async fn ask_function(ask: AskFunction, question: IdentityQuestion) -> Option<Caller> {
    let server = question.server.clone();
    let answer = runtime::in_own_task(async move { ask(question).await }).await;
    if answer.is_none() {
        log_problem(&server, "it panicked");
    }
    answer
}

/// Reads a host's answer: an object is a caller, a text is an error message, null means that the error was logged already.
fn read_answer(server: &str, answer: Option<String>) -> Option<Caller> {
    let answer = match answer.and_then(|json| serde_json::from_str(&json).ok())? {
        Value::Null => return None,
        Value::String(problem) => Err(problem),
        answer => Caller::read(&answer),
    };
    answer.inspect_err(|problem| log_problem(server, problem)).ok()
}

fn log_problem(server: &str, problem: &str) {
    tracing::warn!(server, "The identity callback failed, so the call is not sent: {problem}");
}

fn no_identity(server: &str, tool: &str) -> Error {
    let text = format!(
        "The identity callback failed, so tool \"{tool}\" of server \"{server}\" was not called"
    );
    Error::new(ErrorKind::AuthFailed, text).quoting(tool).naming_server(server).with_hint(
        "the log says how it failed; it must return an identity, headers, both or nothing",
    )
}

fn late_identity(server: &str, tool: &str) -> Error {
    let text = format!(
        "The identity callback did not answer in time for the call of tool \"{tool}\" of server \"{server}\""
    );
    Error::new(ErrorKind::ToolTimeout, text).quoting(tool).naming_server(server)
}

/// The waiter of a call that may fail before it is sent.
struct ReturnedWaiter(Mutex<Option<Waiter>>);

impl WaiterProxy for ReturnedWaiter {
    fn finish(self: Arc<Self>, outcome: Result<ToolResult>) {
        let waiter = lock(&self.0).take();
        if let Some(waiter) = waiter {
            waiter.finish(outcome);
        }
    }

    fn ask(&self, question: Question) {
        if let Some(waiter) = &*lock(&self.0) {
            waiter.ask(question);
        }
    }

    fn note_progress(&self) {
        if let Some(waiter) = &*lock(&self.0) {
            waiter.note_progress();
        }
    }
}
