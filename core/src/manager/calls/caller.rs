//! Owns who a call is made for, and the connection that follows from it.
//! Invariant: a header that says who calls is only sent on the connection of an identity, and no header of ours reaches a
//! project that is not trusted.

use std::sync::Arc;

use super::super::identities::IdentityHold;
use super::deferred;
use super::handle::CallHandle;
use super::pending::WantedTool;
use super::route::CheckedCall;
use crate::caller::{CallerHeaders, Identity, OnIdentity};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::mailbox::Waiter;
use crate::runtime;
use crate::status::State;

impl CheckedCall<'_> {
    /// Who is asked for the identity of this call, if it does not say.
    pub(super) fn asks_for_identity(&self) -> Option<OnIdentity> {
        let says_nothing = self.options.identity.is_none() && self.options.headers.is_none();
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
        match &*lease {
            Some(lease) => match self.give_headers(lease.connection()) {
                true => self.send_or_connect(lease.connection(), waiter),
                false => self.send(lease.connection(), waiter),
            },
            None => self.send_after_start(waiter),
        }
    }

    /// Sends on the connection of another identity.
    fn send_for(self, identity: &Identity, waiter: Waiter) -> Result<CallHandle> {
        runtime::start()?;
        let hold = self.manager.0.hold_for(self.server, identity)?;
        let call = self.on_hold(&hold);
        call.give_headers(hold.connection());
        call.send_or_connect(hold.connection(), waiter)
    }

    /// The same call on the connection of another identity.
    pub(super) fn on_hold<'h>(self, hold: &'h Arc<IdentityHold>) -> CheckedCall<'h>
    where
        Self: 'h,
    {
        CheckedCall { config: &hold.config, hold: Some(hold), ..self }
    }

    /// Sends on a connection that is up or coming up; connects any other first.
    fn send_or_connect(self, connection: &Arc<Connection>, waiter: Waiter) -> Result<CallHandle> {
        let published = connection.published();
        let is_coming = matches!(published.state, State::Connecting | State::Reconnecting);
        if published.live.is_some() || is_coming {
            return self.send(connection, waiter);
        }
        let (name, held) = (self.server.name.clone(), connection.clone());
        let late = move || not_connected_in_time(&name);
        let connected = async move {
            held.connect().await?;
            Ok(held)
        };
        let wanted = WantedTool::Named(self.raw_name.to_owned());
        let spec = self.into_spec(wanted);
        Ok(deferred::start_when_held(connected, late, spec, waiter))
    }

    /// The identity of the call, if its connection is not the manager's own.
    pub(super) fn other_identity(&self) -> Option<Identity> {
        let own = &self.manager.0.options.identity;
        let identity = self.options.identity.clone().filter(|_| !self.config.shared_identity);
        identity.filter(|identity| own.as_ref() != Some(identity))
    }

    /// Passes the call's headers to its connection; returns whether they are others than before.
    pub(super) fn give_headers(&self, connection: &Connection) -> bool {
        let Some(headers) = &self.options.headers else { return false };
        if self.config.scope.identity.is_some() {
            return connection.headers().set(headers);
        }
        connection.headers().hide(headers);
        false
    }

    /// The headers of the call, over the manager's own; an error if they cannot be sent.
    fn headers_to_send(&self) -> Result<Option<CallerHeaders>> {
        let (manager, name, transport) = (self.manager, &self.server.name, &self.config.transport);
        let has_own_connection = !self.config.shared_identity
            && (self.options.identity.is_some() || manager.0.options.identity.is_some());
        let can_be_sent = transport.takes_headers_per_call() || has_own_connection;
        let defaults = manager.0.default_headers(self.server, self.config).filter(|_| can_be_sent);
        let headers = match (&self.options.headers, defaults) {
            (Some(_), _) if transport.starts_program() => {
                let text = format!("Server \"{name}\" is a program, which takes no headers");
                return Err(self.invalid(text, "leave them out, or give only an identity"));
            }
            (Some(_), _) if manager.0.is_untrusted(self.server) => {
                let text = format!(
                    "Refused to send headers to server \"{name}\" because its project is not trusted"
                );
                return Err(Error::new(ErrorKind::Untrusted, text)
                    .with_server(name)
                    .with_hint("mcpool trust"));
            }
            (Some(_), _) if !can_be_sent => {
                let text = format!(
                    "Server \"{name}\" takes headers only when it is connected, not per call"
                );
                return Err(self.invalid(text, "give an identity too: it has its own connection"));
            }
            (Some(own), Some(defaults)) => Some(own.over(&defaults)),
            (own, defaults) => own.clone().or(defaults),
        };
        let is_for_somebody =
            self.options.identity.is_some() || manager.0.options.identity.is_some();
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

    fn invalid(&self, text: String, hint: &str) -> Error {
        Error::new(ErrorKind::InvalidArguments, text).with_server(&self.server.name).with_hint(hint)
    }
}

fn not_connected_in_time(server: &str) -> Error {
    let text = format!("Server \"{server}\" was not connected in time for the call");
    Error::new(ErrorKind::ToolTimeout, text).with_server(server)
}
