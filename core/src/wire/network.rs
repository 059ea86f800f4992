//! Owns what the transports over a network share: `events` reads event streams, `peer` makes the errors about a server,
//! and `catch_up` reads what has arrived before a timeout.

pub(super) mod catch_up;
pub(super) mod events;
pub(super) mod peer;
