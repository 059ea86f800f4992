//! Owns ending servers without `close`: the system ends a job with its last handle, so at our exit or when we are killed.

use super::group::{self, Pid};

/// Permission to start a server.
pub(super) struct Permit;

/// Always given: the system also ends what is started during our exit.
pub(super) fn permit_to_start() -> Option<Permit> {
    Some(Permit)
}

pub(super) fn register(group: Pid) {
    group::end_with_us(group);
}

/// Does nothing: the job is closed with the last handle.
pub(super) fn unregister(_group: Pid) {}
