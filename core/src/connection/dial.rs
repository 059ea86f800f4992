//! Owns one attempt: resolve, wait for a start permit, start or dial, handshake, list the tools. One time limit covers
//! all of it except the wait.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::{Instant, timeout_at};

use super::era::CachedEra;
use super::starts::{StartPermit, StartRequest};
use super::{ConnectionShared, Live, WarningTopic};
use crate::caller::ConnectionHeaders;
use crate::client_info::ClientInfo;
use crate::config::ServerConfig;
use crate::descriptors::check_room;
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::oauth::Login;
use crate::resolve::{Resolved, resolve};
use crate::runtime;
use crate::session::{Era, Session, connect_error, list_tools, negotiate};
use crate::sync::lock;
use crate::tool::{ServerTool, Tools};
use crate::wire::{Wire, was_stopped};

/// How many times one attempt gets back the time in which this process was suspended.
const STOPS: u32 = 3;
/// How many turns the stderr reader gets before a failure is reported.
const STDERR_TURNS: usize = 3;

/// The current stage of an attempt, for its error.
type CurrentStage = Mutex<Stage>;

pub(super) async fn dial(
    shared: Arc<ConnectionShared>,
    config: ServerConfig,
    headers: Arc<ConnectionHeaders>,
    session: Arc<Session>,
    request: Arc<StartRequest>,
) -> Result<(Live, Tools)> {
    let stage = CurrentStage::new(Stage::Resolve);
    let server = &shared.server;
    let current = || *lock(&stage);
    let failed = |error: Error| {
        let error = error.with_server(server).with_stage(current());
        match session.wire() {
            Some(wire) => wire.with_output(error),
            None => error,
        }
    };
    let late = || failed(out_of_time(server, config.timeout, current()));
    let deadline = Instant::now() + config.timeout;
    check_room(server)?;
    let cached_era = shared.read_cached_era(&config);
    let (resolved, warnings) =
        timeout_at(deadline, resolve(server, &config)).await.map_err(|_| late())?;
    let warnings = warnings.into_iter().map(|warning| warning.text).collect();
    shared.warn(WarningTopic::Values, warnings);
    let client_info = ClientInfo::current(shared.client_info.as_ref());
    let mut resolved =
        resolved.map_err(failed)?.for_caller(headers.clone()).introduced_by(&client_info);
    let given = shared.give_login(&mut resolved, &config, &headers);
    timeout_at(deadline, given).await.map_err(|_| late())?;
    let login = shared.login_for(&resolved, &config, &headers);
    let waited_from = Instant::now();
    let permit = match Wire::starts_program(&resolved) {
        true => {
            let _queued = shared.queue();
            Some(StartPermit::acquire(&request).await)
        }
        false => None,
    };
    let mut deadline = deadline + waited_from.elapsed();
    let opening = Opening { resolved, client_info, login: login.clone(), permit, cached_era };
    let mut attempt = pin!(attempt(&shared, &config, &session, &stage, opening));
    let mut stops = 0;
    let outcome = loop {
        if let Ok(outcome) = timeout_at(deadline, &mut attempt).await {
            break Some(outcome);
        }
        let overdue = deadline.elapsed();
        // A person takes longer than a server.
        if login.as_ref().is_some_and(|login| login.is_waiting()) {
            deadline = Instant::now() + config.timeout;
            continue;
        }
        session.read_arrived(overdue).await;
        // A machine under constant load looks like many suspensions.
        if !was_stopped(overdue) || stops == STOPS {
            break attempt.as_mut().now_or_never();
        }
        stops += 1;
        // Time in which this process was suspended does not count.
        deadline = Instant::now() + overdue.min(config.timeout);
    };
    if let Some(Ok(connected)) = outcome {
        return Ok(connected);
    }
    // What the server wrote to stderr before the failure is in the pipe by now.
    runtime::yield_turns(STDERR_TURNS).await;
    Err(match outcome {
        Some(Err(error)) => failed(error),
        _ => late(),
    })
}

/// What an attempt opens.
struct Opening {
    resolved: Resolved,
    client_info: Arc<ClientInfo>,
    login: Option<Arc<Login>>,
    permit: Option<StartPermit>,
    cached_era: CachedEra,
}

async fn attempt(
    shared: &ConnectionShared,
    config: &ServerConfig,
    session: &Arc<Session>,
    stage: &CurrentStage,
    Opening { resolved, client_info, login, permit, cached_era }: Opening,
) -> Result<(Live, Tools)> {
    *lock(stage) = Wire::opening_stage(&resolved);
    let starts_program = Wire::starts_program(&resolved);
    let wire = Wire::open(resolved, login.clone(), &config.limits).await.map_err(connect_error)?;
    if let (Some(permit), Some(pid)) = (&permit, wire.pid()) {
        permit.started(pid);
    }
    session.attach(wire);
    *lock(stage) = Stage::Handshake;
    shared.note_cached_era(cached_era).await;
    let questions = shared.questions(config, starts_program, login);
    let first = questions.first;
    let greeting = match negotiate(session, &client_info, questions).await {
        Ok(greeting) => greeting,
        Err(error) => {
            // A server that has answered and then ended did not end at the first question. One on the network may only
            // have been out of reach, which costs one that has a handshake nothing.
            let may_have_crashed = starts_program || first == Era::Stateless;
            if may_have_crashed && session.is_over() && error.rpc().is_none() {
                lock(&shared.era).note_crash(first);
            }
            return Err(error);
        }
    };
    lock(&shared.era).note_success(greeting.era());
    // The remaining work is cheap compared with a start.
    drop(permit);
    *lock(stage) = Stage::ListTools;
    let tools = read_tools(shared, list_tools(session, &greeting).await?, session).await;
    if let Some(wire) = session.wire() {
        wire.forget_stray_lines();
    }
    session.restore_settings();
    session.until_heard().await;
    let (connected_since, up_at) = (SystemTime::now(), shared.clock.now());
    Ok((
        Live {
            session: session.clone(),
            greeting,
            connected_since,
            up_at,
            skills: Default::default(),
        },
        tools,
    ))
}

/// Reads a tool list and reports warnings about it.
pub(super) async fn read_tools(
    shared: &ConnectionShared,
    listed: Vec<Bytes>,
    session: &Session,
) -> Tools {
    let (server, mask, limits) = (shared.server.clone(), session.mask(), session.limits());
    let bytes = listed.iter().map(Bytes::len).sum();
    let checks_headers = session.mirrors_arguments();
    let problem_of = move |tool: &ServerTool| tool.header_problem().filter(|_| checks_headers);
    let read = move || Tools::read_within(&server, listed, &mask, &limits, problem_of);
    let (tools, warnings) = runtime::read_off_worker(bytes, read).await;
    shared.warn(WarningTopic::Tools, warnings);
    tools
}

fn out_of_time(server: &str, limit: Duration, stage: Stage) -> Error {
    let (limit, stage) = (limit.as_millis(), stage.name());
    let text = format!("Server \"{server}\" was not ready within {limit} ms (stage: {stage})");
    Error::new(ErrorKind::ConnectTimeout, text)
        .naming_server(server)
        .with_hint("raise the server's \"timeout\" if it is only slow")
}
