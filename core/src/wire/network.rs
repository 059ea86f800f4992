//! Owns what the transports over a network share: `connector` dials (lookup, `proxy`, `tls`), `client` sends HTTP
//! requests, `events` reads event streams, `peer` makes the errors about a server, and `catch_up` reads what has
//! arrived before a timeout. It knows nothing of MCP.
//! Invariant: a socket is dialled only by a [`connector::Connector`], which checks the address.

pub(super) mod catch_up;
pub(super) mod client;
pub(super) mod connector;
pub(super) mod events;
pub(super) mod peer;
mod proxy;
mod tls;
