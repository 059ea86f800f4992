//! Owns direct calls that a session returns because the server never read them. Each becomes a pending call for the
//! next session, transparently to its caller.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::{Inner, Manager};
use super::handle::CallHandle;
use super::lookup::unavailable;
use super::pending::WantedTool;
use super::route::CheckedCall;
use crate::error::{Error, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::Waiter;
use crate::session::{CallSender, UnreadCall};

impl CallSender for Inner {
    fn resend(self: Arc<Self>, call: UnreadCall) -> Result<(), (Waiter, Error)> {
        let resend_handle = call.handle.clone();
        if !resend_handle.is_cancelled() {
            let handle = Manager(ProcessLocal::new(self)).resend_unread(call)?;
            resend_handle.set_sent(move || handle.cancel());
        }
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
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
        let (manager, raw_name, began, hold) = (self, &*tool, Some(began.into()), None);
        let call =
            CheckedCall { manager, server, config, raw_name, arguments, options, began, hold };
        let wanted = WantedTool::Named(tool.to_string());
        let pending = match call.other_identity() {
            Some(identity) => match self.0.hold_for(server, &identity) {
                Ok((hold, _)) => call.on_hold(&hold).into_pending(hold.connection(), wanted),
                Err(error) => return Err((waiter, error)),
            },
            None => match &*server.lease() {
                Some(lease) => call.into_pending(lease.connection(), wanted),
                None => return Err((waiter, unavailable(&server.name, Some(&error)))),
            },
        };
        Ok(pending.start_after_loss(waiter, (session, error)))
    }
}
