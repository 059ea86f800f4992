//! Owns the simulation: random sessions of a manager with a server that a script plays, on clocks that are moved by
//! hand, with loss, delay, reordering, repetition, restarts, reloads, cancellations and closing, in both eras of the
//! protocol, with questions in answers and with tasks. The parts: `server` plays the server, `session` takes the steps,
//! `checks` says what must hold. For tests only.
//! Invariant: a seed decides every step and what the server does, so a failure can be repeated with the seed that it
//! prints. Not decided by it: in which order those wake who wait for the same change of a connection; tokio chooses. Time
//! limits that are neither a restart nor a limit on an answer, such as that of an attempt, are too long to pass here.

mod checks;
mod server;
mod session;

#[cfg(test)]
mod tests;
