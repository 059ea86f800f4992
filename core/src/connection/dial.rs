//! Owns one attempt: resolve, start or dial, shake hands, list the tools; with one time limit for all of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use super::{Live, Seen, Tools};
use crate::catalog::ServerTool;
use crate::config::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::event::now_ms;
use crate::redact::Mask;
use crate::resolve::{Resolved, resolve};
use crate::session::{Session, greet, list_tools};
use crate::sync::lock;
use crate::wire::Wire;
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
    let deadline = Instant::now() + config.timeout;
    match timeout_at(deadline, attempt(&seen, &config, &session, &stage)).await {
        Ok(outcome) => outcome.map_err(|error| error.with_server(server)),
        Err(_) => Err(out_of_time(server, config.timeout, *lock(&stage), &session)),
    }
}

async fn attempt(
    seen: &Seen,
    config: &ServerConfig,
    session: &Arc<Session>,
    stage: &Stage,
) -> Result<(Live, Tools)> {
    let server = &seen.server;
    let (resolved, warnings) = resolve(server, config).await;
    seen.warn(warnings);
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
    let tools = tools_of(server, list_tools(session, &greeting).await?, &session.mask());
    let (session, connected_since_ms) = (session.clone(), now_ms());
    Ok((Live { session, greeting, connected_since_ms }, tools))
}

/// Every tool that can be used; one bad tool never costs the others.
pub(super) fn tools_of(server: &Arc<str>, listed: Vec<Bytes>, mask: &Mask) -> Tools {
    let mut tools: Vec<Arc<ServerTool>> = Vec::with_capacity(listed.len());
    let mut names = std::collections::HashSet::new();
    for json in listed {
        match ServerTool::read(server, json) {
            Ok(tool) if names.insert(tool.raw_name().to_owned()) => tools.push(Arc::new(tool)),
            Ok(tool) => {
                let name = mask.text(tool.raw_name());
                tracing::warn!(server = &**server, "tool \"{name}\" is listed twice")
            }
            Err(problem) => {
                let problem = mask.text(&problem);
                tracing::warn!(server = &**server, "a tool is left out: {problem}")
            }
        }
    }
    Tools::new(tools)
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
