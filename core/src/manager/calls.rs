//! Owns the way of a call from the manager to a session: finding the tool, sending, giving up. A call whose server is
//! not up yet, or not any more, is carried out by `pending`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Manager;
use super::server::Server;
use super::trust::Access;
use crate::approval::Rule;
use crate::call::{Arguments, CallOptions, Retry};
use crate::config::ServerConfig;
use crate::connection::{Connection, Published};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::{Address, Waiter};
use crate::result::ToolResult;
use crate::runtime;
use crate::session::{CallLimits, CallRequest, Content, OutgoingCall, Session, Unsent};
use crate::similar::did_you_mean;
use crate::tool::{ServerTool, Tools};
use crate::wire::Wire;

mod approval_check;
mod awaiting_trust;
mod call_events;
mod pending;
mod unread;

use awaiting_trust::AwaitingTrust;
use call_events::CallEvents;
use pending::{CallSettings, CallTask, PendingCall, TimeBudget, WantedTool};

/// Which tool is meant.
#[derive(Clone, Copy, Debug)]
pub enum ToolRef<'a> {
    /// By server and the server's own name for it.
    Of {
        /// The server.
        server: &'a str,
        /// The raw tool name.
        tool: &'a str,
    },
    /// By the name in the catalog.
    Named(&'a str),
}

/// A call under way, to give up on.
#[derive(Clone)]
pub struct CallHandle(ProcessLocal<Handle>);

#[derive(Clone)]
enum Handle {
    /// On its way, once and for all.
    Sent(Arc<Session>, u64),
    /// Not there yet, or sent again where that may come to pass.
    CallTask(Arc<CallTask>),
    /// Not even begun, because nobody has said yet whether its server may start.
    AwaitingTrust(Arc<AwaitingTrust>),
    /// One of the others, of which events tell.
    CallEvents(Arc<CallEvents>, Box<CallHandle>),
}

impl CallHandle {
    /// Nobody waits any more: the server is told, and no letter comes.
    pub fn cancel(&self) {
        if self.0.is_inherited() {
            return;
        }
        match &*self.0 {
            Handle::Sent(session, id) => session.cancel(*id),
            Handle::CallTask(task) => task.cancel(),
            Handle::AwaitingTrust(awaiting_trust) => awaiting_trust.cancel(),
            Handle::CallEvents(call_events, call) => {
                call_events.cancelled();
                call.cancel();
            }
        }
    }
}

