//! Owns the route of a call: directly to a session that is up, or as a [`PendingCall`] that can wait, ask for approval
//! and be sent again.
//! Invariant: a call sent directly over a pipe allocates nothing for the other routes.

use std::sync::Arc;

use tokio::time::Instant;

use super::super::Manager;
use super::super::identities::IdentityHold;
use super::super::server::Server;
use super::super::trust::Access;
use super::deferred;
use super::handle::{CallHandle, Handle};
use super::lookup::{check_worth_waiting, find_tool, unavailable};
use super::pending::{CallSpec, PendingCall, TimeBudget, WantedTool};
use crate::call::{Arguments, CallOptions, Retry};
use crate::caller::CallerHeaders;
use crate::config::ServerConfig;
use crate::connection::{Connection, Live, Published};
use crate::error::{ErrorKind, Result};
use crate::mailbox::Waiter;
use crate::runtime;
use crate::session::{CallContent, CallLimits, CallRequest, OutgoingCall, UnsentCall};
use crate::tool::ServerTool;
use crate::wire::Wire;

/// A call whose server is known and usable, and whose tool the filters allow.
pub(super) struct CheckedCall<'a> {
    pub(super) manager: &'a Manager,
    pub(super) server: &'a Server,
    pub(super) config: &'a ServerConfig,
    /// The raw tool name.
    pub(super) raw_name: &'a str,
    pub(super) arguments: Arguments,
    pub(super) options: CallOptions,
    /// When the caller made the call, if that is not now.
    pub(super) began: Option<Instant>,
    /// The connection of another identity than the manager's, once it is chosen.
    pub(super) hold: Option<&'a Arc<IdentityHold>>,
}

/// How a call reaches a server whose connection is held.
enum Route<'a> {
    /// Sent at once; the session owns the call.
    Direct(&'a Live, &'a Arc<ServerTool>),
    /// Sent at once, and kept for a resend.
    Resendable(&'a Live, &'a Arc<ServerTool>),
    /// Waits for its turn, because the server takes only some calls at once.
    Queue(&'a Live, &'a Arc<ServerTool>),
    /// Asks for approval first.
    AskFirst(&'a Arc<ServerTool>),
    /// The server is not up: waits for its next session.
    Wait,
}

