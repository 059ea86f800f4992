//! Owns the way of a call from the manager to a session: finding the tool, waiting for a server that is just coming
//! up, sending, giving up.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::{Manager, usable};
use crate::call::{Address, Arguments, CallOptions, Waiter};
use crate::catalog::{ServerTool, did_you_mean};
use crate::connection::{Connection, Published};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::per_process::Local;
use crate::result::ToolResult;
use crate::runtime;
use crate::session::Session;
use crate::status::State;
use crate::sync::lock;

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
pub struct CallHandle(Local<Arc<Mutex<Progressed>>>);

enum Progressed {
    Sent(Arc<Session>, u64),
    Waiting(Option<AbortHandle>),
    GivenUp,
}

impl CallHandle {
    fn new(progressed: Progressed) -> Self {
        CallHandle(Local::new(Arc::new(Mutex::new(progressed))))
    }

    /// Nobody waits any more: the server is told, and no letter comes.
    pub fn cancel(&self) {
        if self.0.is_inherited() {
            return;
        }
        match std::mem::replace(&mut *lock(&self.0), Progressed::GivenUp) {
            Progressed::Sent(session, id) => session.cancel(id),
            Progressed::Waiting(Some(task)) => task.abort(),
            Progressed::Waiting(None) | Progressed::GivenUp => {}
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
        self.check_open()?;
        let named;
        let (server, raw_name) = match tool {
            ToolRef::Of { server, tool } => (server, tool),
            ToolRef::Named(name) => {
                named = self.named(name)?;
                (named.server(), named.raw_name())
            }
        };
        let known = self.0.servers.get(server).ok_or_else(|| {
            let text = format!("There is no server \"{server}\"");
            let error = Error::new(ErrorKind::ToolUnavailable, text).with_executed(Executed::No);
            self.with_similar_server(error, server).with_server(server)
        })?;
        let connection = usable(server, known)?;
        let limit = match (options.timeout, &known.definition) {
            (Some(limit), _) => limit,
            (None, Ok(config)) => config.tool_timeout,
            (None, Err(error)) => return Err(error.clone()),
        };
        let published = connection.published();
        if published.state == State::Connecting {
            let (server, raw_name) = (server.to_owned(), raw_name.to_owned());
            return Ok(self.call_when_ready(server, raw_name, arguments, options, limit, waiter));
        }
        let (session, tool) = route(&published, server, raw_name)?;
        let id = session.call(tool.name_json(), &arguments, options, limit, waiter)?;
        Ok(CallHandle::new(Progressed::Sent(session.clone(), id)))
    }

    fn named(&self, name: &str) -> Result<Arc<ServerTool>> {
        let catalog = self.get_tools();
        if let Some(tool) = catalog.get(name) {
            return Ok(tool.of.clone());
        }
        let names = catalog.tools().iter().map(|tool| tool.name.as_str());
        Err(no_such_tool(&format!("There is no tool \"{name}\""), name, names))
    }

    fn call_when_ready(
        &self,
        server: String,
        raw_name: String,
        arguments: Arguments,
        options: CallOptions,
        limit: std::time::Duration,
        waiter: Waiter,
    ) -> CallHandle {
        let handle = CallHandle::new(Progressed::Waiting(None));
        let (manager, mine) = (self.clone(), handle.clone());
        let task = runtime::spawn(async move {
            let connection: &Connection = match usable(&server, &manager.0.servers[&server]) {
                Ok(connection) => connection,
                Err(error) => return waiter.finish(Err(error)),
            };
            let ready = tokio::time::timeout(limit, connection.ready()).await;
            let late = || {
                let text = format!("Server \"{server}\" was not connected in time for the call");
                Error::new(ErrorKind::ToolTimeout, text)
            };
            if let Err(error) = ready.unwrap_or_else(|_| Err(late())) {
                return waiter.finish(Err(error.with_executed(Executed::No)));
            }
            let published = connection.published();
            let (session, tool) = match route(&published, &server, &raw_name) {
                Ok(found) => found,
                Err(error) => return waiter.finish(Err(error)),
            };
            let (sender, answer) = oneshot::channel();
            let sent = {
                // Under the lock: whoever gives up sees either the waiting or the sent call.
                let mut progressed = lock(&mine.0);
                if let Progressed::GivenUp = *progressed {
                    return;
                }
                let waiter = Waiter::Future(sender);
                let sent = session.call(tool.name_json(), &arguments, options, limit, waiter);
                if let Ok(id) = sent {
                    *progressed = Progressed::Sent(session.clone(), id);
                }
                sent
            };
            match sent {
                // Without an outcome it was given up.
                Ok(_) => {
                    if let Ok(outcome) = answer.await {
                        waiter.finish(outcome);
                    }
                }
                Err(error) => waiter.finish(Err(error)),
            }
        });
        let mut progressed = lock(&handle.0);
        if let Progressed::Waiting(slot) = &mut *progressed {
            *slot = Some(task.abort_handle());
        }
        drop(progressed);
        handle
    }
}

/// The session and the tool, or why the call cannot go out.
fn route<'a>(
    published: &'a Published,
    server: &str,
    raw_name: &str,
) -> Result<(&'a Arc<Session>, &'a Arc<ServerTool>)> {
    let Some(live) = &published.live else {
        let reason = published
            .error
            .as_ref()
            .map_or(String::new(), |error| format!(": {}", error.message()));
        let text = format!("Server \"{server}\" is not connected{reason}");
        return Err(Error::new(ErrorKind::ToolUnavailable, text)
            .with_server(server)
            .with_executed(Executed::No)
            .with_hint("connect it with connect_all()"));
    };
    let tool = live.tools.get(raw_name).ok_or_else(|| {
        let names = live.tools.list.iter().map(|tool| tool.raw_name());
        let text = format!("Server \"{server}\" has no tool \"{raw_name}\"");
        no_such_tool(&text, raw_name, names).with_server(server)
    })?;
    Ok((&live.session, tool))
}

fn no_such_tool<'a>(text: &str, wanted: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let error = Error::new(ErrorKind::ToolRejected, text).with_executed(Executed::No);
    match did_you_mean(wanted, names) {
        Some(similar) => error.with_hint(format!("did you mean \"{similar}\"?")),
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
        Poll::Ready(
            outcome.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "The manager is gone"))),
        )
    }
}

impl Drop for CallFuture {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.cancel();
        }
    }
}
