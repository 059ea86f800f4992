//! Owns the path of a call from the manager to a session: look up the tool, check that it may be called, choose the
//! route (`route`), send. `pending` handles a call whose server is not up.

use std::future::Future;

use tokio::sync::oneshot;

use super::Manager;
use crate::call::{Arguments, CallOptions};
use crate::error::{Executed, Result};
use crate::mailbox::{Address, Waiter};
use crate::result::ToolResult;
use crate::runtime;

mod approval_check;
mod call_events;
mod caller;
mod deferred;
mod handle;
pub(super) mod lookup;
mod pending;
mod route;
mod unread;

pub use handle::CallHandle;
use handle::{CallFuture, Handle};
use route::CheckedCall;

/// Names the tool to call.
#[derive(Clone, Copy, Debug)]
pub enum ToolRef<'a> {
    /// By server and raw tool name.
    Of {
        /// The server.
        server: &'a str,
        /// The raw tool name.
        tool: &'a str,
    },
    /// By name in the catalog.
    Named(&'a str),
}

impl Manager {
    /// Calls a tool. Dropping the future cancels the call and notifies the server.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// use mcpool::{Arguments, CallOptions};
    ///
    /// let arguments = Arguments::from_json(r#"{"timezone": "UTC"}"#)?;
    /// let result = manager.call_tool("time", "get_current_time", arguments, CallOptions::default()).await?;
    /// println!("{}", result.text());
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Arguments,
        options: CallOptions,
    ) -> impl Future<Output = Result<ToolResult>> + Send + use<> {
        self.start_call(ToolRef::Of { server, tool }, arguments, options)
    }

    /// Calls a tool by its name in the catalog. Dropping the future cancels the call and notifies the server.
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
        CallFuture::new(sent, answer)
    }

    /// Calls a tool for a host loop: the letters go to `address`. If this returns an error, no letter follows.
    #[doc(hidden)]
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

    /// Sends the call or passes it to a task; an error means that the tool did not run.
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
        options.check()?;
        let named;
        let (server, raw_name) = match tool {
            ToolRef::Of { server, tool } => (server, tool),
            ToolRef::Named(name) => {
                named = self.find_named(name)?;
                (named.server(), named.raw_name())
            }
        };
        let servers = self.0.servers.load();
        let server = servers.get(server).ok_or_else(|| self.no_such_server(server))?;
        let config = server.usable()?;
        server.offer.check_name(raw_name)?;
        if let Some(on_progress) = options.on_progress.take() {
            let with_events = self.progress_with_events(&server.name, raw_name, on_progress);
            options.on_progress = Some(with_events);
        }
        let manager = self;
        let (began, hold) = (None, None);
        let call =
            CheckedCall { manager, server, config, raw_name, arguments, options, began, hold };
        match call.asks_for_identity() {
            Some(on_identity) => {
                runtime::start()?;
                Ok(deferred::start_when_identified(call, &on_identity, waiter))
            }
            None => call.dispatch(waiter),
        }
    }
}