impl Manager {
    /// Calls a tool. Dropping the future gives the call up and tells the server.
    pub fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Arguments,
        options: CallOptions,
    ) -> impl Future<Output = Result<ToolResult>> + Send + use<> {
        self.start_call(ToolRef::Of { server, tool }, arguments, options)
    }

    /// Calls a tool by its name in the catalog. Dropping the future gives the call up and tells the server.
    pub fn call(
        &self,
        name: &str,
        arguments: Arguments,
        options: CallOptions,
    ) -> impl Future<Output = Result<ToolResult>> + Send + use<> {
        self.start_call(ToolRef::Named(name), arguments, options)
    }

    fn start_call(
        &self,
        tool: ToolRef<'_>,
        arguments: Arguments,
        options: CallOptions,
    ) -> CallFuture {
        let (sender, answer) = oneshot::channel();
        let sent = self.dispatch(tool, arguments, options, Waiter::Future(sender));
        match sent {
            Ok(handle) => CallFuture { handle: Some(handle), answer, failed: None },
            Err(error) => CallFuture { handle: None, answer, failed: Some(error) },
        }
    }

    /// Calls a tool for a host loop: the letters go to `address`. An error here means that no letter comes.
    pub fn submit(
        &self,
        tool: ToolRef<'_>,
        arguments: Arguments,
        options: CallOptions,
        address: Address,
    ) -> Result<CallHandle> {
        self.dispatch(tool, arguments, options, Waiter::Loop(address))
    }

    fn dispatch(
        &self,
        tool: ToolRef<'_>,
        arguments: Arguments,
        options: CallOptions,
        waiter: Waiter,
    ) -> Result<CallHandle> {
        if self.0.options.call_events {
            return self.dispatch_with_events(tool, arguments, options, waiter);
        }
        self.send(tool, arguments, options, waiter)
    }

    /// Sends the call or sets it on its way; whatever keeps it from that has kept its tool from running.
    fn send(
        &self,
        tool: ToolRef<'_>,
        arguments: Arguments,
        options: CallOptions,
        waiter: Waiter,
    ) -> Result<CallHandle> {
        let sent = self.find_and_send(tool, arguments, options, waiter);
        sent.map_err(|error| error.with_executed(Executed::No))
    }

    fn find_and_send(
        &self,
        tool: ToolRef<'_>,
        arguments: Arguments,
        mut options: CallOptions,
        waiter: Waiter,
    ) -> Result<CallHandle> {
        self.check_open()?;
        let named;
        let (server, raw_name) = match tool {
            ToolRef::Of { server, tool } => (server, tool),
            ToolRef::Named(name) => {
                named = self.named(name)?;
                (named.server(), named.raw_name())
            }
        };
        let servers = self.0.servers.load();
        let known = servers.get(server).ok_or_else(|| self.no_such_server(server))?;
        let config = known.usable()?;
        known.offer.check_name(raw_name)?;
        if let Some(on_progress) = options.on_progress.take() {
            options.on_progress = Some(self.progress_with_events(server, raw_name, on_progress));
        }
        let lease = known.lease();
        let live = lease.as_ref().map(|lease| (lease.connection(), lease.connection().published()));
        let Some((connection, published)) = &live else {
            let wanted = WantedTool::Named(raw_name.to_owned());
            return match self.reach_for_call(known, config)? {
                Access::Granted(connection) => {
                    connection.wake();
                    let pending =
                        self.pending(&connection, known, config, wanted, arguments, options);
                    Ok(pending.start(waiter))
                }
                Access::Pending(held) => {
                    let settings = self.settings(known, config, &mut options, Instant::now());
                    let (deadline, offer) = (settings.time_budget.deadline(), known.offer.clone());
                    Ok(awaiting_trust::start(server, held, deadline, waiter, move |on| {
                        PendingCall::new(on, offer, wanted, arguments, options, settings)
                    }))
                }
                Access::Refused(error) => Err(error),
            };
        };
        let Some(live) = &published.live else {
            check_worth_waiting(published, config, server)?;
            let remembered = self.asks(config).and_then(|(_, rule)| {
                published.tools.get(raw_name).filter(|tool| rule.applies(tool, || false))
            });
            // Whether the server is started at all is a part of the question.
            if let Some(tool) = remembered {
                let pending =
                    self.pending(connection, known, config, wanted(tool), arguments, options);
                return Ok(pending.ask_first(self, tool).start(waiter));
            }
            let wanted = WantedTool::Named(raw_name.to_owned());
            let pending = self.pending(connection, known, config, wanted, arguments, options);
            return Ok(pending.start(waiter));
        };
        let tool = find_tool(&published.tools, server, raw_name)?;
        known.offer.check_drift(tool, &published.tools, || published.mask())?;
        let asks = |rule: Rule| rule.applies(tool, || known.offer.trusts_hints(tool));
        if self.asks(config).is_some_and(|(_, rule)| asks(rule)) {
            let pending = self.pending(connection, known, config, wanted(tool), arguments, options);
            return Ok(pending.ask_first(self, tool).start(waiter));
        }
        if config.idle_shutdown.is_some() {
            connection.touch();
        }
        let retry = options.retry.unwrap_or(self.0.options.retry);
        let may_come_back = live.session.wire().is_some_and(Wire::reports_unsent_later)
            || (retry == Retry::Safe && tool.is_repeatable());
        if may_come_back {
            let pending = self.pending(connection, known, config, wanted(tool), arguments, options);
            return Ok(pending.send_now(&live.session, tool, waiter));
        }
        let limits = limits(config, &options);
        let request = Box::new(CallRequest { arguments, options, sender: self.0.me.clone() });
        let outgoing_call =
            OutgoingCall { tool, presenter: known.presenter(), content: Content::Kept(request) };
        match live.session.call(outgoing_call, limits, waiter) {
            Ok(id) => Ok(CallHandle(ProcessLocal::new(Handle::Sent(live.session.clone(), id)))),
            // The server is gone, and nobody has noticed yet.
            Err(Unsent { error, waiter, request: Some(request) })
                if error.kind() == ErrorKind::ConnectionLost =>
            {
                let CallRequest { arguments, options, .. } = *request;
                let pending =
                    self.pending(connection, known, config, wanted(tool), arguments, options);
                Ok(pending.start_after_loss(waiter, (live.session.clone(), error)))
            }
            Err(Unsent { error, .. }) => Err(error),
        }
    }

    fn pending(
        &self,
        connection: &Arc<Connection>,
        known: &Server,
        config: &ServerConfig,
        wanted: WantedTool,
        arguments: Arguments,
        mut options: CallOptions,
    ) -> PendingCall {
        let settings = self.settings(known, config, &mut options, Instant::now());
        PendingCall::new(
            connection.clone(),
            known.offer.clone(),
            wanted,
            arguments,
            options,
            settings,
        )
    }

    fn settings(
        &self,
        known: &Server,
        config: &ServerConfig,
        options: &mut CallOptions,
        began: Instant,
    ) -> CallSettings {
        CallSettings {
            presenter: known.presenter().clone(),
            time_budget: TimeBudget::new(limits(config, options), began),
            retry: options.retry.unwrap_or(self.0.options.retry),
            restart_wait: self.0.options.restart_wait,
            approval_check: self.approval_check(known, config, options),
        }
    }

    /// The way to a server that was never asked for, where a call alone is reason enough to start it.
    fn reach_for_call(&self, known: &Server, config: &ServerConfig) -> Result<Access> {
        let refused_before = known.was_refused();
        if known.was_left() || !(config.lazy || refused_before) {
            return Err(unavailable(&known.name, None));
        }
        runtime::start()?;
        Ok(self.0.reach(known))
    }

    fn named(&self, name: &str) -> Result<Arc<ServerTool>> {
        let catalog = self.catalog();
        self.bearer(&catalog, name).ok_or_else(|| {
            let names = catalog.tools().iter().map(|tool| tool.name.as_str());
            no_such_tool(&format!("There is no tool \"{name}\""), name, names)
        })
    }

    fn no_such_server(&self, server: &str) -> Error {
        let text = format!("There is no server \"{server}\"");
        let error = Error::new(ErrorKind::ToolUnavailable, text).with_executed(Executed::No);
        self.with_similar_server(error, server).with_server(server)
    }
}

