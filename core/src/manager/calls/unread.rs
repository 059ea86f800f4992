//! Owns plain calls that come back from a session because the server never read them: each becomes an errand to the next
//! session, which its caller does not notice.

use std::sync::Arc;

use super::super::{Inner, Manager};
use super::pending::{PendingCall, WantedTool};
use super::{CallHandle, unavailable};
use crate::error::{Executed, Result};
use crate::fork::ProcessLocal;
use crate::mailbox::Waiter;
use crate::session::{Resubmit, UnreadCall};

impl Resubmit for Inner {
    fn resubmit(self: Arc<Self>, call: UnreadCall) {
        if call.forwarded.is_given_up() {
            return;
        }
        let manager = Manager(ProcessLocal::new(self));
        let forwarded = call.forwarded.clone();
        match manager.send_again(call) {
            Ok(handle) => forwarded.set(move || handle.cancel()),
            Err((waiter, error)) => waiter.finish(Err(error.with_executed(Executed::No))),
        }
    }
}

impl Manager {
    fn send_again(&self, call: UnreadCall) -> Result<CallHandle, (Waiter, crate::error::Error)> {
        let UnreadCall {
            session, error, server, tool, arguments, mut options, began, waiter, ..
        } = call;
        let servers = self.0.servers.load();
        let Some(known) = servers.get(&*server) else { return Err((waiter, error)) };
        // What a reload has taken away since is not there for this call either.
        let usable = known.usable().and_then(|config| {
            known.offer.check_name(&tool)?;
            Ok(config)
        });
        let config = match usable {
            Ok(config) => config,
            Err(error) => return Err((waiter, error)),
        };
        let lease = known.lease();
        let Some(lease) = &*lease else {
            return Err((waiter, unavailable(&server, Some(&error))));
        };
        let wanted = WantedTool::Named(tool.as_ref().to_owned());
        let settings = self.settings(known, config, &mut options, began.into());
        let (connection, offer) = (lease.connection().clone(), known.offer.clone());
        let pending = PendingCall::new(connection, offer, wanted, arguments, options, settings);
        Ok(pending.start_after_loss(waiter, (session, error)))
    }
}
