//! Owns one attempt: resolve, start or dial, shake hands, list the tools; with one time limit for all of it.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::{Instant, timeout_at};

use super::{Live, Odd, Seen, Tools};
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::now_ms;
use crate::redact::Mask;
use crate::resolve::{Resolved, resolve};
use crate::session::{Session, greet, list_tools, was_stopped};
use crate::sync::lock;
use crate::wire::Wire;
use crate::wire::descriptors::check_room;
use crate::wire::http::Link;
use crate::wire::stdio::Pipe;

/// Where an attempt is; named by its timeout.
pub(super) type Stage = Arc<Mutex<&'static str>>;

pub(super) async fn dial(
    seen: Arc<Seen>,
    config: ServerConfig,
    session: Arc<Session>,
) -> Result<(Live, Tools)> {
    let stage: Stage = Arc::new(Mutex::new("resolving"));
    let server = &seen.server;
    let mut deadline = Instant::now() + config.timeout;
    let mut attempt = pin!(attempt(&seen, &config, &session, &stage));
    let outcome = loop {
        if let Ok(outcome) = timeout_at(deadline, &mut attempt).await {
            break Some(outcome);
        }
        let late = deadline.elapsed();
        session.catch_up(late).await;
        if !was_stopped(late) {
            break attempt.as_mut().now_or_never();
        }
        // While this process did not run, its time did not run out either.
        deadline = Instant::now() + late.min(config.timeout);
    };
    match outcome {
        Some(outcome) => outcome.map_err(|error| error.with_server(server)),
        None => Err(out_of_time(server, config.timeout, *lock(&stage), &session)),
    }
}

async fn attempt(
    seen: &Seen,
    config: &ServerConfig,
    session: &Arc<Session>,
    stage: &Stage,
) -> Result<(Live, Tools)> {
    let server = &seen.server;
    check_room(server)?;
    let (resolved, warnings) = resolve(server, config).await;
    seen.warn(Odd::Values, warnings);
    let resolved = resolved?;
    *lock(stage) = "starting";
    let wire = match resolved {
        Resolved::Stdio(launch) => Wire::Stdio(Pipe::open(launch, config.limits.message_bytes)?),
        Resolved::Http(target) => Wire::Http(Link::open(target, &config.limits)?),
    };
    session.attach(wire);
    *lock(stage) = "initialize";
    let greeting = greet(session).await?;
    *lock(stage) = "tools/list";
    let tools = tools_of(seen, list_tools(session, &greeting).await?, &session.mask());
    let (session, connected_since_ms) = (session.clone(), now_ms());
    Ok((Live { session, greeting, connected_since_ms }, tools))
}

/// Reads a list of tools and tells what is odd about it.
pub(super) fn tools_of(seen: &Seen, listed: Vec<Bytes>, mask: &Mask) -> Tools {
    let (tools, warnings) = Tools::read(&seen.server, listed, mask);
    seen.warn(Odd::Tools, warnings);
    tools
}

fn out_of_time(server: &str, limit: Duration, stage: &str, session: &Session) -> Error {
    let text = format!(
        "Server \"{server}\" was not ready within {} ms (stage: {stage})",
        limit.as_millis()
    );
    let text = match session.wire() {
        Some(Wire::Stdio(pipe)) => pipe.process().with_last_words(text),
        _ => text,
    };
    Error::new(ErrorKind::ConnectTimeout, text)
        .with_server(server)
        .with_hint("raise the server's \"timeout\" if it is only slow")
}
