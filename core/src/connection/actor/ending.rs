//! Owns how a link or an attempt ends: what belongs to it is dropped, its process or session is ended, and whatever has
//! to be over before the next attempt is chained.

use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::Shared;

use super::{Actor, Work};
use crate::error::{Error, ErrorKind};
use crate::runtime;
use crate::session::Session;
use crate::wire::Wire;

/// The end of what was hung up on; the next attempt and whoever disconnects wait for the same one.
pub(super) type Ending = Shared<Work<()>>;

/// Nothing is left to end.
pub(super) fn ended() -> Ending {
    let work: Work<()> = Box::pin(std::future::ready(()));
    work.shared()
}

impl Actor {
    /// Ends whatever belongs to the link or the attempt that was.
    pub(super) fn forget(&mut self) -> Option<Arc<Session>> {
        self.store_now();
        self.early_news.clear();
        self.refresh_at = None;
        self.refresh = None;
        self.refreshed_at = None;
        self.probe = None;
        self.health_watch = None;
        let attempt = self.attempt.take().map(|attempt| attempt.session);
        let session = attempt.or(self.live.take().map(|live| live.session.clone()));
        if let Some(session) = &session {
            session.announcements().end();
        }
        session
    }

    pub(super) fn let_go(&mut self) {
        let Some(session) = self.forget() else { return };
        let error = self.error.clone().unwrap_or_else(|| {
            Error::new(ErrorKind::ConnectionLost, "The server was shut down by us")
        });
        if !session.wire().is_some_and(Wire::calls_end_alone) {
            return self.end_with(async move { session.end(error).await });
        }
        session.retire(error);
        self.retired.retain(|session| session.strong_count() > 0);
        self.retired.push(Arc::downgrade(&session));
        runtime::spawn(async move {
            session.quiet().await;
            session.close().await;
        });
    }

    pub(super) fn hang_up(&mut self) {
        if let Some(session) = self.forget() {
            self.end_with(async move { session.close().await });
        }
    }

    pub(super) fn end_retired(&mut self) {
        for session in std::mem::take(&mut self.retired) {
            if let Some(session) = session.upgrade() {
                self.end_with(async move { session.close().await });
            }
        }
    }

    /// Adds to what has to end before the next attempt.
    pub(super) fn end_with(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        let (last, task) = (self.ending.clone(), runtime::spawn(end));
        let work: Work<()> = Box::pin(async move {
            drop(task.await);
            last.await;
        });
        self.ending = work.shared();
        // Driven by itself: nobody may be waiting.
        runtime::spawn(self.ending.clone());
    }
}
