//! Owns the events of calls: start and end, if the manager's options ask for them, and progress.
//! Invariant: a call that was emitted as started is emitted as finished exactly once. A manager without these events
//! pays nothing.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::super::Manager;
use super::{CallHandle, Handle, ToolRef};
use crate::call::{Arguments, CallOptions, OnProgress, Progress};
use crate::caller::Identity;
use crate::error::{Error, Executed, Result};
use crate::event::{CallPhase, EventKind, EventLog};
use crate::mailbox::{Waiter, WaiterProxy};
use crate::question::Question;
use crate::redact::{self, Mask};
use crate::result::ToolResult;
use crate::sync::lock;

/// How many characters of a progress message an event keeps.
const MESSAGE: usize = 1000;

/// A call in progress with events; a proxy for its waiter.
pub(super) struct CallEvents {
    events: Arc<EventLog>,
    server: String,
    /// As the call gives it.
    identity: Option<Identity>,
    tool: String,
    call: u64,
    began: Instant,
    waiter: Mutex<Option<Waiter>>,
}

/// How a call ended.
enum CallOutcome<'a> {
    Answered(&'a ToolResult),
    Failed(&'a Error),
    Cancelled,
}

impl Manager {
    /// Same as `dispatch`, with events.
    pub(super) fn dispatch_with_events(
        &self,
        tool: ToolRef<'_>,
        arguments: Arguments,
        options: CallOptions,
        waiter: Waiter,
    ) -> Result<CallHandle> {
        self.check_open().map_err(|error| error.with_executed(Executed::No))?;
        let (server, raw_name) = match tool {
            ToolRef::Of { server, tool } => (server.to_owned(), tool.to_owned()),
            ToolRef::Named(name) => match self.find_named(name) {
                Ok(tool) => (tool.server().to_owned(), tool.raw_name().to_owned()),
                Err(_) => (String::new(), name.to_owned()),
            },
        };
        let call_events = Arc::new(CallEvents {
            events: self.0.sink.events.clone(),
            server,
            identity: options.identity.clone(),
            tool: raw_name,
            call: self.0.call_count.fetch_add(1, Ordering::Relaxed) + 1,
            began: Instant::now(),
            waiter: Mutex::new(Some(waiter)),
        });
        let server = self.0.servers.load().get(&call_events.server).cloned();
        let mask = server.map(|server| server.mask()).unwrap_or_default();
        call_events.emit_started(&arguments, &mask);
        match self.send(tool, arguments, options, Waiter::Proxy(call_events.clone())) {
            Ok(handle) => Ok(CallHandle::new(Handle::CallEvents(call_events, Box::new(handle)))),
            Err(error) => {
                call_events.emit_finished(CallOutcome::Failed(&error));
                Err(error)
            }
        }
    }

    /// Emits an event for each progress message before the callback runs.
    pub(super) fn progress_with_events(
        &self,
        server: &str,
        raw_name: &str,
        on_progress: OnProgress,
    ) -> OnProgress {
        let events = self.0.sink.events.clone();
        let (server, tool) = (server.to_owned(), raw_name.to_owned());
        Arc::new(move |progress| {
            let message = progress.message.as_deref().map(|text| redact::shortened(text, MESSAGE));
            let masked = Progress { message, ..progress };
            events.emit(&server, EventKind::Progress { tool: tool.clone(), progress: masked });
            on_progress(progress);
        })
    }
}

impl CallEvents {
    fn emit_started(&self, arguments: &Arguments, mask: &Mask) {
        let arguments = Some(redact::arguments(arguments.json(), mask));
        self.emit(CallPhase::Started, arguments, None);
    }

    fn emit_finished(&self, outcome: CallOutcome<'_>) {
        self.emit(CallPhase::Finished, None, Some(outcome));
    }

    fn emit(
        &self,
        phase: CallPhase,
        arguments: Option<serde_json::Value>,
        outcome: Option<CallOutcome<'_>>,
    ) {
        let (mut is_error, mut error, mut cancelled) = (None, None, false);
        let duration_ms = outcome.is_some().then(|| self.began.elapsed().as_secs_f64() * 1000.0);
        match outcome {
            Some(CallOutcome::Answered(result)) => is_error = Some(result.is_error()),
            Some(CallOutcome::Failed(failure)) => error = Some(failure.clone()),
            Some(CallOutcome::Cancelled) => cancelled = true,
            None => {}
        }
        let (call, tool) = (self.call, self.tool.clone());
        self.events.emit_for(
            &self.server,
            self.identity.as_ref(),
            EventKind::Call {
                phase,
                call,
                tool,
                arguments,
                duration_ms,
                is_error,
                error,
                cancelled,
            },
        );
    }

    pub(super) fn emit_cancelled(&self) {
        if lock(&self.waiter).take().is_some() {
            self.emit_finished(CallOutcome::Cancelled);
        }
    }
}

impl WaiterProxy for CallEvents {
    fn finish(self: Arc<Self>, outcome: Result<ToolResult>) {
        let Some(waiter) = lock(&self.waiter).take() else { return };
        self.emit_finished(match &outcome {
            Ok(result) => CallOutcome::Answered(result),
            Err(error) => CallOutcome::Failed(error),
        });
        waiter.finish(outcome);
    }

    fn ask(&self, question: Question) {
        if let Some(waiter) = &*lock(&self.waiter) {
            waiter.ask(question);
        }
    }
}
