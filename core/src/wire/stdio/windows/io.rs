//! Owns the tasks that read the pipes of stdio servers and finish writes that a pipe did not take at once. Windows has no
//! poller for pipes, so this is work of the runtime, and pipes are not lent.

use std::sync::{Arc, Weak};

use super::StdioLink;
use crate::error::Result;
use crate::mailbox::LentReader;
use crate::process::PipeEnd;

/// The key of a pipe.
pub(super) type Slot = Weak<StdioLink>;

pub(super) struct IoTasks;

static IO: IoTasks = IoTasks;

/// The handle. There is nothing to start.
pub(super) fn start() -> Result<&'static IoTasks> {
    Ok(&IO)
}

pub(super) fn thread() -> &'static IoTasks {
    &IO
}

impl IoTasks {
    pub(super) fn enter(&self, link: Weak<StdioLink>) -> Slot {
        link
    }

    pub(super) fn leave(&self, _slot: &Slot) {}

    /// Calls [`StdioLink::read_ready`] whenever `pipe` is readable, until [`IoTasks::unwatch`].
    pub(super) fn watch_reads(&self, slot: &Slot, pipe: &PipeEnd) {
        let link = slot.clone();
        pipe.watch(|pipe| async move {
            while pipe.readable().await.is_ok() {
                let Some(link) = link.upgrade() else { return };
                link.read_ready();
                drop(link);
                // Other servers are read in between, and this task ends here once it is not wanted any more.
                tokio::task::yield_now().await;
            }
        });
    }

    /// Does nothing: a pipe without a reader is noticed by the next write, or by the server's exit.
    pub(super) fn watch_input(&self, _slot: &Slot, _pipe: &PipeEnd) {}

    /// Calls [`StdioLink::write_ready`] once `pipe` is writable, if `wanted`.
    pub(super) fn watch_room(&self, slot: &Slot, pipe: &PipeEnd, wanted: bool) {
        if !wanted {
            return;
        }
        let link = slot.clone();
        pipe.watch(|pipe| async move {
            if pipe.writable().await.is_ok()
                && let Some(link) = link.upgrade()
            {
                link.write_ready();
            }
        });
    }

    pub(super) fn unwatch(&self, pipe: &PipeEnd) {
        pipe.unwatch();
    }

    /// Never called: no pipe is lent here.
    pub(super) fn watch_loan(&self, _link: &Arc<StdioLink>) {}
}
