//! Owns ending exchanges that outlive their answer: a stream that the server does not close, or a request that was
//! answered over the standing stream. Each costs a socket and a task.
//! Invariant: nothing runs here while no exchange is in progress.

use std::collections::HashSet;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use super::HttpLink;
use crate::runtime;
use crate::sync::lock;
use crate::wire::transport::Transport;

/// An exchange that is seen answered twice is ended: at most 5 s after its answer.
const EVERY: Duration = Duration::from_millis(2500);

impl HttpLink {
    /// Called at the start of each exchange.
    pub(super) fn reap_soon(&self) {
        if !self.is_reaping.swap(true, Ordering::AcqRel) {
            runtime::spawn(reap(self.me.clone()));
        }
    }
}

async fn reap(weak: Weak<HttpLink>) {
    let mut answered = HashSet::new();
    loop {
        sleep(EVERY).await;
        let Some(link) = weak.upgrade() else { return };
        let under_way: Vec<u64> = {
            let under_way = lock(&link.under_way);
            if under_way.is_empty() {
                // Checked under the lock, so that the next exchange starts another reaper.
                link.is_reaping.store(false, Ordering::Release);
                return;
            }
            under_way.keys().copied().collect()
        };
        let Some(inbound) = link.inbound() else { return };
        let found: HashSet<u64> =
            under_way.into_iter().filter(|&id| !inbound.expects(id)).collect();
        for &id in answered.intersection(&found) {
            link.abandon(id);
        }
        answered = found;
    }
}
