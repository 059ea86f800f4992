//! Owns the end of exchanges that outlive their answer: a stream that the server does not close, or a request whose
//! answer came over the standing stream. Each costs a socket and a task.
//! Invariant: nothing runs here while nothing is under way.

use std::collections::HashSet;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use super::HttpLink;
use crate::runtime;
use crate::sync::lock;
use crate::wire::transport::Transport;

/// An exchange that is found answered twice is ended: at most 5 s after its answer.
const EVERY: Duration = Duration::from_millis(2500);

impl HttpLink {
    /// Called with each exchange that begins.
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
                // Under the lock: the exchange that comes next starts another reaper.
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
