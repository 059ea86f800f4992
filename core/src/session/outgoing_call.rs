//! Owns a call that is passed to a session: its content, and who keeps the content for a resend.

use std::sync::Arc;

use super::CallRequest;
use crate::call::{Arguments, OnProgress, TaskUse};
use crate::caller::CallerHeaders;
use crate::error::Error;
use crate::mailbox::Waiter;
use crate::result::Presenter;
use crate::tool::ServerTool;

/// A call to send.
pub(crate) struct OutgoingCall<'a> {
    pub(crate) tool: &'a ServerTool,
    /// Presents its result to a model.
    pub(crate) presenter: &'a Arc<Presenter>,
    pub(crate) content: CallContent<'a>,
}

/// The content of a call.
pub(crate) enum CallContent<'a> {
    /// The sender keeps the call and resends it itself.
    Borrowed {
        arguments: &'a Arguments,
        meta: Option<&'a Arguments>,
        on_progress: Option<OnProgress>,
        headers: Option<CallerHeaders>,
        task: TaskUse<'a>,
    },
    /// The session keeps the call until it is answered, and returns it if it was not read.
    Owned(Box<CallRequest>),
}

impl CallContent<'_> {
    pub(super) fn arguments(&self) -> &Arguments {
        match self {
            CallContent::Borrowed { arguments, .. } => arguments,
            CallContent::Owned(request) => &request.arguments,
        }
    }

    pub(super) fn meta(&self) -> Option<&Arguments> {
        match self {
            CallContent::Borrowed { meta, .. } => *meta,
            CallContent::Owned(request) => request.options.meta.as_ref(),
        }
    }

    pub(super) fn on_progress(&self) -> Option<OnProgress> {
        match self {
            CallContent::Borrowed { on_progress, .. } => on_progress.clone(),
            CallContent::Owned(request) => request.options.on_progress.clone(),
        }
    }

    pub(super) fn headers(&self) -> Option<CallerHeaders> {
        match self {
            CallContent::Borrowed { headers, .. } => headers.clone(),
            CallContent::Owned(request) => request.options.headers.clone(),
        }
    }

    pub(super) fn task(&self) -> TaskUse<'_> {
        match self {
            CallContent::Borrowed { task, .. } => *task,
            CallContent::Owned(request) => request.options.task_use(),
        }
    }

    pub(super) fn into_request(self) -> Option<Box<CallRequest>> {
        match self {
            CallContent::Borrowed { .. } => None,
            CallContent::Owned(request) => Some(request),
        }
    }
}

/// A call that was provably never sent, with its request if the session had it.
pub(crate) struct UnsentCall {
    pub(crate) error: Error,
    pub(crate) waiter: Waiter,
    pub(crate) request: Option<Box<CallRequest>>,
}
