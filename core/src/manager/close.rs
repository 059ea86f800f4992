//! Owns releasing a manager's connections: one, all, or all permanently.
//! Invariant: idempotent and bounded, also without a runtime and in a forked child.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{Manager, on_runtime};
use crate::error::Result;
use crate::pool::Release;
use crate::runtime;
use crate::sync::lock;

pub(super) const CLOSE_ONE: Duration = Duration::from_secs(5);
const CLOSE_ALL: Duration = Duration::from_secs(10);

impl Manager {
    /// Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent and bounded.
    pub fn disconnect(&self, server: &str) -> impl Future<Output = Result<()>> + Send + use<> {
        let (manager, name) = (self.clone(), server.to_owned());
        on_runtime(async move {
            manager.check_process()?;
            let ended = manager.find(&name)?.leave(Release::Disconnect);
            let _ = timeout(CLOSE_ONE, ended).await;
            Ok(())
        })
    }

    /// Closes every connection that no other manager holds; the manager can connect again. Idempotent and bounded.
    pub fn disconnect_all(&self) -> impl Future<Output = ()> + Send + use<> {
        self.leave_all(Release::Disconnect)
    }

    /// Closes the manager permanently: every later verb fails with `CLOSED`. Idempotent and bounded.
    ///
    /// ```no_run
    /// # async fn example(manager: &mcpool::Manager) -> mcpool::Result<()> {
    /// manager.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        if self.check_process().is_ok() {
            self.0.closed.store(true, Ordering::Release);
            self.0.connect_slots.close();
            lock(&self.0.watch).take();
        }
        self.leave_all(Release::Close)
    }

    fn leave_all(&self, how: Release) -> impl Future<Output = ()> + Send + use<> {
        let (servers, events) = (self.0.servers.load_full(), self.0.sink.events.clone());
        if self.check_process().is_ok() && runtime::start().is_err() {
            // Without a runtime no connection was ever started, so there is none to wait for.
            servers.values().for_each(|server| drop(server.leave(how)));
            if how == Release::Close {
                events.close();
            }
        }
        // A forked child has no connections to release.
        let all = self.check_process().map(|()| {
            on_runtime(async move {
                let ending = servers.values().map(|server| timeout(CLOSE_ONE, server.leave(how)));
                let _ = timeout(CLOSE_ALL, join_all(ending)).await;
                if how == Release::Close {
                    events.close();
                }
                Ok(())
            })
        });
        async move {
            if let Ok(all) = all {
                let _ = all.await;
            }
        }
    }
}
