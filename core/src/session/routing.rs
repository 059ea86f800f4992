//! Routes one message in a session with a few requests, for the properties in `fuzzing`.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::table::{NEVER, PendingRequest};
use super::{Session, SessionOwner};
use crate::config::Limits;
use crate::sync::lock;
use crate::wire::Inbound;

/// The ids of requests after a message has arrived.
pub(crate) struct RoutedRequests {
    pub(crate) ended: Vec<u64>,
    pub(crate) open: Vec<u64>,
}

/// Delivers a message to a session with three requests in flight.
pub(crate) fn route(message: &[u8]) -> RoutedRequests {
    let (events, _news) = mpsc::unbounded_channel();
    let owner = SessionOwner {
        server: "s".into(),
        generation: 1,
        events,
        subscribers: Arc::default(),
        counters: Arc::default(),
    };
    let session = Session::new(owner, Limits::default());
    let mut waiting = Vec::new();
    for id in 1..=3 {
        let (sender, outcome) = oneshot::channel();
        lock(&session.table).insert(id, PendingRequest::control(sender, NEVER));
        waiting.push((id, outcome));
    }
    session.message(Bytes::copy_from_slice(message));
    let mut routed = RoutedRequests { ended: Vec::new(), open: Vec::new() };
    for (id, mut outcome) in waiting {
        match outcome.try_recv() {
            Ok(_) => routed.ended.push(id),
            Err(oneshot::error::TryRecvError::Empty) => routed.open.push(id),
            Err(oneshot::error::TryRecvError::Closed) => panic!("request {id} has no outcome"),
        }
    }
    let is_open = |id: &u64| session.expects(*id);
    assert!(routed.open.iter().all(is_open) && !routed.ended.iter().any(is_open));
    routed
}