fn wanted(tool: &Arc<ServerTool>) -> WantedTool {
    WantedTool::Known(tool.clone())
}

fn limits(config: &ServerConfig, options: &CallOptions) -> CallLimits {
    CallLimits::new(options.timeout.unwrap_or(config.tool_timeout), options.max_total_timeout)
}

/// Whether a server that is not up may come up without being asked for.
fn check_worth_waiting(published: &Published, config: &ServerConfig, server: &str) -> Result<()> {
    use crate::status::State;
    let wakes_up = config.lazy || config.idle_shutdown.is_some();
    match published.state {
        State::Connecting | State::Reconnecting | State::Connected | State::Degraded => Ok(()),
        State::Idle if wakes_up => Ok(()),
        _ => Err(unavailable(server, published.error.as_ref())),
    }
}

fn unavailable(server: &str, error: Option<&Error>) -> Error {
    // Connecting again would be refused again.
    if let Some(error) = error.filter(|error| error.kind() == ErrorKind::Untrusted) {
        return error.clone().with_executed(Executed::No);
    }
    let reason = error.map_or(String::new(), |error| format!(": {}", error.message()));
    let text = format!("Server \"{server}\" is not connected{reason}");
    let unavailable = Error::new(ErrorKind::ToolUnavailable, text)
        .with_server(server)
        .with_executed(Executed::No)
        .with_hint("connect it with connect_all()");
    match error {
        Some(error) => unavailable.caused_by(error.clone()),
        None => unavailable,
    }
}

fn find_tool<'a>(tools: &'a Tools, server: &str, raw_name: &str) -> Result<&'a Arc<ServerTool>> {
    tools.get(raw_name).ok_or_else(|| {
        let names = tools.list.iter().map(|tool| tool.raw_name());
        let text = format!("Server \"{server}\" has no tool \"{raw_name}\"");
        no_such_tool(&text, raw_name, names).quoting(raw_name).with_server(server)
    })
}

fn no_such_tool<'a>(text: &str, wanted: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let error = Error::new(ErrorKind::ToolRejected, text).with_executed(Executed::No);
    match did_you_mean(wanted, names) {
        Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")).quoting(similar),
        None => error,
    }
}

/// Waits for a call's end; gives it up when dropped before.
struct CallFuture {
    handle: Option<CallHandle>,
    answer: oneshot::Receiver<Result<ToolResult>>,
    failed: Option<Error>,
}

impl Future for CallFuture {
    type Output = Result<ToolResult>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let outcome = std::task::ready!(Pin::new(&mut self.answer).poll(context));
        self.handle = None;
        Poll::Ready(outcome.unwrap_or_else(|_| {
            let gone = Error::new(ErrorKind::Closed, "The manager is gone");
            Err(gone.with_executed(Executed::Unknown))
        }))
    }
}

impl Drop for CallFuture {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.cancel();
        }
    }
}
