//! Owns direct calls that a session returns because the server never read them. Each becomes a pending call for the
//! next session, transparently to its caller.

use std::sync::Arc;

use super::super::{Inner, Manager};
use super::handle::CallHandle;
use super::lookup::unavailable;
use super::pending::WantedTool;
use super::route::CheckedCall;
use crate::error::{Error, Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::Waiter;
use crate::session::{CallSender, UnreadCall};

impl CallSender for Inner {
    fn resend(self: Arc<Self>, call: UnreadCall) {
        if call.handle.is_cancelled() {
            return;
        }
        let manager = Manager(ProcessLocal::new(self));
        let resend_handle = call.handle.clone();
        match manager.resend_unread(call) {
            Ok(handle) => resend_handle.set_sent(move || handle.cancel()),
            Err((waiter, error)) => waiter.finish(Err(error.with_executed(Executed::No))),
        }
    }
}

impl Manager {
    fn resend_unread(&self, call: UnreadCall) -> Result<CallHandle, (Waiter, Error)> {
        let UnreadCall { session, error, server, tool, arguments, options, began, waiter, .. } =
            call;
        let servers = self.0.servers.load();
        let Some(server) = servers.get(&*server) else { return Err((waiter, error)) };
        // A reload may have removed the server or the tool since.
        let usable = server.usable().and_then(|config| {
            server.offer.check_name(&tool)?;
            Ok(config)
        });
        let config = match usable {
            Ok(config) => config,
            Err(error) => return Err((waiter, error)),
        };
        let lease = server.lease();
        let Some(lease) = &*lease else {
            return Err((waiter, unavailable(&server.name, Some(&error))));
        };
        let (manager, raw_name, began) = (self, &*tool, Some(began.into()));
        let call = CheckedCall { manager, server, config, raw_name, arguments, options, began };
        let pending = call.into_pending(lease.connection(), WantedTool::Named(tool.to_string()));
        Ok(pending.start_after_loss(waiter, (session, error)))
    }
}