impl CheckedCall<'_> {
    /// Sends the call on the connection, or passes it to a task.
    pub(super) fn send(self, connection: &Arc<Connection>, waiter: Waiter) -> Result<CallHandle> {
        let published = connection.published();
        let route = self.route(&published)?;
        if let Route::Direct(..) | Route::Resendable(..) | Route::Queue(..) = route
            && self.config.idle_shutdown.is_some()
        {
            connection.touch();
        }
        match route {
            Route::Direct(live, tool) => self.send_direct(connection, live, tool, waiter),
            Route::Resendable(live, tool) => {
                let wanted = WantedTool::Known(tool.clone());
                Ok(self.into_pending(connection, wanted).send_now(&live.session, tool, waiter))
            }
            Route::AskFirst(tool) => {
                let (manager, wanted) = (self.manager, WantedTool::Known(tool.clone()));
                let pending = self.into_pending(connection, wanted);
                Ok(pending.ask_first(manager, tool).start(waiter))
            }
            Route::Queue(live, tool) => {
                let wanted = WantedTool::Known(tool.clone());
                let pending = self.into_pending(connection, wanted);
                Ok(pending.send_in_turn(&live.session, tool, waiter))
            }
            Route::Wait => {
                let wanted = WantedTool::Named(self.raw_name.to_owned());
                Ok(self.into_pending(connection, wanted).start(waiter))
            }
        }
    }

    fn route<'p>(&self, published: &'p Published) -> Result<Route<'p>> {
        let (server, offer) = (&*self.server.name, &self.server.offer);
        let Some(live) = &published.live else {
            check_worth_waiting(published, self.config, server)?;
            // The approval also covers whether the server is started at all.
            let listed = published.tools.get(self.raw_name);
            return Ok(match listed.filter(|tool| self.needs_approval(tool, || false)) {
                Some(tool) => Route::AskFirst(tool),
                None => Route::Wait,
            });
        };
        let tool = find_tool(published, offer, self.raw_name)
            .map_err(|error| self.manager.with_own_name(error, server, self.raw_name))?;
        offer.check_drift(tool, &published.tools, || published.mask())?;
        if self.needs_approval(tool, || offer.trusts_hints(tool)) {
            return Ok(Route::AskFirst(tool));
        }
        if self.config.max_concurrency.is_some() {
            return Ok(Route::Queue(live, tool));
        }
        let is_resendable = live.session.wire().is_some_and(Wire::reports_unsent_later)
            || (self.retry() == Retry::Safe && tool.is_repeatable())
            || self.checks_output();
        Ok(if is_resendable { Route::Resendable(live, tool) } else { Route::Direct(live, tool) })
    }

    pub(super) fn needs_approval(
        &self,
        tool: &ServerTool,
        trusts_hints: impl Fn() -> bool,
    ) -> bool {
        let rule = self.manager.approval_rule(self.config);
        rule.is_some_and(|(_, rule)| rule.applies(tool, trusts_hints))
    }

    /// Sends a call without keeping it. If a lost pipe did not take it, it becomes a pending call.
    fn send_direct(
        self,
        connection: &Arc<Connection>,
        live: &Live,
        tool: &Arc<ServerTool>,
        waiter: Waiter,
    ) -> Result<CallHandle> {
        let limits = self.limits();
        let CheckedCall { manager, server, config, raw_name, arguments, options, began, hold } =
            self;
        let request = Box::new(CallRequest { arguments, options, sender: manager.0.me.clone() });
        let (presenter, content) = (server.presenter(), CallContent::Owned(request));
        match live.session.call(OutgoingCall { tool, presenter, content }, limits, waiter) {
            Ok(id) => Ok(CallHandle::new(Handle::Sent(live.session.clone(), id))),
            // The server is gone, and the loss was not noticed yet.
            Err(UnsentCall { error, waiter, request: Some(request) })
                if error.kind() == ErrorKind::ConnectionLost =>
            {
                let CallRequest { arguments, options, .. } = *request;
                let call = CheckedCall {
                    manager,
                    server,
                    config,
                    raw_name,
                    arguments,
                    options,
                    began,
                    hold,
                };
                let pending = call.into_pending(connection, WantedTool::Known(tool.clone()));
                Ok(pending.start_after_loss(waiter, (live.session.clone(), error)))
            }
            Err(UnsentCall { error, .. }) => Err(error),
        }
    }

    /// Starts a server that was never connected, if a call may start it, and passes the call to a task.
    pub(super) fn send_after_start(self, waiter: Waiter) -> Result<CallHandle> {
        let (manager, server) = (self.manager, self.server);
        if server.was_left() || !(self.config.lazy || server.was_refused()) {
            return Err(unavailable(&server.name, None));
        }
        runtime::start()?;
        let wanted = WantedTool::Named(self.raw_name.to_owned());
        match manager.0.reach(server) {
            // What the call brings may be needed to connect.
            Access::Granted(connection) => {
                Ok(self.into_pending(&connection, wanted).connect_first().start(waiter))
            }
            Access::Pending(held) => {
                Ok(deferred::start_when_trusted(&server.name, held, self.into_spec(wanted), waiter))
            }
            Access::Refused(error) => Err(error),
        }
    }

    pub(super) fn into_pending(
        self,
        connection: &Arc<Connection>,
        wanted: WantedTool,
    ) -> PendingCall {
        let (server, hold) = (self.server, self.hold);
        let mut spec = self.into_spec(wanted);
        // Asked after `left` was made: a release is noticed here or there.
        let is_released = match hold {
            Some(hold) => hold.lease().is_released(),
            None => server.was_left(),
        };
        spec.left = spec.left.or_before(is_released);
        PendingCall::new(connection.clone(), spec)
    }

    fn into_spec(self, wanted: WantedTool) -> CallSpec {
        let (limits, retry, check_output) = (self.limits(), self.retry(), self.checks_output());
        let CheckedCall { manager, server, config, arguments, options, began, hold, .. } = self;
        let CallOptions {
            meta,
            on_progress,
            on_question,
            identity,
            headers,
            return_task,
            resume_task,
            ..
        } = options;
        let identity = identity.or_else(|| manager.0.options.identity.clone());
        CallSpec {
            presenter: server.presenter().clone(),
            offer: server.offer.clone(),
            wanted,
            arguments,
            meta,
            on_progress,
            time_budget: TimeBudget::new(limits, began.unwrap_or_else(Instant::now)),
            retry,
            check_output,
            return_task,
            resume_task,
            restart_wait: manager.0.options.restart_wait,
            left: server.left(),
            manager_id: server.manager_id(),
            approval_check: manager.approval_check(server, config, identity, on_question),
            kept_headers: headers.as_ref().and_then(|headers| kept_headers(config, headers)),
            headers,
            _hold: hold.cloned(),
        }
    }

    pub(super) fn limits(&self) -> CallLimits {
        let idle = self.options.timeout.unwrap_or(self.config.tool_timeout);
        CallLimits::new(idle, self.options.max_total_timeout)
    }

    fn checks_output(&self) -> bool {
        self.options.check_output.unwrap_or(self.manager.0.options.check_output)
    }

    fn retry(&self) -> Retry {
        self.options.retry.unwrap_or(self.manager.0.options.retry)
    }
}

/// The part of a call's headers that its connection keeps, if the connection is that of an identity.
fn kept_headers(config: &ServerConfig, headers: &CallerHeaders) -> Option<CallerHeaders> {
    config.scope.identity.as_ref()?;
    match config.transport.takes_headers_per_call() {
        true => headers.login(),
        // It takes headers only when it is opened.
        false => Some(headers.clone()),
    }
}
