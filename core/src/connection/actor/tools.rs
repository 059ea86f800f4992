//! Owns the tools of a connection: those that stand in until the server's own are known, the refresh when the server says
//! that they changed, and writing them to the caches.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::super::Tools;
use super::super::dial::tools_of;
use super::telling::Tell;
use super::{Actor, Phase};
use crate::audience::Weight;
use crate::catalog::Cache;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;
use crate::session::list_tools;

/// The disk is left alone until the rush of connecting is over.
const STORE_DELAY: Duration = Duration::from_millis(150);

/// Tools that are to be written.
pub(super) struct Store {
    pub(super) at: Instant,
    caches: Vec<Cache>,
}

impl Actor {
    pub(super) fn adopt(&mut self, tools: Tools) {
        let unknown = self.live.is_none() && self.tools.list.is_empty();
        let expected =
            matches!(self.phase, Phase::Idle | Phase::Dialing { .. } | Phase::Waiting { .. });
        if unknown && expected {
            self.tools = tools;
            self.publish(Tell::Tools);
        }
    }

    pub(super) fn begin_refresh(&mut self) {
        self.refresh_at = None;
        let Some(live) = self.live.clone() else { return };
        let (server, limit) = (self.seen.server.clone(), self.config.timeout);
        self.refresh = Some(Box::pin(async move {
            let listed = timeout(limit, list_tools(&live.session, &live.greeting)).await;
            match listed {
                Ok(listed) => Ok(tools_of(&server, listed?, &live.session.mask())),
                Err(_) => Err(Error::new(ErrorKind::ToolTimeout, "tools/list was not answered")),
            }
        }));
    }

    pub(super) fn refreshed(&mut self, outcome: Result<Tools>) {
        self.refresh = None;
        match outcome {
            Ok(tools) => {
                self.tools = tools;
                self.store_soon();
                self.publish(Tell::Tools);
            }
            Err(error) => {
                let line = format!("the old tools are kept: {}", error.message());
                self.seen.audience.say(Weight::Warning, &self.seen.server, &line);
            }
        }
    }

    /// Notes the caches of those who hold the connection: they may be gone when the tools are written.
    pub(super) fn store_soon(&mut self) {
        let views = self.seen.audience.views();
        let caches: Vec<_> =
            views.iter().map(|view| view.cache.clone()).filter(|cache| !cache.is_off()).collect();
        let at = Instant::now() + STORE_DELAY;
        self.store = (!caches.is_empty()).then_some(Store { at, caches });
    }

    /// Writes the tools to the caches, if that is still to be done.
    pub(super) fn store_now(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let Store { caches, .. } = self.store.take()?;
        let live = self.live.as_ref()?;
        let version = live.greeting.protocol_version.clone();
        let (tools, seen) = (self.tools.clone(), self.seen.clone());
        let mask = live.session.mask();
        let fingerprint = self.config.fingerprint();
        Some(runtime::handle().spawn_blocking(move || {
            // A server may describe its tools with a value that it was given; the disk is not to hold it.
            let listed: Vec<_> = tools.list.iter().map(|tool| mask.raw_json(tool.raw())).collect();
            let now_ms = seen.clock.wall_ms();
            for cache in caches {
                cache.store(&seen.server, &fingerprint, Some(&version), &listed, now_ms);
            }
        }))
    }
}
