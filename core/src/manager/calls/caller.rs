//! Owns who a call is made for, and the connection that follows from it.
//! Invariant: a header that says who calls is only sent on the connection of an identity, and no header of ours reaches a
//! project that is not trusted.

use std::sync::Arc;

use super::super::identities::IdentityHold;
use super::handle::CallHandle;
use super::pending::WantedTool;
use super::route::CheckedCall;
use crate::caller::{CallerHeaders, Identity, OnIdentity};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::mailbox::Waiter;
use crate::pool::Lease;
use crate::runtime;
use crate::status::State;
use crate::tool::ServerTool;

/// A release that did not see the call yet ends it here.
fn end_if_released(lease: &Lease, sent: Result<CallHandle>) -> Result<CallHandle> {
    if let (true, Ok(call)) = (lease.is_released(), &sent) {
        call.end_if_sent();
    }
    sent
}

impl CheckedCall<'_> {
    /// Who is asked for the identity of this call, if it does not say.
    pub(super) fn asks_for_identity(&self) -> Option<OnIdentity> {
        let says_nothing = self.options.identity.is_none();
        self.manager.0.options.on_identity.clone().filter(|_| says_nothing)
    }

    /// Sends the call on the connection of its caller, or passes it to a task.
    pub(super) fn dispatch(mut self, waiter: Waiter) -> Result<CallHandle> {
        let defaults = self.manager.0.options.headers.as_ref();
        if self.options.identity.is_none() && self.options.headers.is_none() && defaults.is_none() {
            return self.send_as_manager(waiter);
        }
        self.options.headers = self.headers_to_send()?;
        match self.other_identity() {
            Some(identity) => self.send_for(&identity, waiter),
            None => self.send_as_manager(waiter),
        }
    }

    /// Sends on the manager's own connection.
    fn send_as_manager(self, waiter: Waiter) -> Result<CallHandle> {
        let lease = self.server.lease();
        let Some(lease) = &*lease else { return self.send_after_start(waiter) };
        let connection = lease.connection();
        let sent = match self.brings_login(connection) {
            // Another login may connect where the last one was refused.
            true => self.send_or_connect(connection, false, waiter),
            false => self.send(connection, waiter),
        };
        end_if_released(lease, sent)
    }

    /// Sends on the connection of another identity.
    fn send_for(self, identity: &Identity, waiter: Waiter) -> Result<CallHandle> {
        runtime::start()?;
        let (hold, is_new) = self.manager.0.hold_for(self.server, identity)?;
        let sent = self.on_hold(&hold).send_or_connect(hold.connection(), is_new, waiter);
        end_if_released(hold.lease(), sent)
    }

    /// The same call on the connection of another identity.
    pub(super) fn on_hold<'h>(self, hold: &'h Arc<IdentityHold>) -> CheckedCall<'h>
    where
        Self: 'h,
    {
        CheckedCall { config: &hold.config, hold: Some(hold), ..self }
    }

    /// Sends on a connection that is up or coming up; connects any other first. The link of a connection that was just
    /// acquired may be about to end, for its last holder.
    fn send_or_connect(
        self,
        connection: &Arc<Connection>,
        is_new: bool,
        waiter: Waiter,
    ) -> Result<CallHandle> {
        let published = connection.published();
        let is_coming = matches!(published.state, State::Connecting | State::Reconnecting);
        if !is_new && (published.live.is_some() || is_coming) {
            return self.send(connection, waiter);
        }
        // The approval also covers whether the server is contacted for this identity at all.
        let tool = published.tools.get(self.raw_name).cloned().or_else(|| self.own_tool());
        match tool.filter(|tool| self.needs_approval(tool, || false)) {
            Some(tool) => {
                let (manager, wanted) = (self.manager, WantedTool::Known(tool.clone()));
                let pending = self.into_pending(connection, wanted).connect_first();
                Ok(pending.ask_first(manager, &tool).start(waiter))
            }
            None => {
                let wanted = WantedTool::Named(self.raw_name.to_owned());
                Ok(self.into_pending(connection, wanted).connect_first().start(waiter))
            }
        }
    }

    /// The tool as the manager's own connection knows it.
    fn own_tool(&self) -> Option<Arc<ServerTool>> {
        let lease = self.server.lease();
        let published = lease.as_ref()?.connection().published();
        published.tools.get(self.raw_name).cloned()
    }

    /// Whether the connection has an identity that the call brings another login for.
    fn brings_login(&self, connection: &Connection) -> bool {
        let login = self.options.headers.as_ref().and_then(CallerHeaders::login);
        self.config.scope.identity.is_some()
            && login.is_some()
            && connection.headers().login() != login
    }

    /// The identity of the call, if its connection is not the manager's own.
    pub(super) fn other_identity(&self) -> Option<Identity> {
        let own = &self.manager.0.options.identity;
        let identity = self.options.identity.clone().filter(|_| !self.config.shared_identity);
        identity.filter(|identity| own.as_ref() != Some(identity))
    }

    /// The headers of the call, over the manager's own; an error if they cannot be sent.
    fn headers_to_send(&self) -> Result<Option<CallerHeaders>> {
        let (manager, name, transport) = (self.manager, &self.server.name, &self.config.transport);
        let is_for_somebody =
            self.options.identity.is_some() || manager.0.options.identity.is_some();
        let has_own_connection = is_for_somebody && !self.config.shared_identity;
        let can_be_sent = transport.takes_headers_per_call() || has_own_connection;
        let given = self.options.headers.as_ref().filter(|headers| !headers.is_empty());
        if given.is_some() && transport.starts_program() {
            let text = format!("Server \"{name}\" is a program, which takes no headers");
            return Err(self.invalid(text, "leave them out, or give only an identity"));
        }
        if given.is_some() && manager.0.is_untrusted(self.server) {
            let text = format!(
                "Refused to send headers to server \"{name}\" because its project is not trusted"
            );
            return Err(Error::new(ErrorKind::Untrusted, text)
                .naming_server(name)
                .with_hint("mcpool trust"));
        }
        if given.is_some() && !can_be_sent {
            let text =
                format!("Server \"{name}\" takes headers only when it is connected, not per call");
            let hint = match self.config.shared_identity {
                true => "write them into its definition, or leave out \"sharedIdentity\"",
                false => "give an identity too: it has its own connection",
            };
            return Err(self.invalid(text, hint));
        }
        let headers = match (given, self.default_headers().filter(|_| can_be_sent)) {
            (Some(given), Some(defaults)) => Some(given.over(&defaults)),
            (given, defaults) => given.cloned().or(defaults),
        };
        match headers.as_ref().and_then(CallerHeaders::credential).filter(|_| !is_for_somebody) {
            Some(header) => {
                let text = format!(
                    "The header \"{header}\" says who calls server \"{name}\", but the call has no identity"
                );
                Err(self.invalid(text, "give an identity too: it has its own connection"))
            }
            None => Ok(headers),
        }
    }

    /// The manager's headers for the call. Its login is only for its own identity.
    fn default_headers(&self) -> Option<CallerHeaders> {
        let headers = self.manager.0.default_headers(self.server, self.config)?;
        let own = self.manager.0.options.identity.as_ref();
        let identity = self.options.identity.as_ref().or(own);
        match identity == own {
            true => Some(headers),
            false => Some(headers.without_login()).filter(|headers| !headers.is_empty()),
        }
    }

    fn invalid(&self, text: String, hint: &str) -> Error {
        let invalid = Error::new(ErrorKind::InvalidArguments, text);
        invalid.naming_server(&self.server.name).with_hint(hint)
    }
}
