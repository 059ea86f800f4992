//! Owns how an attempt or a link ends: it is dropped with its work, its process or session is ended, and the next
//! attempt waits for that end.

use std::future::Future;
use std::sync::Arc;

use super::Actor;
use crate::completion::Completion;
use crate::error::{Error, ErrorKind};
use crate::runtime;
use crate::session::Session;
use crate::wire::Wire;

impl Actor {
    /// Drops the attempt or the link; returns its session, which still has to be ended.
    fn drop_link(&mut self) -> Option<Arc<Session>> {
        self.store_now();
        let attempt = self.attempt.take().map(|attempt| attempt.session);
        let session = attempt.or(self.link.take().map(|link| link.live.session.clone()));
        if let Some(session) = &session {
            session.announcements().end();
        }
        session
    }

    pub(super) fn let_go(&mut self) {
        let Some(session) = self.drop_link() else { return };
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
            session.wait_until_idle().await;
            session.close().await;
        });
    }

    pub(super) fn hang_up(&mut self) {
        if let Some(session) = self.drop_link() {
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

    /// Adds an end that the next attempt waits for.
    pub(super) fn end_with(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        let (last, task) = (self.ending.clone(), runtime::spawn(end));
        self.ending = Completion::new(async move {
            drop(task.await);
            last.await;
        });
        // Spawned, because nobody may be waiting for it.
        runtime::spawn(self.ending.clone());
    }
}
