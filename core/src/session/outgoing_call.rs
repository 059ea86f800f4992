//! Owns a call on its way into a session: what it says, and who keeps that for sending it again.

use std::sync::Arc;

use super::CallRequest;
use crate::call::{Arguments, OnProgress};
use crate::error::Error;
use crate::mailbox::Waiter;
use crate::result::Presenter;
use crate::tool::ServerTool;

/// A call to send.
pub(crate) struct OutgoingCall<'a> {
    pub(crate) tool: &'a ServerTool,
    /// How its result is shown to a model.
    pub(crate) presenter: &'a Arc<Presenter>,
    pub(crate) content: Content<'a>,
}

/// What a call says.
pub(crate) enum Content<'a> {
    /// Of a call that its sender keeps, and sends again by itself.
    Borrowed {
        arguments: &'a Arguments,
        meta: Option<&'a Arguments>,
        on_progress: Option<OnProgress>,
    },
    /// Of a call that is given away, until it comes back.
    Kept(Box<CallRequest>),
}

impl Content<'_> {
    pub(super) fn arguments(&self) -> &Arguments {
        match self {
            Content::Borrowed { arguments, .. } => arguments,
            Content::Kept(request) => &request.arguments,
        }
    }

    pub(super) fn meta(&self) -> Option<&Arguments> {
        match self {
            Content::Borrowed { meta, .. } => *meta,
            Content::Kept(request) => request.options.meta.as_ref(),
        }
    }

    pub(super) fn on_progress(&self) -> Option<OnProgress> {
        match self {
            Content::Borrowed { on_progress, .. } => on_progress.clone(),
            Content::Kept(request) => request.options.on_progress.clone(),
        }
    }

    pub(super) fn into_request(self) -> Option<Box<CallRequest>> {
        match self {
            Content::Borrowed { .. } => None,
            Content::Kept(request) => Some(request),
        }
    }
}

/// A call that provably never left, and its request where that was given away.
pub(crate) struct Unsent {
    pub(crate) error: Error,
    pub(crate) waiter: Waiter,
    pub(crate) request: Option<Box<CallRequest>>,
}
